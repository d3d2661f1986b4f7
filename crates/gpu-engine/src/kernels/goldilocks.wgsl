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

const NO: u32 = 0u;
const YES: u32 = 1u;
const MAYBE: u32 = 2u;

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

@compute @workgroup_size(128)
fn check_goldilocks(@builtin(global_invocation_id) id: vec3<u32>) {
    let me = id.x;
    if me >= pieces() { return; }
    var mine = piece(me, DID);
    if (mine & FRESH) != 0u { return; }
    let cell = piece(me, TOUCHED);
    let base = touched(cell, 0u) * CELL;
    if (state[base] & HANDED) != 0u { return; }
    let my_run = piece(me, RUN);
    var steps = 0u;
    var at = piece(me, PREVIOUS);
    while at != NONE {
        let old = piece(at, DID);
        if (old & FRESH) != 0u {
            mine &= ~(old & MASK);
            if (mine & MASK) == 0u { return; }
        } else {
            let old_run = piece(at, RUN);
            let own = run(old_run, HOLDER) == run(my_run, HOLDER);
            if own || conflict(old, mine) {
                let known = known_run(old_run, my_run);
                if known == NO {
                    suspect(cell, CERTAIN);
                    return;
                }
                if known == MAYBE {
                    suspect(cell, UNSURE);
                    return;
                }
                if includes(old, mine) { return; }
            }
        }
        steps++;
        if steps > walk_limit() {
            suspect(cell, LONG);
            return;
        }
        at = piece(at, PREVIOUS);
    }
    let count = state[base];
    for (var i = 0u; i < count; i++) {
        let old = state[base + 1u + i * 3u];
        if conflict(old, mine) {
            let known = known_before(old >> 16u, state[base + 2u + i * 3u], my_run);
            if known == NO {
                suspect(cell, CERTAIN);
                return;
            }
            if known == MAYBE {
                suspect(cell, UNSURE);
                return;
            }
        }
    }
}
