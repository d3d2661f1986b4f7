//! Ten times as many threads and locks, one after another, take no more memory: whatever every thread that is left knows, or
//! nobody can ever know of, is dropped, by each detector.

mod streams;

use deadheat_pipeline::batch::Named;
use deadheat_pipeline::detector::{DetectorKind, Needs};
use deadheat_pipeline::merge::{Merger, Progress};
use deadheat_pipeline::sequence::Sequencer;
use deadheat_pipeline::shard::{Across, Shard};
use deadheat_trace::wire::Touch;
use deadheat_trace::{Action, Addr, FenceOrder, Mutex, Place, StoreOrder, Strand, Width};
use streams::{Maker, detached, touch};

/// What is remembered at most: by the sequencer (numbers of holders, slots) and by a checker.
#[derive(Debug, Default, PartialEq, Eq)]
struct Most {
    holders: usize,
    slots: usize,
    remembered: usize,
    pages: usize,
}

fn most(maker: Maker, detector: DetectorKind) -> Most {
    let mut source = maker.finish();
    let mut sequencer = Sequencer::new(1, Needs::of(&[detector]), Across::Frames);
    sequencer.forget_after = 64;
    (sequencer.batch_after, sequencer.news_after) = (512, 512);
    let mut shard = Shard::new(&[detector], Across::Frames, false);
    shard.forget_eagerly();
    let mut merger = Merger::new();
    let mut most = Most::default();
    loop {
        let progress = merger.advance(&mut source, &mut sequencer);
        for batch in sequencer.take(&mut Vec::new()) {
            assert_eq!(shard.check(&batch), [], "nothing races");
        }
        let named: Vec<Named> = std::mem::take(&mut shard.named);
        named.iter().for_each(|named| sequencer.named(named));
        let (holders, slots) = sequencer.widths();
        most = Most {
            holders: most.holders.max(holders),
            slots: most.slots.max(slots),
            remembered: most.remembered.max(shard.remembered()),
            pages: most.pages.max(shard.pages()),
        };
        if progress == Progress::Done {
            break;
        }
    }
    assert_eq!(sequencer.without_slot(), 0);
    most
}

/// What a thread does: a lock of its own and one that all have, memory of its own and some that all have, atomics and fences.
fn work(maker: &mut Maker, n: u64) {
    let strand = n as u32;
    let flag = Place::new(Addr(0x8_0000), Width::Eight).expect("a place");
    maker.act(strand, Action::Begin);
    maker.put(strand, touch(Touch::AtomicRead, 0x10_0000, 1));
    for lock in [1, 1000 + n] {
        maker.act(strand, Action::Lock(Mutex(lock)));
        maker.write(strand, 0x10_0000 + lock * 512, 2);
        maker.act(strand, Action::Unlock(Mutex(lock)));
    }
    maker.act(strand, Action::Fence(FenceOrder::Release));
    maker.act(strand, Action::Store(flag, StoreOrder::Relaxed));
    maker.put(strand, touch(Touch::AtomicWrite, 0x10_0080, 3));
    maker.act(strand, Action::End);
}

/// They are joined; some know of each other only through that.
fn joined(count: u64) -> Maker {
    let mut maker = Maker::default();
    for n in (1..=count).step_by(2) {
        let both = [n, n + 1];
        for n in both {
            maker.act(0, Action::Fork(Strand(n as u32)));
        }
        both.iter().for_each(|&n| work(&mut maker, n));
        for n in both {
            maker.act(0, Action::Join(Strand(n as u32)));
        }
    }
    maker
}

