//! Strands that come and go, most of them never joined, while collections give their slots to others.
//!
//! The specification knows each strand by its own name, the runtime has only slots: with a slot given to the wrong
//! strand, or with something concluded from a slot's earlier life, the two differ.

use deadheat_detect::naive::Naive;
use deadheat_detect::run;
use deadheat_trace::generate::Rng;
use deadheat_trace::{
    Action, Addr, Channel, Event, LoadOrder, Mutex, Place, Range, RmwOrder, StoreOrder,
    Strand as Name, Trace, Width,
};

use super::player::{Player, Sites, Upkeep};
use super::replay::judge;
use crate::runtime::Runtime;

/// At most so many at once, beside the first.
const AT_ONCE: usize = 4;

/// One to three events of a strand, on very little memory.
fn acts(rng: &mut Rng, out: &mut Vec<Action>) {
    let range = |rng: &mut Rng| {
        let size = [1, 4, 8][rng.below(3) as usize];
        Range::new(Addr(0x1000 + rng.below(4) * 8), size).expect("a small range")
    };
    let place = |rng: &mut Rng| {
        Place::new(Addr(0x2000 + rng.below(2) * 4), Width::Four).expect("an aligned place")
    };
    let block = Range::new(Addr(0x3000), 16).expect("a small range");
    match rng.below(10) {
        0 | 1 => out.push(Action::Write(range(rng))),
        2 => out.push(Action::Read(range(rng))),
        3 | 4 => {
            let mutex = Mutex(rng.below(2));
            let inside = if rng.chance(500) {
                Action::Write(range(rng))
            } else {
                Action::Read(range(rng))
            };
            out.extend([Action::Lock(mutex), inside, Action::Unlock(mutex)]);
        }
        5 => out.push(Action::Store(place(rng), StoreOrder::Release)),
        6 => out.push(Action::Load(place(rng), LoadOrder::Acquire)),
        7 => out.push(Action::Rmw(place(rng), RmwOrder::AcqRel)),
        8 => {
            let channel = Channel(rng.below(2));
            out.push(if rng.chance(500) {
                Action::Release(channel)
            } else {
                Action::Acquire(channel)
            });
        }
        // Memory that becomes fresh takes the traces of finished strands with it.
        _ => {
            let fresh = if rng.chance(500) {
                block
            } else {
                Range::new(Addr(0x1000), 32).expect("a small range")
            };
            out.push(Action::Alloc(fresh));
        }
    }
}

fn trace(seed: u64) -> Trace {
    let mut rng = Rng::new(seed);
    let mut events = vec![Event::new(Name(0), Action::Begin)];
    let mut alive: Vec<Name> = Vec::new();
    let mut ended: Vec<Name> = Vec::new();
    let mut next = 1;
    let all = 30 + rng.below(30) as u32;
    while next < all || !alive.is_empty() {
        if next < all && alive.len() < AT_ONCE && rng.chance(400) {
            let parent = rng.pick(&alive).filter(|_| rng.chance(300));
            let child = Name(next);
            next += 1;
            events.push(Event::new(parent.unwrap_or(Name(0)), Action::Fork(child)));
            events.push(Event::new(child, Action::Begin));
            alive.push(child);
        }
        let who = rng
            .pick(&alive)
            .filter(|_| rng.chance(850))
            .unwrap_or(Name(0));
        let mut todo = Vec::new();
        acts(&mut rng, &mut todo);
        events.extend(todo.into_iter().map(|action| Event::new(who, action)));
        if who != Name(0) && rng.chance(350) {
            events.push(Event::new(who, Action::End));
            alive.retain(|&other| other != who);
            ended.push(who);
        }
        // Now and then somebody is joined after all.
        if rng.chance(60)
            && let Some(child) = rng.pick(&ended)
        {
            events.push(Event::new(Name(0), Action::Join(child)));
            ended.retain(|&other| other != child);
        }
    }
    events.push(Event::new(Name(0), Action::End));
    Trace { events }
}

#[test]
fn slots_change_hands_and_nobody_notices() {
    static RT: Runtime = Runtime::new();
    let mut player = Player::new(&RT);
    let mut strands = 0;
    for seed in 0..150 {
        let trace = trace(seed);
        let expected = run(&mut Naive::new(), &trace);
        let every = [3, 11, 23][seed as usize % 3];
        let played = player.play(&trace, Sites::Own, Upkeep::CollectEvery(every));
        judge(&played, &expected, &|| format!("seed {seed}:\n{trace}"));
        strands += trace
            .events
            .iter()
            .filter(|e| e.action == Action::Begin)
            .count();
    }
    let slots = RT.threads.slots_used();
    println!("{strands} strands in {slots} slots");
    assert!(slots < 40, "slots are not used again: {slots}");
}
