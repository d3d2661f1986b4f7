//! Fork and join, barriers, channels.

use crate::check;

#[test]
fn fork_orders_what_was_before() {
    check(
        "t0 begin\n t0 write 0x10 4\n t0 fork t1\n t1 begin\n t1 write 0x10 4",
        "",
    );
}

#[test]
fn fork_does_not_order_what_comes_after() {
    check(
        "t0 begin
         t0 fork t1
         t0 write 0x10 4 @1
         t1 begin
         t1 write 0x10 4 @2",
        "@1 @2 0x10 4",
    );
}

#[test]
fn join_orders_all_the_child_did() {
    check(
        "t1 write 0x10 4\n t1 end\n t0 join t1\n t0 write 0x10 4",
        "",
    );
}

#[test]
fn an_end_without_join_orders_nothing() {
    check(
        "t1 write 0x10 4 @1\n t1 end\n t0 write 0x10 4 @2",
        "@1 @2 0x10 4",
    );
}

#[test]
fn join_tells_only_who_joins() {
    check(
        "t1 write 0x10 4 @1\n t1 end\n t0 join t1\n t2 read 0x10 4 @2",
        "@1 @2 0x10 4",
    );
}

#[test]
fn order_passes_through_a_grandchild() {
    check(
        "t0 begin
         t0 write 0x10 4
         t0 fork t1
         t1 begin
         t1 fork t2
         t2 begin
         t2 write 0x10 4
         t2 end
         t1 join t2
         t1 end
         t0 join t1
         t0 write 0x10 4",
        "",
    );
}

#[test]
fn siblings_race() {
    check(
        "t0 begin
         t0 fork t1
         t0 fork t2
         t1 begin
         t1 write 0x10 4 @1
         t1 end
         t2 begin
         t2 write 0x10 4 @2
         t2 end
         t0 join t1
         t0 join t2
         t0 read 0x10 4",
        "@1 @2 0x10 4",
    );
}

#[test]
fn a_strand_forked_after_a_join_is_ordered() {
    check(
        "t0 begin
         t0 fork t1
         t1 begin
         t1 write 0x10 4
         t1 end
         t0 join t1
         t0 fork t2
         t2 begin
         t2 write 0x10 4",
        "",
    );
}

#[test]
fn a_barrier_orders_all_before_it_with_all_after() {
    check(
        "t1 write 0x10 4
         t2 write 0x20 4
         t1 arrive b1.0
         t2 arrive b1.0
         t1 leave b1.0
         t2 leave b1.0
         t1 read 0x20 4
         t2 read 0x10 4",
        "",
    );
}

#[test]
fn after_a_barrier_strands_are_concurrent_again() {
    check(
        "t1 arrive b1.0
         t2 arrive b1.0
         t1 leave b1.0
         t1 write 0x10 4 @1
         t2 leave b1.0
         t2 write 0x10 4 @2",
        "@1 @2 0x10 4",
    );
}

#[test]
fn a_late_leaver_does_not_learn_of_the_next_round() {
    check(
        "t1 arrive b1.0
         t2 arrive b1.0
         t1 leave b1.0
         t1 write 0x10 4 @1
         t1 arrive b1.1
         t2 leave b1.0
         t2 read 0x10 4 @2",
        "@1 @2 0x10 4",
    );
}

#[test]
fn what_is_done_between_arriving_and_leaving_is_not_told() {
    check(
        "t1 arrive b1.0
         t1 write 0x10 4 @1
         t2 arrive b1.0
         t2 leave b1.0
         t2 read 0x10 4 @2",
        "@1 @2 0x10 4",
    );
}

#[test]
fn other_barriers_do_not_matter() {
    check(
        "t1 write 0x10 4 @1
         t1 arrive b1.0
         t2 arrive b2.0
         t2 leave b2.0
         t2 read 0x10 4 @2",
        "@1 @2 0x10 4",
    );
}

#[test]
fn a_latch_orders_those_who_count_down_before_those_who_wait() {
    check(
        "t1 write 0x10 4\n t1 arrive b1.0\n t2 leave b1.0\n t2 read 0x10 4\n t1 read 0x10 4",
        "",
    );
}

#[test]
fn a_post_orders_before_the_wait() {
    check(
        "t1 write 0x10 4\n t1 release ch1\n t2 acquire ch1\n t2 write 0x10 4",
        "",
    );
}

#[test]
fn a_wait_before_the_post_learns_nothing() {
    check(
        "t1 write 0x10 4 @1\n t2 acquire ch1\n t1 release ch1\n t2 write 0x10 4 @2",
        "@1 @2 0x10 4",
    );
}

#[test]
fn posts_add_up() {
    check(
        "t1 write 0x10 4
         t1 release ch1
         t2 write 0x20 4
         t2 release ch1
         t0 acquire ch1
         t0 write 0x10 4
         t0 write 0x20 4",
        "",
    );
}

#[test]
fn a_post_does_not_tell_the_poster_of_others() {
    check(
        "t1 write 0x10 4 @1
         t1 release ch1
         t2 release ch1
         t2 read 0x10 4 @2",
        "@1 @2 0x10 4",
    );
}

#[test]
fn what_follows_a_post_is_not_told() {
    check(
        "t1 release ch1\n t1 write 0x10 4 @1\n t2 acquire ch1\n t2 read 0x10 4 @2",
        "@1 @2 0x10 4",
    );
}

#[test]
fn strands_may_have_any_number() {
    check(
        "t0 begin
         t0 fork t4294967295
         t4294967295 begin
         t4294967295 write 0x10 4 @1
         t0 write 0x10 4 @2",
        "@1 @2 0x10 4",
    );
}
