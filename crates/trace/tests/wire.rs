//! The binary form says exactly what was put in, and no word makes the decoder panic or run away.

use deadheat_trace::wire::{
    Act, Damage, Decoder, Item, Memory, MemoryKind, Next, Object, ObjectKind, Source, Spot,
    StackNode, Touch, Touched, Turns, act, calls, lost, memory, place, plain, range, turns,
};
use deadheat_trace::{Action, Addr, Range, Shape, Strand, generate};

/// Turns an event into what a strand's stream says of it.
fn item(number: &mut u64, action: Action, at: u32) -> Item {
    let touched = |range, touch| {
        Item::Touch(Touched {
            range,
            touch,
            pc: 0x40_0000 + at as u64,
            caller: StackNode(at / 3),
        })
    };
    match action {
        Action::Read(range) => touched(range, Touch::Read),
        Action::Write(range) => touched(range, Touch::Write),
        Action::AtomicRead(range) => touched(range, Touch::AtomicRead),
        Action::AtomicWrite(range) => touched(range, Touch::AtomicWrite),
        action => {
            *number += 1;
            let mut new = Act::new(*number, action, StackNode(at));
            if matches!(
                action,
                Action::Lock(_) | Action::Arrive(_) | Action::Release(_)
            ) {
                new.object = Object {
                    kind: ObjectKind::ALL[at as usize % 14],
                    addr: 0x7fff_0000 + at as u64,
                };
            }
            if matches!(action, Action::Alloc(_)) {
                new.memory = MemoryKind::ALL[at as usize % 6];
            }
            Item::Act(new)
        }
    }
}

fn encode(items: &[Item]) -> Vec<u64> {
    let mut out = Vec::new();
    for item in items {
        match item {
            Item::Act(one) => out.extend(act(one).expect("an act").as_slice()),
            Item::Memory(kind, range) => out.extend(memory(*kind, *range).as_slice()),
            Item::Lost(count) => out.extend(lost(*count).as_slice()),
            Item::Touch(t) => {
                out.extend(calls(t.caller).as_slice());
                let index = t.pc as u16;
                let spot = Spot::new(t.pc, t.touch as u8, t.range.size());
                out.extend(place(index, spot).as_slice());
                match plain(t.range.addr().0, index) {
                    Some(word) if t.range.size() < 4095 => out.push(word),
                    _ => out.extend(range(t.range, index).as_slice()),
                }
            }
        }
    }
    out
}

fn decode(mut words: &[u64]) -> Result<Vec<Item>, Damage> {
    let (mut decoder, mut items) = (Decoder::new(), Vec::new());
    while let Some(item) = decoder.next(&mut words)? {
        items.push(item);
    }
    Ok(items)
}

#[test]
fn every_event_comes_back() {
    let shapes = [Shape::small(), Shape::atomics(), Shape::large()];
    for (seed, shape) in (0..200).flat_map(|seed| shapes.iter().map(move |s| (seed, s))) {
        let trace = generate(seed, shape);
        let (mut number, mut items) = (0, Vec::new());
        for (id, event) in trace.iter() {
            items.push(item(&mut number, event.action, id.0 as u32));
        }
        let range = |addr, size| Range::new(Addr(addr), size).expect("a range of the test");
        items.push(Item::Memory(MemoryKind::Stack, range(0x7000, 4096)));
        items.push(Item::Lost(77));
        items.push(item(&mut number, Action::Write(range(1 << 47, 8)), 5));
        items.push(item(&mut number, Action::Read(range(0x5000, 1 << 30)), 6));
        for action in [
            Action::ReleaseAt(Addr(8)),
            Action::AcquireAt(Addr(16)),
            Action::ReplaceAt(Addr(u64::MAX)),
        ] {
            items.push(item(&mut number, action, 9));
        }
        assert_eq!(decode(&encode(&items)), Ok(items), "seed {seed}");
    }
}

#[test]
fn an_empty_rest_ends_a_frame() {
    let mut words = encode(&[Item::Lost(1)]);
    words.extend([0, 0, 0xdead_beef]);
    assert_eq!(decode(&words), Ok(vec![Item::Lost(1)]));
}

