// Remembered accesses of a cell: the state of FastTrack and Goldilocks. A record is (slot << 16 | what, time, site).
//
// `check_entries`: one thread for each access. It goes back through the earlier accesses of its cell, those of this batch
// and then those that were carried over, and asks the detector's own `known_run` and `known_before` whether they happened
// before. It may stop at one that did and that includes it: whatever raced with the thread's access races with that one,
// whose thread tells.
//
// `fold_entries`: one thread for each touched cell. It carries over what a later access could race with, by the same law as
// on the CPU (entry::subsumes), or hands the cell to the CPU.

const ENTRIES: u32 = 8u;

// What a detector answers.
const NO: u32 = 0u;
const YES: u32 = 1u;
const MAYBE: u32 = 2u;

// Whether an unordered access was met, so that the CPU must look at the cell.
fn suspicious(known: u32, conflicts: bool, cell: u32) -> bool {
    if known == NO && conflicts {
        suspect(cell, CERTAIN);
        return true;
    }
    if known == MAYBE {
        suspect(cell, UNSURE);
        return true;
    }
    return false;
}

@compute @workgroup_size(128)
fn check_entries(@builtin(global_invocation_id) id: vec3<u32>) {
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
            let conflicts = conflict(old, mine);
            if conflicts || easily_known(old_run, my_run) {
                let known = known_run(old_run, my_run);
                if suspicious(known, conflicts, cell) { return; }
                if known == YES && includes(old, mine) { return; }
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
            if suspicious(known, true, cell) { return; }
        }
    }
}

@compute @workgroup_size(128)
fn fold_entries(@builtin(global_invocation_id) id: vec3<u32>) {
    let me = id.x;
    if me >= touched_cells() { return; }
    if hand_over(me, 0u) { return; }
    let base = touched(me, 0u) * CELL;
    var count = state[base];
    var what: array<u32, 8>;
    var time: array<u32, 8>;
    var site: array<u32, 8>;
    for (var i = 0u; i < count; i++) {
        what[i] = state[base + 1u + i * 3u];
        time[i] = state[base + 2u + i * 3u];
        site[i] = state[base + 3u + i * 3u];
    }
    var steps = 0u;
    var at = touched(me, 1u);
    while at != NONE {
        let did = piece(at, DID);
        var kept = 0u;
        if (did & FRESH) != 0u {
            for (var i = 0u; i < count; i++) {
                let left = what[i] & ~(did & MASK);
                if (left & MASK) != 0u {
                    what[kept] = left;
                    time[kept] = time[i];
                    site[kept] = site[i];
                    kept++;
                }
            }
            count = kept;
        } else {
            let by = piece(at, RUN);
            let now = run(by, TIME);
            let here = piece(at, SITE);
            let new_what = (run(by, SLOT) << 16u) | (did & WHAT);
            var same_step = false;
            for (var i = 0u; i < count; i++) {
                let same = (what[i] >> 16u) == (new_what >> 16u) && time[i] == now;
                if same && includes(what[i], new_what) { same_step = true; }
            }
            if !same_step {
                var merged = false;
                for (var i = 0u; i < count; i++) {
                    var old = what[i];
                    let known = time[i] <= clock(by, old >> 16u);
                    if known && includes(new_what, old) { continue; }
                    let alike = ((old ^ new_what) & ~MASK) == 0u && time[i] == now && site[i] == here;
                    if alike && !merged {
                        old |= new_what;
                        merged = true;
                    }
                    what[kept] = old;
                    time[kept] = time[i];
                    site[kept] = site[i];
                    kept++;
                }
                count = kept;
                if !merged {
                    if count == ENTRIES {
                        hand_over(me, FULL);
                        return;
                    }
                    what[count] = new_what;
                    time[count] = now;
                    site[count] = here;
                    count++;
                }
            }
        }
        steps++;
        if steps > walk_limit() * 4u {
            hand_over(me, LONG);
            return;
        }
        at = piece(at, NEXT);
    }
    state[base] = count;
    for (var i = 0u; i < count; i++) {
        state[base + 1u + i * 3u] = what[i];
        state[base + 2u + i * 3u] = time[i];
        state[base + 3u + i * 3u] = site[i];
    }
}

// One thread for each cell of all pages: drops what every strand that is left knows, says which pages have more, and marks what
// is left.
@compute @workgroup_size(128)
fn sweep(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let cell = id.y * groups.x * 128u + id.x;
    if cell >= input[14] { return; }
    let base = cell * CELL;
    let before = state[base];
    if (before & HANDED) != 0u {
        atomicOr(&live[cell / 512u], 1u);
        return;
    }
    var kept = 0u;
    for (var i = 0u; i < before; i++) {
        let what = state[base + 1u + i * 3u];
        let time = state[base + 2u + i * 3u];
        let slot = what >> 16u;
        if slot < input[13] && time <= input[input[12] + slot] { continue; }
        state[base + 1u + kept * 3u] = what;
        state[base + 2u + kept * 3u] = time;
        let site = state[base + 3u + i * 3u];
        state[base + 3u + kept * 3u] = site;
        mark_site(site);
        kept++;
    }
    state[base] = kept;
    if kept > 0u { atomicOr(&live[cell / 512u], 1u); }
}
