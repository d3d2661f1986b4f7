//! Mappings: fresh memory has no past, and unmapping is a use of all of it, like a free.

use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering;

use std_alloc::vec::Vec;

use crate::access::leave;
use crate::ahead;
use crate::interpose;
use crate::interpose::Call;
use crate::interpose::malloc::{fresh, inside};
use crate::lifetime::{self, Then};
use crate::runtime::RT;
use crate::sync::{Locked, SpinLock};

/// The program's mappings, for reports: start and length, sorted.
static MAPPINGS: Locked<Vec<(usize, usize)>> = Locked::new(Vec::new());

/// Takes `[start, end)` out of the list of mappings.
fn cut(list: &mut Vec<(usize, usize)>, start: usize, end: usize) {
    let first = list.partition_point(|&(s, n)| s + n <= start);
    let last = list.partition_point(|&(s, _)| s < end);
    if first >= last {
        return;
    }
    let (low, (high, high_len)) = (list[first].0, list[last - 1]);
    let mut left = Vec::new();
    if low < start {
        left.push((low, start - low));
    }
    if high + high_len > end {
        left.push((end, high + high_len - end));
    }
    list.splice(first..last, left);
}

/// The mapping of the program that holds `addr`.
pub fn describe(addr: usize) -> Option<(usize, usize)> {
    let list = MAPPINGS.lock();
    let at = list.partition_point(|&(s, n)| s + n <= addr);
    list.get(at).copied().filter(|&(s, _)| s <= addr)
}

/// Calls `f` for each lock that is held over a fork.
pub fn each_lock(f: &dyn Fn(&SpinLock)) {
    f(MAPPINGS.spin());
}

fn pages(len: usize) -> usize {
    len.next_multiple_of(4096)
}

/// `[start, start + len)` is a fresh mapping.
fn mapped(call: &mut Call, start: usize, len: usize) {
    if !RT.started.load(Ordering::Relaxed) {
        return;
    }
    fresh(call, start, len);
    if let Some(s) = call.strand() {
        s.enter();
        let mut list = MAPPINGS.lock();
        cut(&mut list, start, start + len);
        let at = list.partition_point(|&(s, _)| s < start);
        list.insert(at, (start, len));
        drop(list);
        leave(s);
    }
}

/// `[start, start + len)` goes away; to be called before it does.
fn unmaps(call: &mut Call, start: usize, len: usize) {
    let here = call.here;
    if let Some(s) = call.strand() {
        lifetime::give_up(&RT, s, (start, len), here, Then::Unmapped);
        s.enter();
        cut(&mut MAPPINGS.lock(), start, start + len);
        leave(s);
    }
}

const FAILED: usize = usize::MAX;

interpose! {
    unsafe fn mmap(at: *mut c_void, len: usize, prot: c_int, flags: c_int, fd: c_int, offset: i64) -> *mut c_void |call, real| {
        // SAFETY: the program's own call.
        let p = unsafe { real(at, len, prot, flags, fd, offset) };
        if p as usize != FAILED {
            ahead::mapped(flags, fd);
            mapped(&mut call, p as usize, pages(len));
        }
        p
    }

    unsafe fn mmap64(at: *mut c_void, len: usize, prot: c_int, flags: c_int, fd: c_int, offset: i64) -> *mut c_void |call, real| {
        // SAFETY: the program's own call.
        let p = unsafe { real(at, len, prot, flags, fd, offset) };
        if p as usize != FAILED {
            ahead::mapped(flags, fd);
            mapped(&mut call, p as usize, pages(len));
        }
        p
    }

    unsafe fn munmap(p: *mut c_void, len: usize) -> c_int |call, real| {
        unmaps(&mut call, p as usize, pages(len));
        // SAFETY: the program's own call.
        unsafe { real(p, len) }
    }

    unsafe fn mremap(old: *mut c_void, old_len: usize, new_len: usize, flags: c_int, at: *mut c_void) -> *mut c_void |call, real| {
        const MAY_MOVE: c_int = 1;
        let (old_len, new_len) = (pages(old_len), pages(new_len));
        if flags & MAY_MOVE != 0 {
            // It may move: whoever uses the old place without order may find nothing there.
            unmaps(&mut call, old as usize, old_len);
        } else if new_len < old_len {
            unmaps(&mut call, old as usize + new_len, old_len - new_len);
        }
        // SAFETY: the program's own call.
        let new = unsafe { real(old, old_len, new_len, flags, at) };
        if new as usize == FAILED {
            return new;
        }
        if new != old {
            mapped(&mut call, new as usize, new_len);
        } else if new_len > old_len {
            mapped(&mut call, old as usize + old_len, new_len - old_len);
        }
        new
    }

    unsafe fn shmat(id: c_int, at: *const c_void, flags: c_int) -> *mut c_void |call, real| {
        // SAFETY: the program's own call.
        let p = unsafe { real(id, at, flags) };
        if p as usize != FAILED {
            mapped(&mut call, p as usize, shared_size(id));
        }
        p
    }

    unsafe fn shmdt(p: *const c_void) -> c_int |call, real| {
        if call.strand().is_some()
            && let Some((start, len)) = inside(&mut call, || describe(p as usize))
        {
            unmaps(&mut call, start, len);
        }
        // SAFETY: the program's own call.
        unsafe { real(p) }
    }

    unsafe fn sbrk(by: isize) -> *mut c_void |call, real| {
        if by < 0 {
            // SAFETY: only asks where the end is.
            let end = unsafe { real(0) } as usize;
            unmaps(&mut call, end.wrapping_add_signed(by), by.unsigned_abs());
        }
        // SAFETY: the program's own call.
        let p = unsafe { real(by) };
        if by > 0 && p as usize != FAILED {
            mapped(&mut call, p as usize, by as usize);
        }
        p
    }

    unsafe fn brk(end: *mut c_void) -> c_int |call, real| {
        // SAFETY: only asks where the end is.
        let before = unsafe { sbrk::real()(0) } as usize;
        if (end as usize) < before {
            unmaps(&mut call, end as usize, before - end as usize);
        }
        // SAFETY: the program's own call.
        let result = unsafe { real(end) };
        if result == 0 && end as usize > before {
            mapped(&mut call, before, end as usize - before);
        }
        result
    }
}

/// The size of a System V segment.
fn shared_size(id: c_int) -> usize {
    const SHMCTL: usize = 31;
    const IPC_STAT: usize = 2;
    let mut info = [0usize; 14];
    // SAFETY: a place as large as the kernel's structure, in which the size follows 48 bytes of permissions.
    let r = unsafe {
        crate::sys::syscall(
            SHMCTL,
            [id as usize, IPC_STAT, info.as_mut_ptr() as usize, 0, 0, 0],
        )
    };
    if r == 0 { info[6] } else { 0 }
}
