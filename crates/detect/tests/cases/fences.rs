//! Fences: with relaxed operations around them they order exactly what the standard says, and nothing else.
//!
//! In the cases `0x10` is data, `0x100` the flag.

use crate::check;

const RACE: &str = "@1 @2 0x10 4";

/// Message passing with these lines between the write and the read of the data.
#[track_caller]
fn message(lines: &str, expected: &str) {
    check(
        &format!("t1 write 0x10 4 @1\n{lines}\nt2 read 0x10 4 @2"),
        expected,
    );
}

#[test]
fn release_fence_then_relaxed_store_meets_an_acquire_load() {
    for fence in ["release", "acq_rel", "seq_cst"] {
        message(
            &format!("t1 fence {fence}\n t1 store 0x100 4 relaxed\n t2 load 0x100 4 acquire"),
            "",
        );
    }
}

#[test]
fn release_store_meets_a_relaxed_load_then_acquire_fence() {
    for fence in ["acquire", "consume", "acq_rel", "seq_cst"] {
        message(
            &format!("t1 store 0x100 4 release\n t2 load 0x100 4 relaxed\n t2 fence {fence}"),
            "",
        );
    }
}

#[test]
fn fence_meets_fence() {
    message(
        "t1 fence release\n t1 store 0x100 4 relaxed\n t2 load 0x100 4 relaxed\n t2 fence acquire",
        "",
    );
}

#[test]
fn fence_meets_fence_through_read_modify_writes() {
    message(
        "t1 fence release\n t1 rmw 0x100 4 relaxed\n t2 rmw 0x100 4 relaxed\n t2 fence acquire",
        "",
    );
}

#[test]
fn fences_of_the_wrong_kind_do_not_meet() {
    message(
        "t1 fence acquire\n t1 store 0x100 4 relaxed\n t2 load 0x100 4 relaxed\n t2 fence acquire",
        RACE,
    );
    message(
        "t1 fence release\n t1 store 0x100 4 relaxed\n t2 load 0x100 4 relaxed\n t2 fence release",
        RACE,
    );
    message(
        "t1 fence relaxed\n t1 store 0x100 4 relaxed\n t2 load 0x100 4 relaxed\n t2 fence relaxed",
        RACE,
    );
}

#[test]
fn fences_without_an_atomic_between_them_order_nothing() {
    message("t1 fence release\n t2 fence acquire", RACE);
    message("t1 fence seq_cst\n t2 fence seq_cst", RACE);
}

#[test]
fn a_fence_after_the_store_is_too_late() {
    message(
        "t1 store 0x100 4 relaxed\n t1 fence release\n t2 load 0x100 4 acquire",
        RACE,
    );
    message(
        "t1 store 0x100 4 relaxed\n t1 fence seq_cst\n t2 load 0x100 4 acquire",
        RACE,
    );
}

#[test]
fn a_fence_before_the_load_is_too_early() {
    message(
        "t1 store 0x100 4 release\n t2 fence acquire\n t2 load 0x100 4 relaxed",
        RACE,
    );
    message(
        "t1 store 0x100 4 release\n t2 fence seq_cst\n t2 load 0x100 4 relaxed",
        RACE,
    );
}

#[test]
fn what_is_written_between_fence_and_store_is_not_told() {
    check(
        "t1 fence release
         t1 write 0x10 4 @1
         t1 store 0x100 4 relaxed
         t2 load 0x100 4 acquire
         t2 read 0x10 4 @2",
        RACE,
    );
}

#[test]
fn one_release_fence_serves_all_later_stores() {
    message(
        "t1 fence release\n t1 store 0x108 4 relaxed\n t1 store 0x100 4 relaxed\n t2 load 0x100 4 acquire",
        "",
    );
}

#[test]
fn one_acquire_fence_serves_all_earlier_loads() {
    check(
        "t1 write 0x10 4
         t1 store 0x100 4 release
         t3 write 0x20 4
         t3 store 0x108 4 release
         t2 load 0x100 4 relaxed
         t2 load 0x108 4 relaxed
         t2 fence acquire
         t2 read 0x10 4
         t2 read 0x20 4",
        "",
    );
}

#[test]
fn the_fence_of_another_strand_does_not_help() {
    message(
        "t3 fence release\n t1 store 0x100 4 relaxed\n t2 load 0x100 4 acquire",
        RACE,
    );
    message(
        "t1 store 0x100 4 release\n t2 load 0x100 4 relaxed\n t3 fence acquire",
        RACE,
    );
}

#[test]
fn the_hypothetical_release_sequence_goes_on_through_read_modify_writes() {
    message(
        "t1 fence release\n t1 store 0x100 4 relaxed\n t3 rmw 0x100 4 relaxed\n t2 load 0x100 4 relaxed\n t2 fence acquire",
        "",
    );
}

#[test]
fn a_relaxed_store_of_another_strand_ends_the_hypothetical_sequence() {
    message(
        "t1 fence release\n t1 store 0x100 4 relaxed\n t3 store 0x100 4 relaxed\n t2 load 0x100 4 relaxed\n t2 fence acquire",
        RACE,
    );
}

#[test]
fn a_relaxed_store_of_the_fenced_strand_heads_a_sequence_of_its_own() {
    message(
        "t1 fence release\n t1 store 0x100 4 release\n t1 store 0x100 4 relaxed\n t2 load 0x100 4 acquire",
        "",
    );
}

#[test]
fn a_load_that_read_before_the_message_gives_the_fence_nothing() {
    check(
        "t1 write 0x10 4 @1
         t2 load 0x100 4 relaxed
         t1 store 0x100 4 release
         t2 fence acquire
         t2 read 0x10 4 @2",
        RACE,
    );
}

#[test]
fn the_load_itself_is_not_after_what_its_fence_learns() {
    check(
        "t1 write 0x100 4 @1
         t1 store 0x100 4 release
         t2 load 0x100 4 relaxed @2
         t2 fence acquire
         t2 read 0x100 4",
        "@1 @2 0x100 4",
    );
}

#[test]
fn an_acquire_release_fence_passes_on_what_it_learned() {
    for (fence, expected) in [
        ("acq_rel", ""),
        ("seq_cst", ""),
        ("release", RACE),
        ("acquire", RACE),
    ] {
        message(
            &format!(
                "t1 store 0x100 4 release
                 t3 load 0x100 4 relaxed
                 t3 fence {fence}
                 t3 store 0x108 4 relaxed
                 t2 load 0x108 4 acquire"
            ),
            expected,
        );
    }
}

#[test]
fn a_release_before_an_acquire_fence_does_not_pass_it_on() {
    message(
        "t1 store 0x100 4 release
         t3 load 0x100 4 relaxed
         t3 fence release
         t3 fence acquire
         t3 store 0x108 4 relaxed
         t2 load 0x108 4 acquire",
        RACE,
    );
}

#[test]
fn dekker_with_seq_cst_fences_orders_nothing_by_itself() {
    check(
        "t1 store 0x100 4 relaxed
         t1 fence seq_cst
         t1 load 0x108 4 relaxed
         t1 write 0x10 4 @1
         t2 store 0x108 4 relaxed
         t2 fence seq_cst
         t2 load 0x100 4 relaxed
         t2 write 0x10 4 @2",
        RACE,
    );
}

#[test]
fn the_drop_of_a_reference_count_by_release_and_a_fence() {
    check(
        "t0 alloc 0x200 16
         t1 write 0x208 4
         t1 rmw 0x200 4 release
         t2 rmw 0x200 4 release
         t2 fence acquire
         t2 write 0x208 4",
        "",
    );
}
