//! `dlopen` and `dlclose`: libraries come and go, and with them their memory and their code.

use core::ffi::{c_int, c_void};

use std_alloc::vec::Vec;

use crate::access::leave;
use crate::interpose;
use crate::interpose::Call;
use crate::locking;
use crate::modules;
use crate::record::{MemoryKind, acts};
use crate::runtime::RT;

/// Tells the stream of libraries that it does not know, if it listens already.
fn look(call: &mut Call) {
    if let Some(s) = call.strand()
        && RT.stream.connected()
    {
        s.enter();
        let loaded = modules::loaded();
        RT.stream
            .compose(&RT, |out| RT.modules.announce_these(loaded, out));
        leave(s);
    }
}

// A static program that has it, if only for us, makes the linker warn.
#[cfg(not(feature = "wrap"))]
interpose! {
    unsafe fn dlopen(path: *const core::ffi::c_char, flags: c_int) -> *mut c_void |call, real| {
        // The library's constructors run in the real one, as part of the program.
        // SAFETY: the program's own call.
        let handle = unsafe { real(path, flags) };
        if !handle.is_null() {
            look(&mut call);
        }
        handle
    }
}

interpose! {
    unsafe fn dlclose(handle: *mut c_void) -> c_int |call, real| {
        // What a report may have to name later must be known before it goes.
        look(&mut call);
        let here = call.here;
        let before = match call.strand() {
            Some(s) => {
                s.enter();
                let mapped = RT.modules.mapped();
                leave(s);
                mapped
            }
            None => Vec::new(),
        };
        // SAFETY: the program's own call.
        let result = unsafe { real(handle) };
        if let Some(s) = call.strand() {
            s.enter();
            let at = s.stack_at(&RT, here);
            let after = RT.modules.mapped();
            for &(start, end) in before.iter().filter(|range| !after.contains(range)) {
                RT.shadow.clear(start as usize, (end - start) as usize);
                RT.syncs.remove_range(&RT.shadow, start as usize, (end - start) as usize, |var| locking::memory_gone(&RT, s, var, at));
                RT.modules.unmapped(start, end);
                acts::fresh(s, start as usize, (end - start) as usize, MemoryKind::Other, at);
            }
            drop(before);
            leave(s);
        }
        result
    }
}
