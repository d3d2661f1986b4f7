// Eraser: one thread for each access, with the candidate locks of its bytes in Bloom filters of 128 bits.
//
// The state of a cell is up to two groups of bytes that had the same past: (mask | state << 8 | count << 12, five sets of locks,
// last strand, time, site, other strand, time, site). The candidates of a group are the locks in all its sets; a set that
// was met before changes nothing, so few are needed. Sets are numbers; `sets` has two filters for each: `sure`, where only
// locks with a bit of their own are, and `may`, where all are. If the meet of the `sure` filters has a bit, that lock guards
// the bytes: no alarm. If the meet of the `may` filters is empty, no lock does. Between the two the CPU is asked.

const VIRGIN: u32 = 0u;
const EXCLUSIVE: u32 = 1u;
const SHARED: u32 = 2u;
const MODIFIED: u32 = 3u;

const GROUP: u32 = 12u;
const GUARDS: u32 = 5u;

// The set that guards a piece: of its run, by whether it writes and is plain.
fn guard(at: u32) -> u32 {
    let did = piece(at, DID);
    var which = 0u;
    if (did & WRITE) != 0u { which = 1u; }
    if (did & PLAIN) == 0u { which += 2u; }
    return run(piece(at, RUN), SETS + which);
}

fn sure_filter(lockset: u32) -> vec4<u32> {
    let at = lockset * 8u;
    return vec4<u32>(sets[at], sets[at + 1u], sets[at + 2u], sets[at + 3u]);
}

fn may_filter(lockset: u32) -> vec4<u32> {
    let at = lockset * 8u + 4u;
    return vec4<u32>(sets[at], sets[at + 1u], sets[at + 2u], sets[at + 3u]);
}

// The state after an access: one line of the table in deadheat_detect::eraser.
fn then(before: u32, same: bool, writes: bool) -> u32 {
    if before == VIRGIN || (before == EXCLUSIVE && same) { return EXCLUSIVE; }
    if writes || before == MODIFIED { return MODIFIED; }
    return SHARED;
}

@compute @workgroup_size(128)
fn check_eraser(@builtin(global_invocation_id) id: vec3<u32>) {
    let me = id.x;
    if me >= pieces() { return; }
    let did = piece(me, DID);
    if (did & FRESH) != 0u { return; }
    let cell = piece(me, TOUCHED);
    let base = touched(cell, 0u) * CELL;
    let header = state[base];
    if (header & HANDED) != 0u { return; }
    let before_me = piece(me, PREVIOUS);
    // The same again changes nothing.
    if before_me != NONE && piece(before_me, RUN) == piece(me, RUN)
        && (piece(before_me, DID) & FRESH) == 0u
        && ((piece(before_me, DID) ^ did) & (PLAIN | WRITE)) == 0u && includes(piece(before_me, DID), did) {
        return;
    }
    var todo = did & MASK;
    while todo != 0u {
        // The bytes that had the same past as the lowest one are judged with it.
        let byte = 1u << countTrailingZeros(todo);
        var alike = todo;
        var now = VIRGIN;
        var last = 0u;
        var sure = vec4<u32>(NONE);
        var may = vec4<u32>(NONE);
        for (var group = 0u; group < header; group++) {
            let at = base + 1u + group * GROUP;
            let first = state[at];
            if (first & byte) == 0u {
                alike &= ~(first & MASK);
                continue;
            }
            alike &= first & MASK;
            now = (first >> 8u) & 3u;
            last = state[at + 1u + GUARDS];
            for (var i = 0u; i < (first >> 12u); i++) {
                sure &= sure_filter(state[at + 1u + i]);
                may &= may_filter(state[at + 1u + i]);
            }
        }
        var at = touched(cell, 1u);
        var steps = 0u;
        loop {
            let other = piece(at, DID);
            if (other & byte) == 0u {
                alike &= ~(other & MASK);
            } else {
                alike &= other & MASK;
                if (other & FRESH) != 0u {
                    now = VIRGIN;
                } else {
                    let strand = run(piece(at, RUN), STRAND);
                    let next = then(now, strand == last, (other & WRITE) != 0u);
                    if next >= SHARED {
                        if now == EXCLUSIVE {
                            sure = vec4<u32>(NONE);
                            may = vec4<u32>(NONE);
                        }
                        sure &= sure_filter(guard(at));
                        may &= may_filter(guard(at));
                    }
                    now = next;
                    last = strand;
                }
            }
            if at == me { break; }
            steps++;
            if steps > walk_limit() {
                suspect(cell, LONG);
                return;
            }
            at = piece(at, NEXT);
        }
        if now == MODIFIED && !any(sure != vec4<u32>(0u)) {
            suspect(cell, select(CERTAIN, UNSURE, any(may != vec4<u32>(0u))));
            return;
        }
        todo &= ~alike;
    }
}

// The groups of the cell being folded, at most one for each byte.
var<private> groups: array<array<u32, 12>, 9>;

