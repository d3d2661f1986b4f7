//! Sizes that the kernels and the CPU agree on; the names are those of `kernels/common.wgsl`.

/// Words of a cell: how many records it has, and those.
pub const CELL: usize = 25;
pub const CELL_BYTES: u64 = CELL as u64 * 4;
/// Cells of a page: 4 KiB of the program's memory.
pub const PAGE_CELLS: usize = 512;
pub const PAGE_SHIFT: u32 = 12;
pub const PAGE_BYTES: u64 = CELL_BYTES * PAGE_CELLS as u64;
/// Words by which a cell is handed over: its number, why, and its state.
pub const RECORD: usize = 2 + CELL;
/// In a cell's first word: it is the CPU's.
pub const HANDED: u32 = 1 << 31;
/// No piece.
pub const NONE: u32 = u32::MAX;

/// Whether a bit of some words is set; none is beyond their end.
pub fn has_bit(words: &[u32], bit: u32) -> bool {
    let word = words.get(bit as usize / 32);
    word.is_some_and(|word| word >> (bit % 32) & 1 == 1)
}

/// Words at the beginning of the input, which say where its tables are.
pub const HEADER: usize = 16;
/// Words of a piece, a touched cell, a run, a transfer, a remembered access, a group.
pub const PIECE: usize = 6;
pub const TOUCHED: usize = 3;
pub const RUN: usize = 12;
pub const ENTRY: usize = 3;
pub const GROUP: usize = 12;
/// Sets of locks that a group can have.
pub const GUARDS: usize = 5;

/// A piece that clears its bytes.
pub const FRESH: u32 = 1 << 10;

/// Why a cell is handed over.
pub mod why {
    /// The filters do not say.
    pub const UNSURE: u32 = 1;
    /// There is a race, or an alarm.
    pub const CERTAIN: u32 = 2;
    /// The CPU wants it.
    pub const ASKED: u32 = 4;
    /// Too many accesses to go through.
    pub const LONG: u32 = 8;
    /// Too much to remember.
    pub const FULL: u32 = 16;
}

/// Locks with a bit of their own in the filters of a set: bits of one of its two filters.
pub const LOCK_BITS: usize = 128;
/// Words of a set of locks: two filters.
pub const SET: usize = 2 * LOCK_BITS / 32;
