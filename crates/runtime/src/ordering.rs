//! What atomic operations and fences order, as C++20 has it. The caller's `raw` does the operation itself.
//!
//! Each location carries the clock L of the release sequence that its present value belongs to. Under the lock of the
//! location the operation and its bookkeeping are one, so a load takes exactly the clock of the value that it reads.
//!
//! | operation                          | clock of the strand C           | L of the location            |
//! |------------------------------------|---------------------------------|------------------------------|
//! | load, acquire                      | C := C ⊔ L                      |                              |
//! | load, relaxed                      | A := A ⊔ L (for a later fence)  |                              |
//! | store, release                     | new step                        | L := C                       |
//! | store, relaxed                     |                                 | L := F (last release fence)  |
//! | read-modify-write, acquire part    | as the load                     |                              |
//! | read-modify-write, release part    | new step                        | L := L ⊔ C                   |
//! | read-modify-write, relaxed         |                                 | L := L ⊔ F                   |
//! | fence, acquire                     | C := C ⊔ A                      |                              |
//! | fence, release                     | F := C, new step                |                              |
//!
//! A seq_cst fence is both and no more: the order of all seq_cst operations is not part of happens-before.
//! The access itself is recorded after the acquire part and before the release part, since the synchronizing operations
//! themselves are ordered by the edge between them; under the lock only if it has both.

use core::ffi::c_int;
use core::sync::atomic::Ordering;

use crate::access::leave;
use crate::history::Touch;
use crate::record::atomics;
use crate::runtime::Runtime;
use crate::settle;
use crate::strand::Strand;
use crate::syncvar::{Kind, Released, State};

/// A memory order, as the compiler passes it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Order(c_int);

const RELAXED: c_int = 0;
const RELEASE: c_int = 3;
const ACQ_REL: c_int = 4;
const SEQ_CST: c_int = 5;

impl Order {
    #[inline(always)]
    pub fn new(mo: c_int) -> Order {
        // The bits above are hints for lock elision.
        Order(mo & 0x7fff)
    }
    #[inline(always)]
    pub fn acquires(self) -> bool {
        !matches!(self.0, RELAXED | RELEASE)
    }
    #[inline(always)]
    pub fn releases(self) -> bool {
        matches!(self.0, RELEASE | ACQ_REL | SEQ_CST)
    }
    #[inline(always)]
    pub fn is_seq_cst(self) -> bool {
        self.0 == SEQ_CST
    }
    /// How the program's own store must be done.
    #[inline(always)]
    pub fn store_ordering(self) -> Ordering {
        if self.0 == SEQ_CST {
            Ordering::SeqCst
        } else {
            Ordering::Release
        }
    }
}

/// The read part.
#[inline(always)]
fn take(rt: &Runtime, state: &mut State, s: &mut Strand, order: Order) {
    if order.acquires() {
        state.acquire(rt, s);
    } else if !state.known_to(s) {
        s.acquirable.join(&state.clock);
    }
}

/// A load.
#[inline]
pub fn load<T>(
    rt: &Runtime,
    s: &mut Strand,
    addr: usize,
    order: Order,
    size: usize,
    pc: u64,
    raw: impl Fn() -> T,
) -> T {
    if s.recording() {
        return atomics::load(rt, s, addr, order, size, pc, raw);
    }
    // Looking for the object takes a lock, which no signal handler must find taken by its own thread.
    s.enter();
    let var = match s.cached_var(addr) {
        Some(var) => var,
        None => {
            // A releasing store makes its object before it stores: if there is still none, nothing was released.
            if let Some(value) = rt.syncs.none_while(s, addr, &raw) {
                settle::atomic(rt, s, addr, size, Touch::AtomicRead, pc);
                leave(s);
                return value;
            }
            rt.syncs.get(s, addr, Kind::Atomic)
        }
    };
    // Nothing is new in a value that the strand, or for a relaxed load its next fence, knows all about.
    let known = |released: Released| {
        released.is_in(&s.clock) || !order.acquires() && released.is_in(&s.acquirable)
    };
    let value = match var.unchanged_while(|released| known(released).then(&raw)) {
        Some(value) => value,
        None => var.with(|state| {
            let value = raw();
            take(rt, state, s, order);
            value
        }),
    };
    settle::atomic(rt, s, addr, size, Touch::AtomicRead, pc);
    leave(s);
    value
}

/// A store.
#[inline]
pub fn store(
    rt: &Runtime,
    s: &mut Strand,
    addr: usize,
    order: Order,
    size: usize,
    pc: u64,
    raw: impl FnOnce(),
) {
    if s.recording() {
        return atomics::store(rt, s, addr, order, size, pc, raw);
    }
    s.enter();
    let var = rt.syncs.get(s, addr, Kind::Atomic);
    settle::atomic(rt, s, addr, size, Touch::AtomicWrite, pc);
    var.with(|state| {
        if order.releases() {
            state.release_store(s);
        } else {
            state.store_clock(&s.released);
        }
        raw();
    });
    leave(s);
}

/// Does a read-modify-write always write?
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Writes {
    Always,
    IfEqual,
}

/// A read-modify-write: `raw` does the operation and says whether it wrote; then `order` holds, else `failed` does.
#[inline]
#[allow(clippy::too_many_arguments)]
pub fn modify<T>(
    rt: &Runtime,
    s: &mut Strand,
    addr: usize,
    order: Order,
    failed: Order,
    writes: Writes,
    size: usize,
    pc: u64,
    raw: impl FnOnce() -> (T, bool),
) -> T {
    if s.recording() {
        return atomics::modify(rt, s, addr, order, failed, size, pc, raw);
    }
    s.enter();
    let var = rt.syncs.get(s, addr, Kind::Atomic);
    // Others wait for the lock: what can be done outside of it is.
    let before = writes == Writes::Always && !order.acquires();
    let within = !before && order.releases();
    if before {
        settle::atomic(rt, s, addr, size, Touch::AtomicReadWrite, pc);
    }
    let touch = |wrote| {
        if wrote {
            Touch::AtomicReadWrite
        } else {
            Touch::AtomicRead
        }
    };
    let (value, wrote) = var.with(|state| {
        let (value, wrote) = raw();
        take(rt, state, s, if wrote { order } else { failed });
        if within {
            settle::atomic(rt, s, addr, size, touch(wrote), pc);
        }
        if wrote && order.releases() {
            state.release(s);
        } else if wrote && !s.released.is_empty() {
            state.add_clock(&s.released);
        }
        (value, wrote)
    });
    if !before && !within {
        settle::atomic(rt, s, addr, size, touch(wrote), pc);
    }
    leave(s);
    value
}

/// A fence between threads.
pub fn fence(rt: &Runtime, s: &mut Strand, order: Order) {
    if s.recording() {
        return atomics::fence(s, order);
    }
    s.enter();
    if order.acquires() {
        let seen = core::mem::take(&mut s.acquirable);
        if s.clock.join(&seen) {
            s.learned(rt);
        }
    }
    if order.releases() {
        s.published();
        let Strand {
            released, clock, ..
        } = s;
        released.copy_from(clock);
        s.begin_step();
    }
    leave(s);
}
