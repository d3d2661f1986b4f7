//! Handlers that run at exit, or when a library is unloaded: what a thread did before it registered one happens before the
//! handler, whichever thread runs it.

use core::ffi::{c_int, c_void};

use std_alloc::boxed::Box;

use crate::abi::tls;
use crate::access::leave;
use crate::interpose;
use crate::interpose::Call;
use crate::runtime::RT;
use crate::syncvar::Kind;

type Plain = unsafe extern "C" fn(*mut c_void);
type WithStatus = unsafe extern "C" fn(c_int, *mut c_void);

/// One handler of the program. Its own address is that of the object which orders the two.
struct Registered<F> {
    handler: F,
    arg: *mut c_void,
}

/// What stands in the place of `handler` and `arg`, for a caller that has a strand.
fn register<F>(call: &mut Call, handler: F, arg: *mut c_void) -> Option<*mut Registered<F>> {
    let s = call.syncing()?;
    s.enter();
    let new = Box::into_raw(Box::new(Registered { handler, arg }));
    RT.syncs
        .get(s, new as usize, Kind::Annotation)
        .with(|state| state.release(s));
    leave(s);
    Some(new)
}

/// The handler's turn has come.
fn take<F: Copy>(registered: *mut c_void) -> (F, *mut c_void) {
    let at = registered as usize;
    // SAFETY: made by `register`, and handlers run once.
    let own = unsafe { Box::from_raw(registered.cast::<Registered<F>>()) };
    let (handler, arg) = (own.handler, own.arg);
    let Some(s) = tls::me() else {
        // Nobody whom it would order.
        Box::leak(own);
        return (handler, arg);
    };
    s.enter();
    if let Some(var) = RT.syncs.find(s, at) {
        var.with(|state| state.acquire(&RT, s));
    }
    RT.syncs
        .remove_range(&RT.shadow, at, size_of::<Registered<F>>(), |_| ());
    drop(own);
    leave(s);
    (handler, arg)
}

unsafe extern "C" fn run(registered: *mut c_void) {
    let (handler, arg) = take::<Plain>(registered);
    // SAFETY: the program's own handler and argument.
    unsafe { handler(arg) };
}

unsafe extern "C" fn run_with_status(status: c_int, registered: *mut c_void) {
    let (handler, arg) = take::<WithStatus>(registered);
    // SAFETY: the program's own handler and argument.
    unsafe { handler(status, arg) };
}

interpose! {
    unsafe fn __cxa_atexit(handler: Plain, arg: *mut c_void, library: *mut c_void) -> c_int |call, real| {
        match register(&mut call, handler, arg) {
            // SAFETY: our own handler, for the program's library.
            Some(own) => unsafe { real(run, own.cast(), library) },
            // SAFETY: the program's own call.
            None => unsafe { real(handler, arg, library) },
        }
    }

    unsafe fn on_exit(handler: WithStatus, arg: *mut c_void) -> c_int |call, real| {
        match register(&mut call, handler, arg) {
            // SAFETY: our own handler.
            Some(own) => unsafe { real(run_with_status, own.cast()) },
            // SAFETY: the program's own call.
            None => unsafe { real(handler, arg) },
        }
    }
}
