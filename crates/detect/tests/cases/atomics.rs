//! Atomics: what races with them, message passing by every pair of orders, release sequences.
//!
//! In the cases `0x10` is data, `0x100` the flag.

use crate::check;

/// Message passing: does this write of the flag, read by that operation, order the data?
#[track_caller]
fn message(write: &str, read: &str, expected: &str) {
    check(
        &format!("t1 write 0x10 4 @1\n t1 {write}\n t2 {read}\n t2 read 0x10 4 @2"),
        expected,
    );
}

const RACE: &str = "@1 @2 0x10 4";

#[test]
fn two_atomics_never_race() {
    check(
        "t1 store 0x100 4 relaxed\n t2 store 0x100 4 relaxed\n t0 rmw 0x100 8 relaxed\n t1 load 0x102 2 relaxed",
        "",
    );
}

#[test]
fn an_atomic_write_races_with_a_plain_read() {
    check(
        "t1 store 0x100 4 seq_cst @1\n t2 read 0x100 4 @2",
        "@1 @2 0x100 4",
    );
}

#[test]
fn an_atomic_read_races_with_a_plain_write() {
    check(
        "t1 write 0x100 4 @1\n t2 load 0x100 4 seq_cst @2",
        "@1 @2 0x100 4",
    );
}

#[test]
fn an_atomic_read_and_a_plain_read_do_not_race() {
    check("t1 load 0x100 4 relaxed\n t2 read 0x100 4", "");
}

#[test]
fn a_read_modify_write_races_with_a_plain_read() {
    check(
        "t1 rmw 0x100 4 relaxed @1\n t2 read 0x100 4 @2",
        "@1 @2 0x100 4",
    );
}

#[test]
fn an_atomic_write_does_not_hide_an_earlier_plain_one() {
    check(
        "t1 write 0x100 4 @1
         t1 store 0x100 4 relaxed
         t2 store 0x100 4 relaxed @2",
        "@1 @2 0x100 4",
    );
}

#[test]
fn a_plain_read_does_not_hide_an_earlier_atomic_write() {
    check(
        "t1 store 0x100 4 relaxed @1
         t1 read 0x100 4 @2
         t2 read 0x100 4 @3
         t0 store 0x100 4 relaxed @4",
        "@1 @3 0x100 4
         @2 @4 0x100 4
         @3 @4 0x100 4",
    );
}

#[test]
fn plain_initialisation_is_ordered_by_the_very_load_that_acquires() {
    check(
        "t1 write 0x100 4\n t1 store 0x100 4 release\n t2 load 0x100 4 acquire",
        "",
    );
}

#[test]
fn a_relaxed_load_is_not_ordered_after_plain_initialisation() {
    check(
        "t1 write 0x100 4 @1
         t1 store 0x100 4 release
         t2 load 0x100 4 relaxed @2",
        "@1 @2 0x100 4",
    );
}

#[test]
fn atomics_overlap_plain_accesses_in_some_bytes() {
    check(
        "t1 rmw 0x104 4 seq_cst @1\n t2 write 0x106 4 @2",
        "@1 @2 0x106 2",
    );
}

#[test]
fn sixteen_byte_atomics_cover_two_cells() {
    check(
        "t1 rmw 0x100 16 seq_cst @1\n t2 read 0x10f 1 @2",
        "@1 @2 0x10f 1",
    );
}

#[test]
fn every_releasing_write_meets_every_acquiring_read() {
    for write in [
        "store 0x100 4 release",
        "store 0x100 4 seq_cst",
        "rmw 0x100 4 release",
        "rmw 0x100 4 acq_rel",
    ] {
        for read in [
            "load 0x100 4 acquire",
            "load 0x100 4 seq_cst",
            "load 0x100 4 consume",
            "rmw 0x100 4 acquire",
        ] {
            message(write, read, "");
        }
        message(write, "rmw 0x100 4 acq_rel", "");
        message(write, "rmw 0x100 4 seq_cst", "");
    }
}

#[test]
fn a_relaxed_write_tells_nothing() {
    for write in [
        "store 0x100 4 relaxed",
        "rmw 0x100 4 relaxed",
        "rmw 0x100 4 acquire",
        "rmw 0x100 4 consume",
    ] {
        message(write, "load 0x100 4 acquire", RACE);
        message(write, "rmw 0x100 4 seq_cst", RACE);
    }
}

#[test]
fn a_relaxed_read_learns_nothing() {
    for read in [
        "load 0x100 4 relaxed",
        "rmw 0x100 4 relaxed",
        "rmw 0x100 4 release",
    ] {
        message("store 0x100 4 release", read, RACE);
        message("rmw 0x100 4 seq_cst", read, RACE);
    }
}

#[test]
fn another_flag_tells_nothing() {
    message("store 0x100 4 release", "load 0x104 4 acquire", RACE);
}

#[test]
fn a_read_before_the_write_learns_nothing() {
    check(
        "t1 write 0x10 4 @1
         t2 load 0x100 4 acquire
         t1 store 0x100 4 release
         t2 read 0x10 4 @2",
        RACE,
    );
}

