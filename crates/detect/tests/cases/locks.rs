//! Mutexes, read-write locks, condition variables.

use crate::check;

#[test]
fn one_mutex_protects() {
    check(
        "t1 lock m1
         t1 write 0x10 4
         t1 unlock m1
         t2 lock m1
         t2 write 0x10 4
         t2 unlock m1",
        "",
    );
}

#[test]
fn two_mutexes_do_not() {
    check(
        "t1 lock m1
         t1 write 0x10 4 @1
         t1 unlock m1
         t2 lock m2
         t2 write 0x10 4 @2
         t2 unlock m2",
        "@1 @2 0x10 4",
    );
}

#[test]
fn only_one_side_locks() {
    check(
        "t1 lock m1
         t1 write 0x10 4 @1
         t1 unlock m1
         t2 write 0x10 4 @2",
        "@1 @2 0x10 4",
    );
}

#[test]
fn what_was_before_the_section_is_ordered_too() {
    check(
        "t1 write 0x10 4\n t1 lock m1\n t1 unlock m1\n t2 lock m1\n t2 unlock m1\n t2 read 0x10 4",
        "",
    );
}

#[test]
fn what_comes_after_the_section_is_not() {
    check(
        "t1 lock m1
         t1 unlock m1
         t1 write 0x10 4 @1
         t2 lock m1
         t2 read 0x10 4 @2
         t2 unlock m1",
        "@1 @2 0x10 4",
    );
}

#[test]
fn order_passes_through_a_third_strand() {
    check(
        "t1 write 0x10 4
         t1 lock m1
         t1 unlock m1
         t2 lock m1
         t2 unlock m1
         t2 lock m2
         t2 unlock m2
         t0 lock m2
         t0 read 0x10 4
         t0 unlock m2",
        "",
    );
}

#[test]
fn nested_locks_given_back_in_any_order() {
    check(
        "t1 lock m1
         t1 lock m2
         t1 unlock m1
         t1 write 0x10 4
         t1 unlock m2
         t2 lock m2
         t2 write 0x10 4
         t2 unlock m2",
        "",
    );
}

#[test]
fn a_writer_orders_the_next_reader() {
    check(
        "t1 wrlock rw1\n t1 write 0x10 4\n t1 wrunlock rw1\n t2 rdlock rw1\n t2 read 0x10 4\n t2 rdunlock rw1",
        "",
    );
}

#[test]
fn readers_order_the_next_writer() {
    check(
        "t1 rdlock rw1
         t2 rdlock rw1
         t1 read 0x10 4
         t2 read 0x10 4
         t1 rdunlock rw1
         t2 rdunlock rw1
         t0 wrlock rw1
         t0 write 0x10 4
         t0 wrunlock rw1",
        "",
    );
}

#[test]
fn readers_do_not_order_each_other() {
    check(
        "t1 rdlock rw1
         t1 write 0x10 4 @1
         t1 rdunlock rw1
         t2 rdlock rw1
         t2 write 0x10 4 @2
         t2 rdunlock rw1",
        "@1 @2 0x10 4",
    );
}

#[test]
fn readers_order_each_other_through_a_writer() {
    check(
        "t1 rdlock rw1
         t1 write 0x10 4
         t1 rdunlock rw1
         t0 wrlock rw1
         t0 wrunlock rw1
         t2 rdlock rw1
         t2 write 0x10 4
         t2 rdunlock rw1",
        "",
    );
}

#[test]
fn writers_order_each_other() {
    check(
        "t1 wrlock rw1\n t1 write 0x10 4\n t1 wrunlock rw1\n t2 wrlock rw1\n t2 write 0x10 4\n t2 wrunlock rw1",
        "",
    );
}

#[test]
fn a_mutex_and_a_read_write_lock_of_one_number_are_two() {
    check(
        "t1 lock m1
         t1 write 0x10 4 @1
         t1 unlock m1
         t2 wrlock rw1
         t2 write 0x10 4 @2
         t2 wrunlock rw1",
        "@1 @2 0x10 4",
    );
}

#[test]
fn a_wait_gives_the_mutex_back_and_takes_it_again() {
    check(
        "t1 lock m1
         t1 write 0x10 4
         t1 wait c1 m1
         t2 lock m1
         t2 write 0x10 4
         t2 notify c1
         t2 unlock m1
         t1 woken c1 m1
         t1 read 0x10 4
         t1 unlock m1",
        "",
    );
}

#[test]
fn a_notification_alone_orders_nothing() {
    check(
        "t1 lock m1
         t1 wait c1 m1
         t2 write 0x10 4 @1
         t2 notify c1
         t1 woken c1 m1
         t1 read 0x10 4 @2
         t1 unlock m1",
        "@1 @2 0x10 4",
    );
}

#[test]
fn a_write_after_the_unlock_of_the_notifier_races_with_the_woken() {
    check(
        "t1 lock m1
         t1 wait c1 m1
         t2 lock m1
         t2 notify c1
         t2 unlock m1
         t2 write 0x10 4 @1
         t1 woken c1 m1
         t1 write 0x10 4 @2
         t1 unlock m1",
        "@1 @2 0x10 4",
    );
}
