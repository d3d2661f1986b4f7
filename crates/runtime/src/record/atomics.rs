//! Atomic operations and fences of a strand that records: done under the lock of their location, as in
//! [`crate::ordering`], so that their numbers are in the order of the values.
//!
//! A recording knows operations of 1 to 16 bytes. A larger object, or one of 3 bytes, is told by its first bytes; the rest
//! of it is touched before it is stored to, after it is loaded, and read before it is modified.

use crate::access::leave;
use crate::history::Touch;
use crate::ordering::Order;
use crate::record::heard::{self, News};
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
    let (value, news) = rt.syncs.get(s, addr, Kind::Atomic).with(|state| {
        let value = raw();
        let news = heard::news(s, addr, size, state.told.get());
        if news == News::All {
            acts::load(s, addr, size, order, at);
            // What a relaxed load hears must be heard again.
            if order.acquires() {
                heard::heard(s, addr, size, state.told.get());
            }
        }
        (value, news)
    });
    match news {
        News::All => touch_rest(rt, s, addr, size, Touch::AtomicRead, pc),
        News::Access => {
            touch(rt, s, addr, size, Touch::AtomicRead, pc);
            heard::accessed(s, addr);
        }
        News::Nothing => {}
    }
    leave(s);
    value
}

/// The bytes that the operation itself does not tell of.
fn touch_rest(rt: &Runtime, s: &mut Strand, addr: usize, size: usize, how: Touch, pc: u64) {
    let named = acts::named(size);
    if named < size {
        touch(rt, s, addr + named, size - named, how, pc);
    }
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
    touch_rest(rt, s, addr, size, Touch::AtomicWrite, pc);
    let at = s.stack_at(rt, pc);
    acts::prepare(s);
    rt.syncs.get(s, addr, Kind::Atomic).with(|state| {
        acts::store(s, state, addr, size, order, at);
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
    if acts::named(size) < size {
        load(rt, s, addr, failed, size, pc, || ());
    }
    s.enter();
    let at = s.stack_at(rt, pc);
    acts::prepare(s);
    let value = rt.syncs.get(s, addr, Kind::Atomic).with(|state| {
        let (value, wrote) = raw();
        if wrote {
            acts::modify(s, state, addr, size, order, at);
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
