//! Plain accesses: kinds, bytes, cells.

use crate::check;

#[test]
fn write_and_write() {
    check("t1 write 0x10 4 @1\n t2 write 0x10 4 @2", "@1 @2 0x10 4");
}

#[test]
fn write_and_read() {
    check("t1 write 0x10 4 @1\n t2 read 0x10 4 @2", "@1 @2 0x10 4");
}

#[test]
fn read_and_write() {
    check("t1 read 0x10 4 @1\n t2 write 0x10 4 @2", "@1 @2 0x10 4");
}

#[test]
fn reads_never_race() {
    check("t1 read 0x10 4\n t2 read 0x10 4\n t0 read 0x10 8", "");
}

#[test]
fn a_strand_never_races_with_itself() {
    check("t1 write 0x10 4\n t1 read 0x10 4\n t1 write 0x12 4", "");
}

#[test]
fn neighbouring_bytes_of_a_cell_are_no_race() {
    check(
        "t1 write 0x10 1\n t2 write 0x11 1\n t0 write 0x12 2\n t1 read 0x14 4",
        "",
    );
}

#[test]
fn only_the_common_bytes_race() {
    check("t1 write 0x10 4 @1\n t2 write 0x12 4 @2", "@1 @2 0x12 2");
}

#[test]
fn one_byte_of_many() {
    check("t1 write 0x10 8 @1\n t2 read 0x17 1 @2", "@1 @2 0x17 1");
}

#[test]
fn across_the_border_of_cells() {
    check(
        "t1 write 0x16 4 @1\n t2 write 0x10 7 @2\n t0 read 0x18 8 @3",
        "@1 @2 0x16 1\n @1 @3 0x18 2",
    );
}

#[test]
fn a_range_over_many_cells_is_one_race() {
    check(
        "t1 write 0x1003 64 @1\n t2 read 0x1001 80 @2",
        "@1 @2 0x1003 64",
    );
}

#[test]
fn a_third_access_races_with_both() {
    check(
        "t1 write 0x10 4 @1
         t2 write 0x10 4 @2
         t0 write 0x10 4 @3",
        "@1 @2 0x10 4
         @1 @3 0x10 4
         @2 @3 0x10 4",
    );
}

#[test]
fn a_write_races_with_each_of_several_readers() {
    check(
        "t1 read 0x10 4 @1
         t2 read 0x10 4 @2
         t0 write 0x10 4 @3",
        "@1 @3 0x10 4
         @2 @3 0x10 4",
    );
}

#[test]
fn the_read_of_a_read_write_pair_is_not_hidden_by_its_write() {
    check(
        "t1 read 0x10 8 @1
         t1 write 0x10 4 @2
         t2 write 0x14 4 @3",
        "@1 @3 0x14 4",
    );
}

#[test]
fn a_smaller_write_does_not_hide_a_larger_one() {
    check(
        "t1 write 0x10 8 @1
         t1 write 0x10 2 @2
         t2 read 0x10 8 @3",
        "@1 @3 0x10 8
         @2 @3 0x10 2",
    );
}

#[test]
fn no_access_is_ever_evicted() {
    check(
        "t1 read 0x10 1 @1
         t2 read 0x10 1
         t3 read 0x10 1
         t4 read 0x10 1
         t5 read 0x10 1
         t6 read 0x10 1
         t2 release ch1
         t3 release ch1
         t4 release ch1
         t5 release ch1
         t6 release ch1
         t0 acquire ch1
         t0 write 0x10 1 @2",
        "@1 @2 0x10 1",
    );
}

#[test]
fn two_races_on_two_variables() {
    check(
        "t1 write 0x10 4 @1
         t1 write 0x20 4 @2
         t2 read 0x20 4 @3
         t2 read 0x10 4 @4",
        "@1 @4 0x10 4
         @2 @3 0x20 4",
    );
}

#[test]
fn the_last_bytes_of_memory() {
    check(
        "t1 write 0xfffffffffffffff8 7 @1
         t2 write 0xfffffffffffffffe 1 @2",
        "@1 @2 0xfffffffffffffffe 1",
    );
}

#[test]
fn a_race_before_does_not_hide_the_next() {
    check(
        "t1 write 0x10 4 @1
         t2 write 0x10 4 @2
         t2 release ch1
         t3 acquire ch1
         t3 read 0x10 4 @3",
        "@1 @2 0x10 4
         @1 @3 0x10 4",
    );
}
