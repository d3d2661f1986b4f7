//! Text of a recording, read again, is the same recording; and STD carries the orders that it can.

use std::collections::BTreeMap;

use deadheat_trace::merge::InOrder;
use deadheat_trace::recorded::{dump, parse};
use deadheat_trace::wire::{
    Act, Item, Memory, MemoryKind, Object, ObjectKind, Source, StackNode, Touch, Touched, Writer,
};
use deadheat_trace::{Action, Addr, Mutex, Range, Shape, Strand, generate, std_format};

/// All items in order, with the program counters of their stacks.
fn all(memory: &Memory) -> Vec<(Strand, Item, Vec<u64>)> {
    let mut source = memory.clone();
    let mut order = InOrder::new(&mut source);
    let mut out = Vec::new();
    while let Some((strand, item)) = order.next() {
        let mut node = match item {
            Item::Touch(touched) => touched.caller,
            Item::Act(act) => act.at,
            Item::Memory(..) | Item::Lost(_) => StackNode(0),
        };
        let mut pcs = Vec::new();
        while let Some((caller, pc)) = order.source.node(node) {
            pcs.push(pc);
            node = caller;
        }
        out.push((strand, item, pcs));
    }
    assert!(order.damages.is_empty());
    out
}

fn text_of(memory: &Memory) -> String {
    let mut out = Vec::new();
    let damages = dump(&mut memory.clone(), &mut out).expect("written to memory");
    assert!(damages.is_empty());
    String::from_utf8(out).expect("text")
}

#[test]
fn merging_gives_the_trace_back() {
    for seed in 0..50 {
        let trace = generate(seed, &Shape::small());
        let merged = all(&Memory::of(&trace));
        // The acts stand as in the trace; the accesses of a strand stay between its acts.
        let mut of: BTreeMap<Strand, Vec<Action>> = BTreeMap::new();
        for (strand, item, _) in &merged {
            of.entry(*strand).or_default().push(match item {
                Item::Touch(touched) => touched.action(),
                Item::Act(act) => act.action,
                _ => continue,
            });
        }
        for (strand, actions) in of {
            let expected: Vec<Action> = trace
                .events
                .iter()
                .filter(|event| event.strand == strand)
                .map(|event| event.action)
                .collect();
            assert_eq!(actions, expected, "seed {seed}");
        }
        assert_eq!(merged.len(), trace.events.len());
    }
}

#[test]
fn text_comes_back() {
    for seed in 0..100 {
        let memory = Memory::of(&generate(seed, &Shape::atomics()));
        let text = text_of(&memory);
        let again = parse(&text).expect("what was dumped");
        assert_eq!(all(&again), all(&memory), "seed {seed}");
        assert_eq!(text_of(&again), text);
        // The plain reader takes it, too.
        let plain: deadheat_trace::Trace = text.parse().expect("comments are comments");
        assert_eq!(plain.events.len(), all(&memory).len());
    }
}

#[test]
fn everything_that_a_recording_knows_comes_back() {
    let range = |addr, size| Range::new(Addr(addr), size).expect("a range");
    let mut memory = Memory::default();
    let main = memory.add_node(StackNode(0), 0x400_000);
    let inner = memory.add_node(main, 0x400_100);
    memory.add_line("{\"event\":\"start\",\"argv\":[\"a # b\"]}".to_string());
    let mut lock = Act::new(5, Action::Lock(Mutex(9)), inner);
    lock.object = Object {
        kind: ObjectKind::RecursiveMutex,
        addr: 0x7fff_0000,
    };
    let mut alloc = Act::new(6, Action::Alloc(range(0x9000, 64)), inner);
    alloc.memory = MemoryKind::Heap;
    let touched = |touch| {
        Item::Touch(Touched {
            range: range(0x9000, 8),
            touch,
            pc: 0x400_222,
            caller: main,
        })
    };
    let items = [
        Item::Act(Act::new(0, Action::Begin, StackNode(0))),
        Item::Memory(MemoryKind::Stack, range(0x7000, 4096)),
        Item::Act(lock),
        Item::Act(alloc),
        touched(Touch::VptrWrite),
        touched(Touch::Destroy),
        touched(Touch::AtomicRead),
        Item::Lost(12),
    ];
    let (mut writer, mut words) = (Writer::default(), Vec::new());
    items.iter().for_each(|item| writer.write(item, &mut words));
    memory.set_stream(Strand(0), words);
    let again = parse(&text_of(&memory)).expect("what was dumped");
    assert_eq!(all(&again), all(&memory));
    let mut lines = (Vec::new(), Vec::new());
    memory.lines(&mut lines.0);
    again.clone().lines(&mut lines.1);
    assert_eq!(lines.0, lines.1);
}

#[test]
fn std_keeps_accesses_locks_and_threads() {
    let text = "t0 begin\nt0 fork t1\nt1 begin\nt1 lock m1\nt1 write 0x1000 8 @7\nt1 unlock m1\nt0 read 0x1000 16 @8\nt1 end\nt0 join t1\n";
    let memory = Memory::of(&text.parse().expect("a trace"));
    let mut out = Vec::new();
    let parts = std_format::Parts::of(&mut memory.clone());
    let exported = std_format::export(&mut memory.clone(), &parts, &mut out).expect("written");
    let count = exported.events;
    let std = String::from_utf8(out).expect("text");
    assert_eq!(count as usize, std.lines().count());
    for line in [
        "T0|fork(T1)|2",
        "T1|acq(L1)|4",
        "T1|w(V1000)|7",
        "T0|r(V1008)|8",
        "T0|join(T1)|9",
    ] {
        assert!(std.lines().any(|l| l == line), "{line} in\n{std}");
    }
    let back = std_format::import(&std).expect("what was exported");
    // Who is joined has ended, which STD leaves out.
    assert_eq!(back.events.len(), count as usize + 1);
    assert_eq!(back.events[0].action, Action::Fork(Strand(1)));
    // Program counters that RAPID cannot read are numbered.
    let large = "t0 write 0x1000 8 @94631190234936\nt0 read 0x1000 8 @7\nt0 read 0x1000 8 @94631190234936\n";
    let memory = Memory::of(&large.parse().expect("a trace"));
    let mut out = Vec::new();
    let exported = std_format::export(&mut memory.clone(), &parts, &mut out).expect("written");
    assert_eq!(exported.locations, [(2_147_483_647, 94631190234936)]);
    let std = String::from_utf8(out).expect("text");
    let last = "T0|w(V1000)|2147483647\nT0|r(V1000)|7\nT0|r(V1000)|2147483647\n";
    assert_eq!(std, last);
    let error = std_format::import("T1|r(x)|1\nT1|jump(x)|2\n").expect_err("no such operation");
    assert!(error.starts_with("line 2:"), "{error}");
}

/// Traces of others: names of any kind, transactions, and threads that come out of nowhere.
#[test]
fn std_of_others_is_read() {
    let trace = std_format::import(
        "main|begin|1
         worker-1|w(V234.23[0])|456
         main|w(V234.23[0])|7
         main|end|2
         worker-1|begin(x)|3
         worker-1|fork(w2)|8
         w2|r(V234.23[0])|9
         worker-1|join(w2)|10
         main|join(nobody)|11
         worker-1|end(x)|12",
    )
    .expect("STD");
    let text = "t0 fork t1
t0 fork t2
t2 write 0x100000 8 @456
t1 write 0x100000 8 @7
t2 fork t3 @8
t3 read 0x100000 8 @9
t3 end
t2 join t3 @10
";
    assert_eq!(trace.to_string().trim(), text.trim());
}
