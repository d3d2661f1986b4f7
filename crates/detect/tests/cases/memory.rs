//! The life of memory: free is a write, alloc forgets.

use crate::check;

#[test]
fn memory_freed_by_one_and_reused_by_another_is_no_race() {
    check(
        "t1 alloc 0x100 16
         t1 write 0x100 16
         t1 free 0x100 16
         t2 alloc 0x100 16
         t2 write 0x100 16",
        "",
    );
}

#[test]
fn a_use_races_with_a_later_free() {
    check(
        "t0 alloc 0x100 16
         t1 read 0x104 4 @1
         t2 free 0x100 16 @2",
        "@1 @2 0x104 4",
    );
}

#[test]
fn a_use_races_with_an_earlier_free() {
    check(
        "t0 alloc 0x100 16
         t2 free 0x100 16 @1
         t1 read 0x104 4 @2",
        "@1 @2 0x104 4",
    );
}

#[test]
fn an_ordered_free_is_no_race() {
    check(
        "t1 alloc 0x100 16\n t1 write 0x100 4\n t1 release ch1\n t2 acquire ch1\n t2 free 0x100 16",
        "",
    );
}

#[test]
fn two_accesses_in_the_new_block_race() {
    check(
        "t1 alloc 0x100 16
         t1 write 0x100 4
         t1 free 0x100 16
         t2 alloc 0x100 16
         t2 write 0x100 4 @1
         t1 write 0x100 4 @2",
        "@1 @2 0x100 4",
    );
}

#[test]
fn only_the_allocated_bytes_are_fresh() {
    check(
        "t1 write 0xfc 12 @1
         t1 alloc 0x100 4
         t2 write 0xfc 12 @2",
        "@1 @2 0x104 4
         @1 @2 0xfc 4",
    );
}

#[test]
fn the_free_is_forgotten_with_the_rest() {
    check(
        "t1 alloc 0x100 8\n t1 free 0x100 8\n t1 alloc 0x100 8\n t2 read 0x100 8",
        "",
    );
}

#[test]
fn a_free_is_a_write_of_the_whole_block() {
    check(
        "t0 alloc 0x100 20
         t1 free 0x100 20 @1
         t2 write 0x100 20 @2",
        "@1 @2 0x100 20",
    );
}

#[test]
fn allocating_orders_nothing_else() {
    check(
        "t1 write 0x10 4 @1
         t1 alloc 0x100 8
         t1 free 0x100 8
         t2 alloc 0x100 8
         t2 read 0x10 4 @2",
        "@1 @2 0x10 4",
    );
}

#[test]
fn an_atomic_in_new_memory_has_no_message_yet() {
    check(
        "t1 alloc 0x100 8
         t1 write 0x10 4 @1
         t1 store 0x100 4 release
         t1 free 0x100 8
         t2 alloc 0x100 8
         t2 load 0x100 4 acquire
         t2 read 0x10 4 @2",
        "@1 @2 0x10 4",
    );
}

#[test]
fn an_atomic_races_with_the_free() {
    check(
        "t0 alloc 0x100 8
         t1 rmw 0x100 4 relaxed @1
         t2 free 0x100 8 @2",
        "@1 @2 0x100 4",
    );
}

#[test]
fn a_reference_count_orders_all_uses_before_the_free() {
    check(
        "t0 alloc 0x100 16
         t0 store 0x100 4 relaxed
         t0 release ch1
         t1 acquire ch1
         t2 acquire ch1
         t1 read 0x108 8
         t2 read 0x108 8
         t1 rmw 0x100 4 release
         t2 rmw 0x100 4 release
         t2 fence acquire
         t2 free 0x100 16",
        "",
    );
}

#[test]
fn a_relaxed_reference_count_does_not() {
    check(
        "t0 alloc 0x100 16
         t1 read 0x108 8 @1
         t1 rmw 0x100 4 relaxed @2
         t2 rmw 0x100 4 acq_rel
         t2 free 0x100 16 @3",
        "@1 @3 0x108 8
         @2 @3 0x100 4",
    );
}
