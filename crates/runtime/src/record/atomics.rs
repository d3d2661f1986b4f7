//! Atomic operations and fences of a strand that records: done under the lock of their location, as in
//! [`crate::ordering`], so that their numbers are in the order of the values.

use crate::access::leave;
use crate::history::Touch;
use crate::ordering::Order;
use crate::record::{acts, touch};
use crate::runtime::Runtime;
use crate::strand::Strand;
use crate::syncvar::Kind;

/// A load.
pub fn load<T>(
    rt: &Runtime,
    s: &mut Strand,
    addr: usize,
    order: Order,
    size: usize,
    pc: u64,
    raw: impl Fn() -> T,
) -> T {
    s.enter();
    if rt.syncs.find(s, addr).is_none() {
        let value = raw();
        // Every store makes its object before it stores: if there is still none, nothing was told.
        if rt.syncs.find(s, addr).is_none() {
            touch(rt, s, addr, size, Touch::AtomicRead, pc);
            leave(s);
            return value;
        }
    }
    let at = s.stack_at(rt, pc);
    acts::prepare(s);
    let value = rt.syncs.get(s, addr, Kind::Atomic).with(|_| {
        let value = raw();
        acts::load(s, addr, size, order, at);
        value
    });
    leave(s);
    value
}

/// A store.
pub fn store(
    rt: &Runtime,
    s: &mut Strand,
    addr: usize,
    order: Order,
    size: usize,
    pc: u64,
    raw: impl FnOnce(),
) {
    s.enter();
    let at = s.stack_at(rt, pc);
    acts::prepare(s);
    rt.syncs.get(s, addr, Kind::Atomic).with(|_| {
        acts::store(s, addr, size, order, at);
        raw();
    });
    leave(s);
}

/// A read-modify-write: `raw` does the operation and says whether it wrote; then `order` holds, else `failed` does.
#[allow(clippy::too_many_arguments)]
pub fn modify<T>(
    rt: &Runtime,
    s: &mut Strand,
    addr: usize,
    order: Order,
    failed: Order,
    size: usize,
    pc: u64,
    raw: impl FnOnce() -> (T, bool),
) -> T {
    s.enter();
    let at = s.stack_at(rt, pc);
    acts::prepare(s);
    let value = rt.syncs.get(s, addr, Kind::Atomic).with(|_| {
        let (value, wrote) = raw();
        if wrote {
            acts::modify(s, addr, size, order, at);
        } else {
            acts::load(s, addr, size, failed, at);
        }
        value
    });
    leave(s);
    value
}

/// A fence between threads.
pub fn fence(s: &mut Strand, order: Order) {
    s.enter();
    acts::fence(s, order);
    leave(s);
}