fn same_past(a: u32, b: u32) -> bool {
    if ((groups[a][0] ^ groups[b][0]) & ~MASK) != 0u { return false; }
    for (var i = 0u; i < (groups[a][0] >> 12u); i++) {
        if groups[a][1u + i] != groups[b][1u + i] { return false; }
    }
    return groups[a][6] == groups[b][6] && groups[a][9] == groups[b][9];
}

// One line of the table for a group. False if its sets are too many.
fn touch(group: u32, by: u32, writes: bool, lockset: u32, site: u32) -> bool {
    let strand = run(by, STRAND);
    let header = groups[group][0];
    let before = (header >> 8u) & 3u;
    let same = groups[group][6] == strand;
    let next = then(before, same, writes);
    if next == EXCLUSIVE {
        groups[group][7] = run(by, TIME);
        groups[group][8] = site;
        return true;
    }
    var count = header >> 12u;
    if before == EXCLUSIVE { count = 0u; }
    var met = false;
    for (var i = 0u; i < count; i++) {
        if groups[group][1u + i] == lockset { met = true; }
    }
    if !met {
        if count == GUARDS { return false; }
        groups[group][1u + count] = lockset;
        count++;
    }
    groups[group][0] = (header & MASK) | (next << 8u) | (count << 12u);
    if !same {
        groups[group][9] = groups[group][6];
        groups[group][10] = groups[group][7];
        groups[group][11] = groups[group][8];
    }
    groups[group][6] = strand;
    groups[group][7] = run(by, TIME);
    groups[group][8] = site;
    return true;
}

@compute @workgroup_size(128)
fn fold_groups(@builtin(global_invocation_id) id: vec3<u32>) {
    let me = id.x;
    if me >= touched_cells() { return; }
    if hand_over(me, 0u) { return; }
    let base = touched(me, 0u) * CELL;
    var count = state[base];
    for (var group = 0u; group < count; group++) {
        for (var i = 0u; i < GROUP; i++) {
            groups[group][i] = state[base + 1u + group * GROUP + i];
        }
    }
    var steps = 0u;
    var at = touched(me, 1u);
    while at != NONE {
        let did = piece(at, DID);
        let mask = did & MASK;
        if (did & FRESH) != 0u {
            var kept = 0u;
            for (var group = 0u; group < count; group++) {
                groups[kept] = groups[group];
                groups[kept][0] &= ~mask;
                if (groups[kept][0] & MASK) != 0u { kept++; }
            }
            count = kept;
        } else {
            let by = piece(at, RUN);
            let lockset = guard(at);
            let site = piece(at, SITE);
            let writes = (did & WRITE) != 0u;
            var virgin = mask;
            let were = count;
            for (var group = 0u; group < were; group++) {
                let both = groups[group][0] & mask;
                if both == 0u { continue; }
                virgin &= ~both;
                if both != (groups[group][0] & MASK) {
                    // Bytes that are not touched stay behind in a group of their own.
                    groups[count] = groups[group];
                    groups[count][0] &= ~both;
                    groups[group][0] &= ~MASK | both;
                    count++;
                }
                if !touch(group, by, writes, lockset, site) {
                    hand_over(me, FULL);
                    return;
                }
            }
            if virgin != 0u {
                groups[count][0] = virgin | (EXCLUSIVE << 8u);
                groups[count][6] = run(by, STRAND);
                groups[count][7] = run(by, TIME);
                groups[count][8] = site;
                groups[count][9] = groups[count][6];
                groups[count][10] = groups[count][7];
                groups[count][11] = site;
                count++;
            }
            // Groups with the same past become one again.
            var place = 1u;
            while place < count {
                var older = NONE;
                for (var i = 0u; i < place; i++) {
                    if older == NONE && same_past(i, place) { older = i; }
                }
                if older != NONE {
                    groups[older][0] |= groups[place][0] & MASK;
                    count--;
                    groups[place] = groups[count];
                } else {
                    place++;
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
    if count > 2u {
        hand_over(me, FULL);
        return;
    }
    state[base] = count;
    for (var group = 0u; group < count; group++) {
        for (var i = 0u; i < GROUP; i++) {
            state[base + 1u + group * GROUP + i] = groups[group][i];
        }
    }
}

// One thread for each cell of all pages: says which pages have something, and marks what that is.
@compute @workgroup_size(128)
fn sweep(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) wide: vec3<u32>) {
    let cell = id.y * wide.x * 128u + id.x;
    if cell >= input[14] { return; }
    let base = cell * CELL;
    let count = state[base];
    if count == 0u { return; }
    atomicOr(&live[cell / 512u], 1u);
    if (count & HANDED) != 0u { return; }
    for (var group = 0u; group < count; group++) {
        let at = base + 1u + group * GROUP;
        for (var i = 0u; i < (state[at] >> 12u); i++) { mark_set(state[at + 1u + i]); }
        mark_site(state[at + 8u]);
        mark_site(state[at + 11u]);
    }
}
