// Goldilocks: one thread for each access, with the lockset of the older access in Bloom filters of 256 bits.
//
// The lockset begins as {who made the older access} and follows the transfers up to the newer one; if the strand of the newer
// access is in it then, the two are ordered. Of an access from an earlier batch it begins as those who knew it when this batch
// began, by their clocks: nothing is lost between batches.
//
// Two filters enclose the set. `may` has every member, and perhaps others that share their bits: who is not in it is surely
// not in the set. `sure` has only members with a bit of their own, and only if they got in through such: who is in it
// surely is in the set. Between the two nobody knows, and the CPU is asked. So no filter hides a race or makes one.

const FILTER: u32 = 8u;
const BITS: u32 = 256u;

const LEARN: u32 = 0u;
const REPLACE: u32 = 1u;

var<private> sure: array<u32, 8>;
var<private> may: array<u32, 8>;

fn holders() -> u32 { return input[8]; }
fn transfer(at: u32, field: u32) -> u32 { return input[input[6] + at * 3u + field]; }

// What a holder knew of `slot` when the batch began.
fn began_with(holder: u32, slot: u32) -> u32 {
    let table = input[7] + holder * 2u;
    if slot < input[table + 1u] {
        return input[input[9] + input[table] + slot];
    }
    return 0u;
}

fn nobody() {
    for (var i = 0u; i < FILTER; i++) {
        sure[i] = 0u;
        may[i] = 0u;
    }
}

fn bit(holder: u32) -> u32 { return 1u << (holder % 32u); }
fn word(holder: u32) -> u32 { return (holder % BITS) / 32u; }
fn surely(holder: u32) -> bool { return holder < BITS && (sure[word(holder)] & bit(holder)) != 0u; }
fn perhaps(holder: u32) -> bool { return (may[word(holder)] & bit(holder)) != 0u; }

fn enter_sure(holder: u32) {
    if holder < BITS { sure[word(holder)] |= bit(holder); }
}

fn enter(holder: u32) {
    enter_sure(holder);
    may[word(holder)] |= bit(holder);
}

// The set with `holder` in it exactly if another was.
fn decide(holder: u32, is_sure: bool, is_perhaps: bool) {
    if holder < BITS && !is_sure { sure[word(holder)] &= ~bit(holder); }
    if is_sure { enter_sure(holder); }
    if is_perhaps {
        may[word(holder)] |= bit(holder);
    } else if holders() <= BITS {
        // Nobody shares the bit.
        may[word(holder)] &= ~bit(holder);
    }
}

// Whether `me` is in the set after the transfers in from..to.
fn follow(start: u32, end: u32, me: u32) -> u32 {
    if surely(me) { return YES; }
    if end - start > walk_limit() * 16u { return MAYBE; }
    for (var at = start; at < end; at++) {
        let kind = transfer(at, 0u);
        let source = transfer(at, 1u);
        let into = transfer(at, 2u);
        if kind == LEARN {
            if perhaps(source) {
                may[word(into)] |= bit(into);
                if surely(source) {
                    enter_sure(into);
                    // A strand never leaves a lockset.
                    if into == me && surely(me) { return YES; }
                }
            }
        } else if kind == REPLACE {
            decide(into, surely(source), perhaps(source));
        } else {
            decide(into, false, false);
        }
    }
    if perhaps(me) { return MAYBE; }
    return NO;
}

// To follow a lockset is dear, so an access that conflicts with nothing is asked for only if its strand is the same.
fn easily_known(old_run: u32, my_run: u32) -> bool {
    return run(old_run, HOLDER) == run(my_run, HOLDER);
}

// Did the accesses of `old_run` happen before `my_run`?
fn known_run(old_run: u32, my_run: u32) -> u32 {
    let me = run(my_run, HOLDER);
    if run(old_run, HOLDER) == me { return YES; }
    nobody();
    enter(run(old_run, HOLDER));
    return follow(run(old_run, TRANSFERS), run(my_run, TRANSFERS), me);
}

// The same for an access from before this batch.
fn known_before(slot: u32, time: u32, my_run: u32) -> u32 {
    let me = run(my_run, HOLDER);
    if began_with(me, slot) >= time { return YES; }
    nobody();
    for (var holder = 0u; holder < holders(); holder++) {
        if began_with(holder, slot) >= time { enter(holder); }
    }
    return follow(0u, run(my_run, TRANSFERS), me);
}
