// What all kernels share: the batch's input, the cells' state, and how a cell is handed to the CPU.
//
// `input` is one array; its first words say where its tables begin (see pack.rs):
//   pieces   one for each access to a cell: touched, previous and next piece of the cell, run, what, site
//   touched  one for each cell that the batch touches: cell, first piece, verdict from the outset
//   runs     slot, time, clock (offset, length), holder, transfers before it, strand, four sets of locks
//   clocks   rows of times by slot; transfers; what holders knew when the batch began
// `state` has CELL words for each cell: a word with the count of its records and HANDED, then the records.

const NONE: u32 = 0xffffffffu;

// An access, as in deadheat_detect::entry; FRESH is a piece that clears its bytes.
const MASK: u32 = 0xffu;
const PLAIN: u32 = 0x100u;
const WRITE: u32 = 0x200u;
const WHAT: u32 = 0x3ffu;
const FRESH: u32 = 0x400u;

// Verdicts: why a cell goes to the CPU.
const UNSURE: u32 = 1u;
const CERTAIN: u32 = 2u;
const ASKED: u32 = 4u;
const LONG: u32 = 8u;
const FULL: u32 = 16u;

const CELL: u32 = 25u;
const HANDED: u32 = 0x80000000u;
const RECORD: u32 = 27u;

// Fields of a piece, a touched cell, a run.
const TOUCHED: u32 = 0u;
const PREVIOUS: u32 = 1u;
const NEXT: u32 = 2u;
const RUN: u32 = 3u;
const DID: u32 = 4u;
const SITE: u32 = 5u;
const SLOT: u32 = 0u;
const TIME: u32 = 1u;
const ROW: u32 = 2u;
const ROW_LENGTH: u32 = 3u;
const HOLDER: u32 = 4u;
const TRANSFERS: u32 = 5u;
const STRAND: u32 = 6u;
const SETS: u32 = 7u;

@group(0) @binding(0) var<storage, read> input: array<u32>;
@group(0) @binding(1) var<storage, read_write> state: array<u32>;
@group(0) @binding(2) var<storage, read_write> verdicts: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read_write> handed: array<atomic<u32>>;
@group(0) @binding(4) var<storage, read> sets: array<u32>;
@group(0) @binding(5) var<storage, read_write> live: array<atomic<u32>>;

fn pieces() -> u32 { return input[0]; }
fn touched_cells() -> u32 { return input[1]; }
fn walk_limit() -> u32 { return input[11]; }
fn piece(at: u32, field: u32) -> u32 { return input[input[2] + at * 6u + field]; }
fn touched(at: u32, field: u32) -> u32 { return input[input[3] + at * 3u + field]; }
fn run(at: u32, field: u32) -> u32 { return input[input[4] + at * 12u + field]; }

// The time of `slot` in the clock of a run.
fn clock(at: u32, slot: u32) -> u32 {
    if slot < run(at, ROW_LENGTH) {
        return input[input[5] + run(at, ROW) + slot];
    }
    return 0u;
}

// entry::races, without the order.
fn conflict(a: u32, b: u32) -> bool {
    return (a & b & MASK) != 0u && ((a | b) & (PLAIN | WRITE)) == (PLAIN | WRITE);
}

// Everything that conflicts with `inner` conflicts with `outer`.
fn includes(outer: u32, inner: u32) -> bool {
    return (inner & ~outer & WHAT) == 0u;
}

// A sweep may be asked to mark the sites and sets that cells have: where their bits begin in `live`, or NONE.
fn mark_site(site: u32) {
    if input[10] != NONE { atomicOr(&live[input[10] + site / 32u], 1u << (site % 32u)); }
}

fn mark_set(lockset: u32) {
    if input[15] != NONE { atomicOr(&live[input[15] + lockset / 32u], 1u << (lockset % 32u)); }
}

fn suspect(cell: u32, why: u32) {
    atomicOr(&verdicts[cell], why);
}

// Whether the cell is the CPU's from this batch on; if so, tells its state at the batch's beginning.
fn hand_over(at: u32, more: u32) -> bool {
    let base = touched(at, 0u) * CELL;
    let before = state[base];
    let why = atomicLoad(&verdicts[at]) | touched(at, 2u) | more;
    if why == 0u && (before & HANDED) == 0u {
        return false;
    }
    let place = 1u + atomicAdd(&handed[0], 1u) * RECORD;
    atomicStore(&handed[place], touched(at, 0u));
    atomicStore(&handed[place + 1u], why);
    for (var word = 0u; word < CELL; word++) {
        atomicStore(&handed[place + 2u + word], state[base + word]);
    }
    state[base] = before | HANDED;
    return true;
}
