//! The scheduler: picks a strand that can go on, does the next item of its script, or lets it decide for a new one.
//!
//! Somebody can always go on: scripts take locks in one order; a strand goes to a barrier or ends only between scripts, when it
//! holds nothing; only strands that no barrier expects wait on condition variables; and `t0`, which never waits
//! on one, wakes all others before it ends.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::event::{
    Action, Barrier, Channel, Condvar, Event, FenceOrder, Mutex, Place, Round, RwLock, Strand,
    Trace,
};

use super::Shape;
use super::plan::{self, Block, Discipline, Medium, News, Todo};
use super::rng::Rng;

const MAIN: Strand = Strand(0);

/// A strand and what stands in its way.
#[derive(Clone, Debug)]
struct Worker {
    life: Life,
    script: VecDeque<Todo>,
    /// Rounds it must still arrive at and leave, in this order.
    rounds: VecDeque<Round>,
    /// It has arrived at the first of them.
    arrived: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Forked,
    Running,
    Waiting {
        condvar: Condvar,
        mutex: Mutex,
        notified: bool,
    },
    Ended,
    Joined,
}

/// A region and its state.
#[derive(Clone, Copy, Debug)]
struct Region {
    discipline: Discipline,
    news: News,
}

#[derive(Clone, Copy)]
enum Decision {
    Touch,
    Atomic,
    Fence,
    Section,
    Condvar,
    Barrier,
    Channel,
    Heap,
    Spawn,
}

/// Everything about a random execution so far.
pub struct World<'a> {
    shape: &'a Shape,
    rng: Rng,
    events: Vec<Event>,
    decisions: u32,
    workers: Vec<Worker>,
    mutexes: BTreeSet<Mutex>,
    writers: BTreeSet<RwLock>,
    readers: BTreeMap<RwLock, u32>,
    /// How many have still to arrive in a round that was called.
    missing: BTreeMap<Round, usize>,
    /// For each barrier, how many a round takes, and the next phase.
    barriers: BTreeMap<Barrier, (usize, u64)>,
    regions: Vec<Region>,
    blocks: Vec<Block>,
}

