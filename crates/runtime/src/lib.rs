//! What is linked into the program under test.
//!
//! Ground rules for every line of this crate, because it runs inside somebody else's process:
//! - no std, no libc wrapper that sets `errno`, no hooked `malloc`: memory comes from [`alloc`], the kernel from [`sys`];
//! - no panic crosses into the program: broken invariants end in [`sys::die`] with a sentence;
//! - no thread-local destructors, no std locks: a strand is a plain structure that the thread points to ([`strand`]);
//! - a signal may arrive anywhere: whoever holds a lock of ours counts himself inside ([`strand::Strand::enter`]), and
//!   signals that arrive then are delivered when he leaves;
//! - whatever is bounded or lost is counted in [`loss`] and printed.
//!
//! The path of one access: the compiler's hook ([`abi::plain`]) looks at the shadow cell and returns if this step has
//! been here already; else [`access`] names the access with a sequence number of the strand's history ([`history`]),
//! locks the cell ([`cell`]), compares it with what the cell remembers by the rules of `deadheat_detect::entry`, and
//! hands a race to [`finding`].
#![cfg_attr(not(test), no_std)]

extern crate alloc as std_alloc;

pub mod access;
pub mod ahead;
pub mod alloc;
pub mod callstack;
pub mod cell;
pub mod clock;
pub mod collect;
pub mod deadlock;
pub mod exempt;
pub mod finding;
pub mod floor;
pub mod freed;
pub mod heap;
pub mod history;
pub mod intern;
pub mod json;
pub mod lifetime;
pub mod lock_order;
pub mod locking;
pub mod locks;
pub mod loss;
pub mod marks;
pub mod misuse;
pub mod modules;
pub mod options;
pub mod ordering;
pub mod owner;
pub mod pages;
pub mod record;
pub mod runtime;
pub mod settle;
pub mod shadow;
pub mod signal_state;
mod spread;
pub mod strand;
pub mod stream;
pub mod sync;
pub mod sync_places;
pub mod syncvar;
pub mod sys;
pub mod threads;
pub mod timeline;
mod told_pairs;

#[cfg(test)]
mod exact;

#[cfg(feature = "export")]
pub mod abi;
#[cfg(feature = "export")]
pub mod interpose;

/// The path of the `deadheat` command that the program was linked with, if the link said so.
pub(crate) fn linked_in_collector() -> Option<&'static [u8]> {
    #[cfg(feature = "export")]
    {
        abi::weak::collector_path()
    }
    #[cfg(not(feature = "export"))]
    {
        None
    }
}

/// What the program itself wants not to be told.
pub(crate) fn own_suppressions() -> Option<&'static [u8]> {
    #[cfg(feature = "export")]
    {
        abi::weak::default_suppressions()
    }
    #[cfg(not(feature = "export"))]
    {
        None
    }
}

/// The options that the program itself has, in ThreadSanitizer's words; none if it says nothing.
pub(crate) fn own_options() -> Option<&'static [u8]> {
    #[cfg(feature = "export")]
    {
        abi::weak::default_options().filter(|text| !text.is_empty())
    }
    #[cfg(not(feature = "export"))]
    {
        None
    }
}

/// The user wants no more after the first finding: tells what is left to tell and ends the program.
pub(crate) fn halt(rt: &runtime::Runtime) -> ! {
    rt.findings.tell_counts(rt);
    let code = rt.stream.finish().unwrap_or(
        rt.options
            .exitcode
            .load(core::sync::atomic::Ordering::Relaxed),
    );
    sys::exit_group(code)
}
