//! What every lock that has no other life than init, use and destroy tells when it is made, looked at, and gone.

use core::ffi::{c_int, c_void};

use crate::access::{self, leave};
use crate::history::Touch;
use crate::intern::StackId;
use crate::interpose::Call;
use crate::locking;
use crate::record::acts;
use crate::runtime::RT;
use crate::syncvar::Kind;

/// Looks at the lock before it is used; the stack of this call. Its first use by this strand is an access to its memory, so
/// that it races with an unordered init, destroy or free.
pub fn before(call: &mut Call, lock: *const c_void, kind: Kind) -> StackId {
    let here = call.here;
    let Some(s) = call.strand() else {
        return StackId(0);
    };
    s.enter();
    let at = s.stack_at(&RT, here);
    if s.cached_var(lock as usize).is_none() {
        RT.syncs.get(s, lock as usize, kind);
        access::access(&RT, s, lock as usize, 1, Touch::AtomicRead, here);
    }
    acts::ready(s);
    leave(s);
    at
}

/// The lock was made, if `result` says so.
pub fn made(call: &mut Call, lock: *const c_void, kind: Kind, result: c_int) {
    let here = call.here;
    if let (0, Some(s)) = (result, call.strand()) {
        s.enter();
        let at = s.stack_at(&RT, here);
        access::access(&RT, s, lock as usize, 1, Touch::Write, here);
        locking::created(&RT, s, lock as usize, kind, at);
        leave(s);
    }
}

/// The lock is about to be destroyed.
pub fn ending(call: &mut Call, lock: *const c_void, kind: Kind) {
    let here = call.here;
    if let Some(s) = call.strand() {
        s.enter();
        let at = s.stack_at(&RT, here);
        access::access(&RT, s, lock as usize, 1, Touch::Destroy, here);
        locking::destroyed(&RT, s, lock as usize, kind, at);
        leave(s);
    }
}