#[test]
fn what_is_no_stream_is_said_to_be_none() {
    assert_eq!(decode(&[0x7f << 1]), Err(Damage::Unknown(0xfe)));
    assert_eq!(decode(&[5 << 1]), Err(Damage::Short));
    assert_eq!(decode(&[1 << 17 | 9 << 1 | 1]), Err(Damage::NoPlace(9)));
    assert_eq!(decode(&[4 << 1, 0x1000, 0]), Err(Damage::BadRange));
}

#[test]
fn random_words_end_in_an_answer() {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for _ in 0..20_000 {
        let words: Vec<u64> = (0..next() % 40)
            .map(|_| match next() % 3 {
                0 => next(),
                1 => next() & 0xffff,
                _ => next() & 0xff,
            })
            .collect();
        let items = decode(&words).map_or(0, |items| items.len());
        assert!(items <= words.len());
    }
}

#[test]
fn a_trace_as_streams_has_all_its_events() {
    for (seed, portion) in [(1, 0), (2, 1), (3, 7)] {
        let trace = generate(seed, &Shape::small());
        let mut memory = Memory::of(&trace);
        memory.portion = portion;
        let strands: Vec<Strand> = memory.strands().collect();
        let mut count = 0;
        for strand in strands {
            let (mut decoder, mut words) = (Decoder::new(), Vec::new());
            while memory.next(strand, &mut words) == Next::Some {
                let mut rest = &words[..];
                while let Some(item) = decoder.next(&mut rest).expect("no damage") {
                    let pc = match item {
                        Item::Touch(touched) => touched.pc,
                        Item::Act(act) => memory.node(act.at).expect("a node").1,
                        _ => panic!("nothing else is in a trace"),
                    };
                    let event = trace.events[pc as usize - 1];
                    let action = match item {
                        Item::Touch(touched) => touched.action(),
                        Item::Act(act) => act.action,
                        _ => continue,
                    };
                    assert_eq!((event.strand, event.action), (strand, action));
                    count += 1;
                }
                words.clear();
            }
        }
        assert_eq!(count, trace.events.len());
    }
}

/// The turns of a loop come one by one, or all at once; what cannot be is damage.
#[test]
fn loops_come_turn_by_turn() {
    let spot = Spot::new(0x40_1000, Touch::Write as u8, 4);
    let all = Turns {
        addr: 0x10_0000,
        count: 3,
        stride: 40,
        spot,
    };
    let mut words = Vec::new();
    words.extend(place(7, spot).as_slice());
    words.extend(turns(all, 7).expect("a loop").as_slice());
    words.extend(lost(5).as_slice());
    let (mut decoder, mut rest) = (Decoder::new(), &words[..]);
    let mut at = Vec::new();
    while let Some(item) = decoder.next(&mut rest).expect("items") {
        match item {
            Item::Touch(one) => at.push((one.range.addr().0, one.range.size(), one.touch, one.pc)),
            item => assert_eq!(item, Item::Lost(5)),
        }
    }
    let one = |addr| (addr, 4, Touch::Write, 0x40_1000);
    assert_eq!(at, [0x10_0000, 0x10_0028, 0x10_0050].map(one));

    let (mut decoder, mut rest) = (Decoder::new(), &words[..]);
    decoder.definitions(&mut rest);
    assert_eq!(decoder.turns(&mut rest), Some(all));
    assert_eq!(rest, lost(5).as_slice());

    let bad = [
        Turns { count: 0, ..all },
        Turns {
            count: 1 << 20,
            ..all
        },
        Turns { stride: 0, ..all },
        Turns {
            stride: 1 << 30,
            ..all
        },
        Turns {
            addr: u64::MAX - 50,
            ..all
        },
    ];
    for one in bad {
        assert!(turns(one, 7).is_none(), "{one:?}");
        let at = words.len() - 5;
        let mut words = words.clone();
        words[at + 1] = one.addr;
        words[at + 2] = u64::from(one.stride) << 32 | u64::from(one.count);
        let (mut decoder, mut rest) = (Decoder::new(), &words[..]);
        assert_eq!(decoder.next(&mut rest), Err(Damage::BadRange), "{one:?}");
    }
}
