//! The text form: written and parsed again it is the same, and what is no trace is refused with its line.

use deadheat_trace::{
    Action, Addr, Barrier, Channel, Condvar, Event, FenceOrder, LoadOrder, Mutex, Place, Range,
    RmwOrder, Round, RwLock, Site, StoreOrder, Strand, Trace, Width,
};
use proptest::prelude::*;
use proptest::sample::select;

fn range() -> impl Strategy<Value = Range> {
    (any::<u64>(), 1..=u64::MAX).prop_filter_map("past the end of memory", |(a, n)| {
        Range::new(Addr(a), n).or(Range::new(Addr(a), n % 64 + 1))
    })
}

fn place() -> impl Strategy<Value = Place> {
    (any::<u64>(), select(&Width::ALL[..]))
        .prop_filter_map("past the end of memory", |(a, w)| Place::new(Addr(a), w))
}

fn action() -> impl Strategy<Value = Action> {
    let strand = || any::<u32>().prop_map(Strand);
    let mutex = || any::<u64>().prop_map(Mutex);
    let rwlock = || any::<u64>().prop_map(RwLock);
    let condvar = || any::<u64>().prop_map(Condvar);
    let channel = || any::<u64>().prop_map(Channel);
    let round = || {
        (any::<u64>(), any::<u64>()).prop_map(|(b, phase)| Round {
            barrier: Barrier(b),
            phase,
        })
    };
    prop_oneof![
        prop_oneof![
            Just(Action::Begin),
            Just(Action::End),
            strand().prop_map(Action::Fork),
            strand().prop_map(Action::Join),
            strand().prop_map(Action::Detach),
            strand().prop_map(Action::Await),
            mutex().prop_map(Action::Lock),
            mutex().prop_map(Action::Unlock),
            rwlock().prop_map(Action::ReadLock),
            rwlock().prop_map(Action::ReadUnlock),
            rwlock().prop_map(Action::WriteLock),
        ],
        prop_oneof![
            rwlock().prop_map(Action::WriteUnlock),
            (condvar(), mutex()).prop_map(|(c, m)| Action::Wait(c, m)),
            (condvar(), mutex()).prop_map(|(c, m)| Action::Woken(c, m)),
            condvar().prop_map(Action::Notify),
            round().prop_map(Action::Arrive),
            round().prop_map(Action::Leave),
            channel().prop_map(Action::Release),
            channel().prop_map(Action::Acquire),
        ],
        prop_oneof![
            (place(), select(LoadOrder::ALL)).prop_map(|(p, o)| Action::Load(p, o)),
            (place(), select(StoreOrder::ALL)).prop_map(|(p, o)| Action::Store(p, o)),
            (place(), select(RmwOrder::ALL)).prop_map(|(p, o)| Action::Rmw(p, o)),
            select(FenceOrder::ALL).prop_map(Action::Fence),
            range().prop_map(Action::Read),
            range().prop_map(Action::Write),
            range().prop_map(Action::Alloc),
            range().prop_map(Action::Free),
        ],
    ]
}

fn event() -> impl Strategy<Value = Event> {
    (any::<u32>(), action(), proptest::option::of(any::<u64>())).prop_map(
        |(strand, action, site)| Event {
            strand: Strand(strand),
            action,
            site: site.map(Site),
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_round_trip_is_exact(events in proptest::collection::vec(event(), 0..20)) {
        let trace = Trace { events };
        let text = trace.to_string();
        let again: Trace = text.parse().expect("what was written");
        prop_assert_eq!(&again, &trace);
        prop_assert_eq!(again.to_string(), text);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "[ -~\n]{0,200}") {
        let _ = text.parse::<Trace>();
    }

    #[test]
    fn no_line_of_its_own_words_makes_the_parser_panic(
        words in proptest::collection::vec(
            select(&["t1", "t", "fork", "lock", "m1", "rw2", "b1.2", "b.", "load", "0x10", "0x", "4", "16", "acquire",
                "read", "@3", "@", "wait", "c1", "#", "\n", "99999999999999999999", "+1", "é"][..]), 0..30)
    ) {
        let _ = words.join(" ").parse::<Trace>();
    }
}

#[test]
fn comments_and_blanks_are_dropped() {
    let text = "# a trace\n\n  t0   begin # here\n\tt0 write 0x10 4 @7#there\nt0 end";
    let trace: Trace = text.parse().expect("a trace");
    assert_eq!(trace.to_string(), "t0 begin\nt0 write 0x10 4 @7\nt0 end\n");
}

#[test]
fn errors_name_the_line_and_what_would_be_right() {
    for (text, expected) in [
        ("x0 begin", "line 1: `x0` is not a strand such as t1"),
        (
            "t0 begin\nt0",
            "line 2: the line ends where what the strand does should follow",
        ),
        (
            "\n\nt0 jump",
            "line 3: `jump` is nothing a strand does; the grammar is in `trace/src/text.rs`",
        ),
        ("t0 lock rw1", "line 1: `rw1` is not a mutex such as m1"),
        (
            "t0 lock",
            "line 1: the line ends where a mutex such as m1 should follow",
        ),
        (
            "t0 rdlock m1",
            "line 1: `m1` is not a read-write lock such as rw1",
        ),
        (
            "t0 fork t4294967296",
            "line 1: `t4294967296` is not a strand such as t1: too large",
        ),
        (
            "t0 arrive b1",
            "line 1: `b1` is not a barrier and its phase such as b1.0",
        ),
        (
            "t0 read 10 4",
            "line 1: `10` is not an address such as 0x1000",
        ),
        (
            "t0 read 0x+1 4",
            "line 1: `0x+1` is not an address such as 0x1000",
        ),
        (
            "t0 read 0x10 +4",
            "line 1: `+4` is not a size in bytes such as 4",
        ),
        (
            "t0 read 0x10 0",
            "line 1: `0x10 0` is empty or reaches past the end of memory",
        ),
        (
            "t0 read 0xffffffffffffffff 2",
            "line 1: `0xffffffffffffffff 2` is empty or reaches past the end of memory",
        ),
        (
            "t0 load 0x10 3 acquire",
            "line 1: `3` is not the size of an atomic: 1, 2, 4, 8 or 16",
        ),
        (
            "t0 load 0x10 4 release",
            "line 1: `release` is not a memory order (relaxed, consume, acquire, seq_cst)",
        ),
        (
            "t0 store 0x10 4 acquire",
            "line 1: `acquire` is not a memory order (relaxed, release, seq_cst)",
        ),
        (
            "t0 fence",
            "line 1: the line ends where a memory order (relaxed, consume, acquire, release, acq_rel, seq_cst) \
             should follow",
        ),
        (
            "t0 begin 4",
            "line 1: `4` is too much: only a site such as @12 may follow",
        ),
        (
            "t0 begin @4 @5",
            "line 1: `@5` is too much: the site is the last word of an event",
        ),
        (
            "t0 begin @",
            "line 1: `@` is too much: only a site such as @12 may follow",
        ),
        (
            "t0 wait c1",
            "line 1: the line ends where a mutex such as m1 should follow",
        ),
    ] {
        let error = text.parse::<Trace>().expect_err(text);
        assert_eq!(error.to_string(), expected, "for {text:?}");
    }
}
