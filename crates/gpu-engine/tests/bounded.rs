//! Ever new places in the code, call stacks and locks take no more room for ever: the device says which ones its cells have, and
//! the numbers of the others are used again.

use deadheat_gpu_engine::lane::Lane;
use deadheat_gpu_engine::{Gpu, Limits};
use deadheat_pipeline::detector::{DetectorKind, Needs};
use deadheat_pipeline::merge::{Merger, Progress};
use deadheat_pipeline::sequence::Sequencer;
use deadheat_pipeline::shard::Across;
use deadheat_trace::Trace;
use deadheat_trace::wire::Memory;

/// Two threads that take turns at the same memory, each time at another place in the code, with another lock beside the one that
/// guards it.
fn program(turns: u64) -> Memory {
    let mut text = "t0 begin\nt0 fork t1\nt1 begin\n".to_owned();
    for turn in 0..turns {
        let (strand, own, pc) = (turn % 2, 10 + turn, 1000 + turn);
        let addr = 0x10_0000 + turn % 50 * 8;
        text += &format!(
            "t{strand} lock m1\nt{strand} lock m{own}\nt{strand} write {addr:#x} 8 @{pc}\n"
        );
        text += &format!("t{strand} unlock m{own}\nt{strand} unlock m1\n");
    }
    let trace: Trace = text.parse().unwrap_or_else(|why| panic!("{why}"));
    let mut memory = Memory::of(&trace);
    memory.portion = 64;
    memory
}

/// The most places and sets that were remembered.
fn most(gpu: &Gpu, detector: DetectorKind, turns: u64) -> (usize, usize) {
    let mut needs = Needs::of(&[detector]);
    needs.sweeps = false;
    needs.clocks |= needs.transfers;
    needs.starts = needs.transfers;
    let limits = Limits {
        numbered: 320,
        ..Limits::default()
    };
    let mut sequencer = Sequencer::new(1, needs, Across::Frames);
    sequencer.apart = true;
    (sequencer.batch_after, sequencer.news_after) = (100, 1000);
    let mut lane = Lane::new(gpu, detector, Across::Frames, false, false, limits)
        .unwrap_or_else(|why| panic!("{why}"));
    let (mut merger, mut source) = (Merger::new(), program(turns));
    let mut most = (0, 0);
    loop {
        let progress = merger.advance(&mut source, &mut sequencer);
        for batch in sequencer.take(&mut Vec::new()) {
            lane.submit(&batch);
            let found = lane.collect(&batch).unwrap_or_else(|why| panic!("{why}"));
            assert_eq!(found, [], "nothing races");
        }
        let (places, sets) = lane.numbered();
        most = (most.0.max(places), most.1.max(sets));
        if progress == Progress::Done {
            return most;
        }
    }
}

#[test]
fn places_and_sets_that_no_cell_has_are_forgotten() {
    let gpu = Gpu::open()
        .unwrap_or_else(|error| panic!("{error}: apt install mesa-vulkan-drivers libvulkan1"));
    for detector in [
        DetectorKind::FastTrack,
        DetectorKind::Goldilocks,
        DetectorKind::Eraser,
    ] {
        let (few, many) = (most(&gpu, detector, 1000), most(&gpu, detector, 10_000));
        let bound = |few: usize| few + few / 4 + 32;
        let flat = many.0 <= bound(few.0) && many.1 <= bound(few.1);
        assert!(flat, "{detector}: {few:?}, then {many:?}");
        assert!(few.0 < 900, "{detector}: {few:?}");
    }
}
