//! The core held against the specification: the same functions that the compiler's hooks call, on random programs, on
//! real threads, and with histories that are collected all the time.

mod collect;
mod handover;
mod lives;
mod parts;
mod player;
mod replay;
mod stress;
mod tables;
mod told;
mod turns;
mod two_cells;

use crate::intern::StackId;
use crate::runtime::Runtime;
use crate::strand::Strand;
use crate::threads::Sort;

/// Starts a runtime that orders nothing to be told; its first strand.
fn start(rt: &'static Runtime) -> &'static mut Strand {
    assert!(rt.shadow.init(), "no address space for the shadow's table");
    rt.options.parse(b"lock_order=0:deadlock=0:misuse=0");
    let id = rt.threads.create(rt, None, Sort::Thread, StackId(0));
    rt.threads.begin(rt, id)
}

/// The same with a second strand, which knows of nothing that the first one does from here on.
fn start_two(rt: &'static Runtime) -> (&'static mut Strand, &'static mut Strand) {
    let first = start(rt);
    let id = rt.threads.create(rt, Some(first), Sort::Thread, StackId(0));
    (first, rt.threads.begin(rt, id))
}