/// The same, started by a thread for whose end the first one waits all the time: that knows of none of them.
fn awaited(count: u64) -> Maker {
    let mut maker = Maker::default();
    maker.act(0, Action::Fork(Strand(1)));
    maker.act(0, Action::Await(Strand(1)));
    maker.act(1, Action::Begin);
    for n in 2..count + 2 {
        let strand = n as u32;
        maker.act(1, Action::Fork(Strand(strand)));
        maker.act(strand, Action::Begin);
        for lock in [1, 1000 + n] {
            maker.act(strand, Action::Lock(Mutex(1)));
            maker.write(strand, 0x10_0000 + lock * 512, 2);
            maker.act(strand, Action::Unlock(Mutex(1)));
        }
        maker.act(strand, Action::End);
        maker.act(1, Action::Join(Strand(strand)));
    }
    maker.act(1, Action::End);
    maker.act(0, Action::Join(Strand(1)));
    maker
}

fn compare(name: &str, make: impl Fn(u64) -> Maker) {
    compare_those(name, make, |_| true);
}

fn compare_those(name: &str, make: impl Fn(u64) -> Maker, which: impl Fn(DetectorKind) -> bool) {
    for detector in DetectorKind::ALL.into_iter().filter(|&kind| which(kind)) {
        let few = most(make(1000), detector);
        let many = most(make(10_000), detector);
        let bound = |few: usize| few + few / 4 + 64;
        let flat = many.holders <= bound(few.holders)
            && many.slots <= bound(few.slots)
            && many.remembered <= bound(few.remembered)
            && many.pages <= bound(few.pages);
        assert!(flat, "{name}, {detector}: {few:?}, then {many:?}");
    }
}

#[test]
fn threads_that_are_joined() {
    compare("joined", joined);
}

#[test]
fn threads_of_one_that_is_waited_for() {
    // Eraser keeps what memory is until it is freed.
    compare_those("awaited", awaited, |kind| kind.exact());
}

#[test]
fn threads_that_nobody_joins() {
    compare("detached", detached);
}

/// Threads that nobody joins each write to a place of their own and tell nobody. Others come after them, who may have their slots, and
/// tell all that they know to a last one, which writes to all those places.
fn unheard(count: u64) -> Maker {
    let mut maker = Maker::default();
    for n in 1..=2 * count {
        let strand = n as u32;
        maker.act(0, Action::Fork(Strand(strand)));
        maker.act(0, Action::Detach(Strand(strand)));
        maker.act(strand, Action::Begin);
        if n <= count {
            maker.write(strand, 0x10_0000 + n * 64, 1);
        } else {
            maker.act(strand, Action::Lock(Mutex(1)));
            maker.act(strand, Action::Unlock(Mutex(1)));
        }
        maker.act(strand, Action::End);
    }
    maker.act(0, Action::Lock(Mutex(1)));
    for n in 1..=count {
        maker.write(0, 0x10_0000 + n * 64, 2);
    }
    maker.act(0, Action::Unlock(Mutex(1)));
    maker
}

/// Each detector by itself: if one forgets to say in which slots it remembers something, others cannot say it in its place.
#[test]
fn what_nobody_can_know_of_races_with_who_has_heard_of_the_next_in_its_slot() {
    const COUNT: u64 = 1000;
    for detector in DetectorKind::ALL.into_iter().filter(|kind| kind.exact()) {
        let mut source = unheard(COUNT).finish();
        let mut sequencer = Sequencer::new(1, Needs::of(&[detector]), Across::Frames);
        sequencer.forget_eagerly();
        (sequencer.batch_after, sequencer.news_after) = (64, 64);
        let mut shard = Shard::new(&[detector], Across::Frames, false).comparing(true);
        shard.forget_eagerly();
        let mut merger = Merger::new();
        loop {
            let progress = merger.advance(&mut source, &mut sequencer);
            for batch in sequencer.take(&mut Vec::new()) {
                shard.check(&batch);
            }
            let named: Vec<Named> = std::mem::take(&mut shard.named);
            named.iter().for_each(|named| sequencer.named(named));
            if progress == Progress::Done {
                break;
            }
        }
        let (_, slots) = sequencer.widths();
        assert!(slots < COUNT as usize, "{detector}: {slots} slots");
        let bytes = shard.finish().bytes.expect("compared");
        assert_eq!(bytes.len() as u64, COUNT, "{detector}");
    }
}