impl<'a> World<'a> {
    pub fn new(seed: u64, shape: &'a Shape) -> World<'a> {
        let mut rng = Rng::new(seed);
        let regions = (0..shape.regions as usize)
            .map(|n| discipline(&mut rng, shape, n))
            .collect();
        let blocks = (0..u64::from(shape.blocks))
            .filter_map(|n| block(&mut rng, shape, n))
            .collect();
        let most = u64::from(shape.strands.max(2)) - 1;
        let barriers = (0..u64::from(shape.barriers))
            .map(|n| (Barrier(n), (2 + rng.below(most) as usize, 0)))
            .collect();
        World {
            shape,
            rng,
            events: Vec::new(),
            decisions: shape.decisions,
            workers: vec![Worker::new()],
            mutexes: BTreeSet::new(),
            writers: BTreeSet::new(),
            readers: BTreeMap::new(),
            missing: BTreeMap::new(),
            barriers,
            regions,
            blocks,
        }
    }

    pub fn run(mut self) -> Trace {
        loop {
            let ready: Vec<Strand> = self
                .strands()
                .filter(|&strand| self.can_go_on(strand))
                .collect();
            match self.rng.pick(&ready) {
                Some(strand) => self.go_on(strand),
                None => break,
            }
        }
        debug_assert!(self.workers[0].life == Life::Ended, "all strands are stuck");
        Trace {
            events: self.events,
        }
    }

    fn strands(&self) -> impl Iterator<Item = Strand> + use<> {
        (0..self.workers.len() as u32).map(Strand)
    }

    fn worker(&mut self, strand: Strand) -> &mut Worker {
        &mut self.workers[strand.0 as usize]
    }

    fn emit(&mut self, strand: Strand, action: Action) {
        self.events.push(Event::new(strand, action));
    }

    fn can_go_on(&self, strand: Strand) -> bool {
        let worker = &self.workers[strand.0 as usize];
        match worker.life {
            Life::Forked => true,
            Life::Waiting {
                mutex, notified, ..
            } => notified && !self.mutexes.contains(&mutex),
            Life::Ended | Life::Joined => false,
            Life::Running => match (worker.script.front(), worker.rounds.front()) {
                (Some(todo), _) => self.is_free(todo),
                (None, Some(round)) if worker.arrived => self.missing.get(round) == Some(&0),
                (None, Some(_)) => true,
                (None, None) => strand != MAIN || self.decisions > 0 || self.main_can_finish(),
            },
        }
    }

    /// Whether the lock that an item takes is free.
    fn is_free(&self, todo: &Todo) -> bool {
        let read = |lock: &RwLock| self.readers.get(lock).is_some_and(|&readers| readers > 0);
        match todo {
            Todo::Do(Action::Lock(mutex)) => !self.mutexes.contains(mutex),
            Todo::Do(Action::ReadLock(lock)) => !self.writers.contains(lock),
            Todo::Do(Action::WriteLock(lock)) => !self.writers.contains(lock) && !read(lock),
            _ => true,
        }
    }

    fn main_can_finish(&self) -> bool {
        let others = &self.workers[1..];
        let sleeps = |w: &Worker| {
            matches!(
                w.life,
                Life::Waiting {
                    notified: false,
                    ..
                }
            )
        };
        others.iter().any(|w| w.life == Life::Ended || sleeps(w))
            || others.iter().all(|w| w.life == Life::Joined)
    }

    fn go_on(&mut self, me: Strand) {
        let worker = self.worker(me);
        match worker.life {
            Life::Forked => {
                worker.life = Life::Running;
                self.emit(me, Action::Begin);
            }
            Life::Waiting { condvar, mutex, .. } => {
                worker.life = Life::Running;
                self.mutexes.insert(mutex);
                self.emit(me, Action::Woken(condvar, mutex));
            }
            Life::Running => match (worker.script.pop_front(), worker.rounds.front().copied()) {
                (Some(todo), _) => self.perform(me, todo),
                (None, Some(round)) => self.pass(me, round),
                (None, None) if self.decisions > 0 => self.decide(me),
                (None, None) if me == MAIN => self.finish(),
                (None, None) => self.end(me),
            },
            Life::Ended | Life::Joined => {}
        }
    }

    /// Arrives at a barrier, or leaves it.
    fn pass(&mut self, me: Strand, round: Round) {
        if self.worker(me).arrived {
            self.worker(me).rounds.pop_front();
            self.worker(me).arrived = false;
            self.emit(me, Action::Leave(round));
        } else {
            self.worker(me).arrived = true;
            self.missing
                .entry(round)
                .and_modify(|missing| *missing -= 1);
            self.emit(me, Action::Arrive(round));
        }
    }

    fn end(&mut self, me: Strand) {
        self.worker(me).life = Life::Ended;
        self.emit(me, Action::End);
    }

    /// What `t0` does when nothing is left to decide: wakes who sleeps, joins who has ended, and ends.
    fn finish(&mut self) {
        let sleeper = self.workers.iter().find_map(|worker| match worker.life {
            Life::Waiting {
                condvar,
                notified: false,
                ..
            } => Some(condvar),
            _ => None,
        });
        match sleeper {
            Some(condvar) => self.notify(MAIN, condvar),
            None if !self.join_somebody(MAIN) => self.end(MAIN),
            None => {}
        }
    }

    fn join_somebody(&mut self, me: Strand) -> bool {
        let ended: Vec<Strand> = self
            .strands()
            .filter(|s| self.workers[s.0 as usize].life == Life::Ended)
            .collect();
        let Some(child) = self.rng.pick(&ended) else {
            return false;
        };
        self.worker(child).life = Life::Joined;
        self.emit(me, Action::Join(child));
        true
    }

    fn notify(&mut self, me: Strand, condvar: Condvar) {
        for worker in &mut self.workers {
            if let Life::Waiting {
                condvar: other,
                notified,
                ..
            } = &mut worker.life
            {
                *notified |= *other == condvar;
            }
        }
        self.emit(me, Action::Notify(condvar));
    }

    /// Does an item of a script, or leaves it out.
    fn perform(&mut self, me: Strand, todo: Todo) {
        match todo {
            Todo::Do(action) => self.act(me, action),
            Todo::Wait(condvar, mutex) => {
                if me != MAIN && self.worker(me).rounds.is_empty() {
                    self.worker(me).life = Life::Waiting {
                        condvar,
                        mutex,
                        notified: false,
                    };
                    self.mutexes.remove(&mutex);
                    self.emit(me, Action::Wait(condvar, mutex));
                }
            }
            Todo::Publish(n, message) => {
                self.regions[n].news = News::Out;
                self.emit(me, message);
            }
            Todo::Hear(n, message) => self.hear(me, n, message),
            Todo::Heap(n) => self.heap(me, n),
            Todo::Spawn => self.spawn(me),
            Todo::Gather(barrier) => self.gather(barrier),
        }
    }

    /// An event that needs no more thought, and its effect on the locks.
    fn act(&mut self, me: Strand, action: Action) {
        match action {
            Action::Lock(mutex) => {
                self.mutexes.insert(mutex);
            }
            Action::Unlock(mutex) => {
                self.mutexes.remove(&mutex);
            }
            Action::WriteLock(lock) => {
                self.writers.insert(lock);
            }
            Action::WriteUnlock(lock) => {
                self.writers.remove(&lock);
            }
            Action::ReadLock(lock) => *self.readers.entry(lock).or_default() += 1,
            Action::ReadUnlock(lock) => *self.readers.entry(lock).or_default() -= 1,
            _ => {}
        }
        self.emit(me, action);
    }

    fn hear(&mut self, me: Strand, n: usize, message: Action) {
        self.emit(me, message);
        if self.regions[n].news == News::Out {
            if plan::needs_fence(message) {
                self.emit(me, Action::Fence(FenceOrder::Acquire));
            }
            if let Some(whole) = plan::region(n) {
                let part = plan::part_of(&mut self.rng, whole);
                self.emit(me, Action::Read(part));
            }
        }
    }

    fn heap(&mut self, me: Strand, n: usize) {
        let Block { range, guard, live } = self.blocks[n];
        let action = if !live {
            // Now and then a wild block is touched though it is dead.
            if guard.is_none() && self.rng.chance(100) {
                plan::access(&mut self.rng, range)
            } else {
                self.blocks[n].live = true;
                Action::Alloc(range)
            }
        } else if self.rng.chance(250) {
            self.blocks[n].live = false;
            Action::Free(range)
        } else {
            plan::access(&mut self.rng, range)
        };
        self.emit(me, action);
    }

    fn spawn(&mut self, me: Strand) {
        let count = self.workers.len() as u32;
        if count < self.shape.strands {
            self.workers.push(Worker {
                life: Life::Forked,
                ..Worker::new()
            });
            self.emit(me, Action::Fork(Strand(count)));
        } else if !self.join_somebody(me)
            && me != MAIN
            && self.rng.chance(200)
            && self.worker(me).rounds.is_empty()
        {
            self.worker(me).script.clear();
            self.end(me);
        }
    }

    /// Calls as many strands as the barrier takes, if there are so many that can come.
    fn gather(&mut self, barrier: Barrier) {
        let Some(&(parties, phase)) = self.barriers.get(&barrier) else {
            return;
        };
        let comes = |worker: &Worker| {
            let expected = worker
                .rounds
                .iter()
                .all(|round| self.missing.get(round) == Some(&0));
            matches!(worker.life, Life::Forked | Life::Running)
                && expected
                && worker.rounds.len() < 2
        };
        let mut guests: Vec<Strand> = self
            .strands()
            .filter(|s| comes(&self.workers[s.0 as usize]))
            .collect();
        if guests.len() < parties {
            return;
        }
        while guests.len() > parties {
            let away = self.rng.below(guests.len() as u64) as usize;
            guests.remove(away);
        }
        let round = Round { barrier, phase };
        self.barriers.insert(barrier, (parties, phase + 1));
        self.missing.insert(round, parties);
        guests
            .into_iter()
            .for_each(|guest| self.worker(guest).rounds.push_back(round));
    }

    /// Makes the strand's next script.
    fn decide(&mut self, me: Strand) {
        self.decisions -= 1;
        let mix = &self.shape.mix;
        let weights = [
            (mix.touch, Decision::Touch),
            (mix.atomic, Decision::Atomic),
            (mix.fence, Decision::Fence),
            (mix.section, Decision::Section),
            (mix.condvar, Decision::Condvar),
            (mix.barrier, Decision::Barrier),
            (mix.channel, Decision::Channel),
            (mix.heap, Decision::Heap),
            (mix.spawn, Decision::Spawn),
        ];
        let script = match self.rng.weighted(&weights) {
            None => Vec::new(),
            Some(Decision::Touch) => self.touch(me),
            Some(Decision::Atomic) => self.atomic(),
            Some(Decision::Fence) => vec![Todo::Do(plan::fence(&mut self.rng))],
            Some(Decision::Section) => self.section(me),
            Some(Decision::Condvar) => self.condvar(me),
            Some(Decision::Barrier) => {
                self.one_of(self.shape.barriers, |n| Todo::Gather(Barrier(n)))
            }
            Some(Decision::Channel) => {
                let release = self.rng.chance(500);
                let action = if release {
                    Action::Release
                } else {
                    Action::Acquire
                };
                self.one_of(self.shape.channels, |n| Todo::Do(action(Channel(n))))
            }
            Some(Decision::Heap) => self.block(),
            Some(Decision::Spawn) => vec![Todo::Spawn],
        };
        self.worker(me).script.extend(script);
    }

    /// One item about one of `count` things; nothing if there are none.
    fn one_of(&mut self, count: u32, make: impl Fn(u64) -> Todo) -> Vec<Todo> {
        let n = self.rng.below(u64::from(count));
        if count == 0 {
            Vec::new()
        } else {
            vec![make(n)]
        }
    }

    /// Touches a region by its discipline.
    fn touch(&mut self, me: Strand) -> Vec<Todo> {
        let n = self.rng.below(u64::from(self.shape.regions)) as usize;
        let (Some(region), Some(whole)) = (self.regions.get(n).copied(), plan::region(n)) else {
            return Vec::new();
        };
        let count = 1 + self.rng.below(3);
        let accesses = |rng: &mut Rng| {
            (0..count)
                .map(|_| plan::access(rng, whole))
                .collect::<Vec<_>>()
        };
        let all_do = |actions: Vec<Action>| actions.into_iter().map(Todo::Do).collect::<Vec<_>>();
        match region.discipline {
            Discipline::Wild => {
                let odd = if self.rng.chance(150) {
                    plan::atomic_access(&mut self.rng, whole)
                } else {
                    None
                };
                all_do(odd.map_or_else(
                    || vec![plan::access(&mut self.rng, whole)],
                    |action| vec![action],
                ))
            }
            Discipline::Guarded(mutex) => plan::section(mutex, all_do(accesses(&mut self.rng))),
            Discipline::Shared(lock) => {
                let reads_only = self.rng.chance(600);
                let reads = (0..count)
                    .map(|_| Action::Read(plan::part_of(&mut self.rng, whole)))
                    .collect();
                plan::shared_section(
                    lock,
                    if reads_only {
                        reads
                    } else {
                        accesses(&mut self.rng)
                    },
                )
            }
            Discipline::OwnBytes => {
                let mine = plan::own_bytes(me, whole);
                mine.map_or_else(Vec::new, |mine| {
                    all_do(vec![plan::access(&mut self.rng, mine)])
                })
            }
            Discipline::Constant if self.workers.len() == 1 => all_do(accesses(&mut self.rng)),
            Discipline::Constant => {
                vec![Todo::Do(Action::Read(plan::part_of(&mut self.rng, whole)))]
            }
            Discipline::Published(medium) if region.news == News::None => {
                self.regions[n].news = News::Claimed;
                plan::publish(&mut self.rng, n, whole, medium)
            }
            Discipline::Published(medium) => plan::hear(&mut self.rng, n, medium),
        }
    }

    /// An operation on an atomic. One that publishes a region is only read and modified, which continues the release
    /// sequence; unless a strand is wild.
    fn atomic(&mut self) -> Vec<Todo> {
        let Some(place) = plan::atomic(self.rng.below(u64::from(self.shape.atomics))) else {
            return Vec::new();
        };
        if self.shape.atomics == 0 {
            return Vec::new();
        }
        let wild = self.rng.chance(self.shape.wild);
        let action = if wild && self.rng.chance(200) {
            plan::access(&mut self.rng, place.range())
        } else if !wild && self.publishes(place) {
            plan::read_modify_write(&mut self.rng, place)
        } else {
            plan::operation(&mut self.rng, place)
        };
        vec![Todo::Do(action)]
    }

    fn publishes(&self, place: Place) -> bool {
        self.regions
            .iter()
            .any(|region| region.discipline == Discipline::Published(Medium::Atomic(place)))
    }

    /// A critical section around accesses to a region that it may or may not protect.
    fn section(&mut self, me: Strand) -> Vec<Todo> {
        let inside = self.wild_accesses();
        let mutexes = u64::from(self.shape.mutexes);
        let n = self.rng.below(mutexes + u64::from(self.shape.rwlocks));
        if self.shape.mutexes + self.shape.rwlocks == 0 {
            self.touch(me)
        } else if n < mutexes {
            plan::section(Mutex(n), inside.into_iter().map(Todo::Do).collect())
        } else {
            plan::shared_section(RwLock(n - mutexes), inside)
        }
    }

    /// Accesses to wild regions; none if there are none.
    fn wild_accesses(&mut self) -> Vec<Action> {
        let wild = |n: &usize| self.regions[*n].discipline == Discipline::Wild;
        let wild: Vec<_> = (0..self.regions.len())
            .filter(wild)
            .filter_map(plan::region)
            .collect();
        let count = 1 + self.rng.below(3);
        let chosen: Vec<_> = (0..count).filter_map(|_| self.rng.pick(&wild)).collect();
        chosen
            .into_iter()
            .map(|whole| plan::access(&mut self.rng, whole))
            .collect()
    }

    fn condvar(&mut self, me: Strand) -> Vec<Todo> {
        if self.shape.condvars == 0 || self.shape.mutexes == 0 {
            return Vec::new();
        }
        let condvar = Condvar(self.rng.below(u64::from(self.shape.condvars)));
        // A condition variable always goes with the same mutex, as POSIX asks for.
        let mutex = Mutex(condvar.0 % u64::from(self.shape.mutexes));
        if me == MAIN || self.rng.chance(500) {
            self.notify(me, condvar);
            return Vec::new();
        }
        let after = self.wild_accesses().into_iter().map(Todo::Do);
        plan::section(
            mutex,
            [Todo::Wait(condvar, mutex)]
                .into_iter()
                .chain(after)
                .collect(),
        )
    }

    fn block(&mut self) -> Vec<Todo> {
        let n = self.rng.below(self.blocks.len() as u64) as usize;
        let count = 1 + self.rng.below(3) as usize;
        match self.blocks.get(n) {
            None => Vec::new(),
            Some(Block { guard: None, .. }) => vec![Todo::Heap(n); count],
            Some(Block {
                guard: Some(mutex), ..
            }) => plan::section(*mutex, vec![Todo::Heap(n); count]),
        }
    }
}

impl Worker {
    fn new() -> Worker {
        Worker {
            life: Life::Forked,
            script: VecDeque::new(),
            rounds: VecDeque::new(),
            arrived: false,
        }
    }
}

fn discipline(rng: &mut Rng, shape: &Shape, n: usize) -> Region {
    let some = |count: u32, rng: &mut Rng| (count > 0).then(|| rng.below(u64::from(count)));
    let discipline = if rng.chance(shape.wild) {
        Some(Discipline::Wild)
    } else {
        match rng.below(6) {
            0 => some(shape.mutexes, rng).map(|m| Discipline::Guarded(Mutex(m))),
            1 => some(shape.rwlocks, rng).map(|l| Discipline::Shared(RwLock(l))),
            2 => Some(Discipline::OwnBytes),
            3 => some(shape.channels, rng)
                .map(|c| Discipline::Published(Medium::Channel(Channel(c)))),
            // Each atomic publishes one region: a second publisher's store would end the first one's release sequence.
            4 if n < shape.atomics as usize => {
                plan::atomic(n as u64).map(|place| Discipline::Published(Medium::Atomic(place)))
            }
            _ => Some(Discipline::Constant),
        }
    };
    Region {
        discipline: discipline.unwrap_or(Discipline::OwnBytes),
        news: News::None,
    }
}

fn block(rng: &mut Rng, shape: &Shape, n: u64) -> Option<Block> {
    let wild = shape.mutexes == 0 || rng.chance(shape.wild);
    let guard = (!wild).then(|| Mutex(rng.below(u64::from(shape.mutexes))));
    Some(Block {
        range: plan::block(n)?,
        guard,
        live: false,
    })
}
