// FastTrack and DJIT+: what a run knows is a clock.

// It costs nothing to ask, even for an access that conflicts with nothing.
fn easily_known(old_run: u32, my_run: u32) -> bool {
    return true;
}

// Did the accesses of `old_run` happen before `my_run`?
fn known_run(old_run: u32, my_run: u32) -> u32 {
    return known_before(run(old_run, SLOT), run(old_run, TIME), my_run);
}

// The same for an access from before this batch.
fn known_before(slot: u32, time: u32, my_run: u32) -> u32 {
    return select(NO, YES, time <= clock(my_run, slot));
}