#[test]
fn what_follows_the_release_is_not_told() {
    check(
        "t1 store 0x100 4 release
         t1 write 0x10 4 @1
         t2 load 0x100 4 acquire
         t2 read 0x10 4 @2",
        RACE,
    );
}

#[test]
fn a_read_modify_write_of_another_strand_continues_the_release_sequence() {
    for order in ["relaxed", "acquire", "release", "acq_rel", "seq_cst"] {
        check(
            &format!(
                "t1 write 0x10 4
                 t1 store 0x100 4 release
                 t3 rmw 0x100 4 {order}
                 t2 load 0x100 4 acquire
                 t2 read 0x10 4"
            ),
            "",
        );
    }
}

#[test]
fn many_read_modify_writes_continue_it() {
    check(
        "t1 write 0x10 4
         t1 store 0x100 4 release
         t3 rmw 0x100 4 relaxed
         t1 rmw 0x100 4 relaxed
         t0 rmw 0x100 4 relaxed
         t2 load 0x100 4 acquire
         t2 read 0x10 4",
        "",
    );
}

#[test]
fn a_relaxed_read_modify_write_does_not_tell_what_its_own_strand_did() {
    check(
        "t1 store 0x100 4 release
         t3 write 0x10 4 @1
         t3 rmw 0x100 4 relaxed
         t2 load 0x100 4 acquire
         t2 read 0x10 4 @2",
        RACE,
    );
}

#[test]
fn the_strand_that_continues_the_sequence_does_not_learn_by_it() {
    check(
        "t1 write 0x10 4 @1
         t1 store 0x100 4 release
         t2 rmw 0x100 4 relaxed
         t2 read 0x10 4 @2",
        RACE,
    );
}

#[test]
fn a_relaxed_store_of_another_strand_ends_the_sequence() {
    check(
        "t1 write 0x10 4 @1
         t1 store 0x100 4 release
         t3 store 0x100 4 relaxed
         t2 load 0x100 4 acquire
         t2 read 0x10 4 @2",
        RACE,
    );
}

#[test]
fn a_relaxed_store_of_the_same_strand_ends_it_too_since_cpp20() {
    check(
        "t1 write 0x10 4 @1
         t1 store 0x100 4 release
         t1 store 0x100 4 relaxed
         t2 load 0x100 4 acquire
         t2 read 0x10 4 @2",
        RACE,
    );
}

#[test]
fn a_release_store_of_another_strand_ends_it_and_tells_its_own() {
    check(
        "t1 write 0x10 4 @1
         t1 store 0x100 4 release
         t3 write 0x20 4
         t3 store 0x100 4 release
         t2 load 0x100 4 acquire
         t2 read 0x20 4
         t2 read 0x10 4 @2",
        RACE,
    );
}

#[test]
fn a_releasing_read_modify_write_tells_both() {
    check(
        "t1 write 0x10 4
         t1 store 0x100 4 release
         t3 write 0x20 4
         t3 rmw 0x100 4 release
         t2 load 0x100 4 acquire
         t2 read 0x20 4
         t2 read 0x10 4",
        "",
    );
}

#[test]
fn a_sequence_ended_stays_ended() {
    check(
        "t1 write 0x10 4 @1
         t1 store 0x100 4 release
         t3 store 0x100 4 relaxed
         t3 rmw 0x100 4 acq_rel
         t2 rmw 0x100 4 acq_rel
         t2 read 0x10 4 @2",
        RACE,
    );
}

#[test]
fn a_plain_lock_made_of_atomics() {
    check(
        "t1 rmw 0x100 4 acquire
         t1 write 0x10 4
         t1 store 0x100 4 release
         t2 rmw 0x100 4 acquire
         t2 write 0x10 4
         t2 store 0x100 4 release
         t0 rmw 0x100 4 acquire
         t0 read 0x10 4",
        "",
    );
}

#[test]
fn store_buffering_orders_nothing() {
    check(
        "t1 write 0x10 4 @1
         t1 store 0x100 4 seq_cst
         t2 store 0x108 4 seq_cst
         t2 load 0x108 4 seq_cst
         t2 read 0x10 4 @2",
        RACE,
    );
}

#[test]
fn order_passes_through_two_flags() {
    check(
        "t1 write 0x10 4
         t1 store 0x100 4 release
         t3 load 0x100 4 acquire
         t3 store 0x108 4 release
         t2 load 0x108 4 acquire
         t2 read 0x10 4",
        "",
    );
}

#[test]
fn a_relaxed_link_in_the_chain_breaks_it() {
    check(
        "t1 write 0x10 4 @1
         t1 store 0x100 4 release
         t3 load 0x100 4 relaxed
         t3 store 0x108 4 release
         t2 load 0x108 4 acquire
         t2 read 0x10 4 @2",
        RACE,
    );
}

#[test]
fn a_second_write_after_the_message_races() {
    check(
        "t1 write 0x10 4
         t1 store 0x100 4 release
         t2 load 0x100 4 acquire
         t2 read 0x10 4 @1
         t1 write 0x10 4 @2",
        "@1 @2 0x10 4",
    );
}
