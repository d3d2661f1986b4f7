//! Recording: the program's threads only write down what they do, into frames that a checker outside takes
//! (`deadheat run --split`, `deadheat record`).
//!
//! A strand that records has a [`Recorder`] and no shadow: the null in `Strand::table` sends the compiler's hooks to
//! `hook` and from there to [`touch`], so that hooks which check pay nothing for this mode. Accesses go through [`touch`], once per step and byte;
//! whatever others can see goes through [`act`], with a number from one counter. Locks, their order, deadlocks and misuse
//! are still looked after here: they need no shadow.
//!
//! | file         | what                                                                     |
//! |--------------|--------------------------------------------------------------------------|
//! | [`recorder`] | a strand's frame, its filter of what this step has recorded, its places |
//! | [`turns`]    | what the compiler tells of all turns of a loop at once                   |
//! | [`acts`]     | what the rest of the runtime calls when something is to be ordered       |
//! | [`wait`]     | no frame is free, or the checker is gone                                 |
//! | [`heard`]    | acquire loads that teach nothing                                         |
//! | [`atomics`]  | atomic operations and fences                                             |
//!
//! Nothing here allocates while the program runs, but for new strands; nothing makes a system call, but for new frames.

use core::sync::atomic::{AtomicPtr, Ordering};

use deadheat_frames::{Arena, TOTAL_BYTES};
pub use deadheat_trace::wire::MemoryKind;

use crate::finding;
use crate::intern::{StackId, Sweep};
use crate::modules;
use crate::runtime::Runtime;
use crate::strand::{OsThread, Strand};
use crate::sys::{self, nr};

pub mod acts;
pub mod atomics;
pub mod heard;
#[cfg(feature = "export")]
pub mod hook;
pub mod recorder;
pub mod turns;
pub mod wait;

pub use acts::act;
pub use recorder::{Recorder, touch};

/// Where the arena is mapped; null if nothing is recorded.
static BASE: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());

/// The shared memory, if this process records.
#[inline]
pub fn arena() -> Option<Arena> {
    let base = BASE.load(Ordering::Acquire);
    if base.is_null() {
        None
    } else {
        // SAFETY: set to a whole mapping that is never unmapped while it can be found here.
        Some(unsafe { Arena::new(base) })
    }
}

/// Records if the options say where to.
pub fn start_if_asked(rt: &'static Runtime, s: &mut Strand) {
    let fd = rt.options.record.load(Ordering::Relaxed);
    if fd >= 0 {
        start(rt, s, fd);
    }
}

/// Tells the checker what a call stack is.
#[inline]
pub fn node(stack: StackId, caller: StackId, pc: u64) {
    if let Some(arena) = arena() {
        arena.set_node(stack.0, caller.0, pc);
    }
}

/// Whoever takes the recording has read all that was recorded until this sweep; all sweeps if there is no recording.
pub fn read_until() -> Sweep {
    match arena() {
        Some(arena) => Sweep(arena.header().noted.load(Ordering::Acquire)),
        None => Sweep(u64::MAX),
    }
}

/// The sweep that ends with the next [`let_go`], if there is a recording. There is one at a time.
pub fn next_sweep() -> Option<Sweep> {
    let arena = arena()?;
    Some(Sweep(arena.header().let_go.load(Ordering::Relaxed) + 1))
}

/// Numbers of call stacks were let go, which nobody writes down any more.
pub fn let_go() {
    if let Some(arena) = arena() {
        arena.header().let_go.fetch_add(1, Ordering::Release);
    }
}

/// Maps the arena behind a descriptor; from here on new strands record. `s` is the first one.
fn start(rt: &'static Runtime, s: &mut Strand, fd: i32) {
    const PROT_READ_WRITE: usize = 3;
    const MAP_SHARED_NORESERVE: usize = 0x4001;
    const MADV_DONTDUMP: usize = 16;
    // SAFETY: a new mapping at a place of the kernel's choice.
    let base = unsafe {
        sys::syscall(
            nr::MMAP,
            [
                0,
                TOTAL_BYTES,
                PROT_READ_WRITE,
                MAP_SHARED_NORESERVE,
                fd as usize,
                0,
            ],
        )
    };
    // SAFETY: a descriptor that was handed to us; the mapping stays.
    unsafe { sys::syscall(nr::CLOSE, [fd as usize, 0, 0, 0, 0, 0]) };
    if base < 0 {
        sys::die(
            "there is no address space for the recording (4.5 GiB, little of it used): try 'ulimit -v unlimited'",
        );
    }
    // A core dump would have all of it, used or not.
    // SAFETY: the mapping is ours and stays as it is.
    unsafe {
        sys::syscall(
            nr::MADVISE,
            [base as usize, TOTAL_BYTES, MADV_DONTDUMP, 0, 0, 0],
        )
    };
    // SAFETY: mapped just now, all of it.
    let arena = unsafe { Arena::new(base as *mut u8) };
    if !arena.is_known() {
        sys::die(
            "the program was built with another version of deadheat than the one that records it: build it again",
        );
    }
    BASE.store(base as *mut u8, Ordering::Release);
    Recorder::attach(s, arena);
    acts::begun(s);
    let OsThread {
        stack_low,
        stack_high,
        ..
    } = s.os;
    acts::memory(s, MemoryKind::Stack, stack_low, stack_high - stack_low);
    announce(rt, s);
}

/// Tells which modules there are, before they are needed: a program that is killed cannot do so later.
pub fn announce_modules(rt: &Runtime) {
    if arena().is_some() {
        let loaded = modules::loaded();
        rt.stream
            .compose(rt, |out| rt.modules.announce_these(loaded, out));
    }
}

/// Tells who this strand is, before the checker meets it. Whoever only listens to the stream does not remember it.
pub fn announce(rt: &Runtime, s: &mut Strand) {
    if s.recording() {
        #[cfg(feature = "export")]
        {
            let pointer = crate::interpose::thread_memory::pointer(&s.os);
            let low = s.os.tls_low;
            acts::memory(s, MemoryKind::ThreadLocal, low, pointer.saturating_sub(low));
        }
        rt.stream
            .compose(rt, |out| finding::thread_line(rt, s.thread, "strand", out));
    }
}

/// In the child of a fork: the frames are the parent's, so the child checks itself, as it would have without a recording. What
/// its parent's threads did before cannot race with it.
pub fn became_child(rt: &Runtime, s: &mut Strand) {
    if arena().is_none() {
        return;
    }
    BASE.store(core::ptr::null_mut(), Ordering::Release);
    if s.recording() {
        Recorder::abandon(s);
        s.table = rt.shadow.table().cast();
        s.note_locks(rt);
    }
}

/// The program is at its end.
pub fn finish() {
    if let Some(arena) = arena() {
        arena.header().ended.store(1, Ordering::Release);
    }
}
