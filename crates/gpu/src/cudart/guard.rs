//! Loads and stores of the program itself to managed memory, while work that uses it has not been waited for.
//!
//! The pages that such work touched are protected until the host has waited: against everything if the work wrote them,
//! against writing if it only read. The program's access then stops in a signal handler, which compares it with what
//! the work did, byte by byte, opens the page for this one instruction, and closes it again. While work is being done
//! here nothing is protected, so what other threads of the program do meanwhile is not seen.
//!
//! Left alone: programs that handle SIGSEGV themselves, processors other than x86-64, and `DEADHEAT_GPU_MANAGED=0`.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};

use crate::check::Footprint;
use crate::check::footprint::Touch;

use super::ops;

const PAGE: u64 = 4096;
/// A page whose accesses stopped so often is left open until more work is asked for.
const MOST_STOPS: u32 = 256;

#[derive(Clone, Copy)]
struct Closed {
    page: u64,
    protection: c_int,
    stops: u32,
}

#[derive(Default)]
struct Guard {
    /// Managed blocks: start and length, in whole pages.
    blocks: Vec<(u64, u64)>,
    closed: Vec<Closed>,
}

static GUARD: LazyLock<Mutex<Guard>> = LazyLock::new(Mutex::default);
/// Operations that are being done.
static BUSY: AtomicUsize = AtomicUsize::new(0);
/// Are there managed blocks at all?
static USED: AtomicBool = AtomicBool::new(false);

/// As long as one lives, nothing is protected.
pub struct Busy(());

impl Busy {
    pub fn begin() -> Busy {
        BUSY.fetch_add(1, Ordering::SeqCst);
        if USED.load(Ordering::Relaxed)
            && let Ok(mut g) = GUARD.lock()
        {
            open_all(&mut g);
        }
        Busy(())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        BUSY.fetch_sub(1, Ordering::SeqCst);
    }
}

fn protect(page: u64, protection: c_int) {
    // SAFETY: `page` is one of a block that `alloc` has mapped and nobody has unmapped.
    unsafe { libc::mprotect(page as *mut c_void, PAGE as usize, protection) };
}

fn open_all(g: &mut Guard) {
    for c in g.closed.drain(..) {
        protect(c.page, libc::PROT_READ | libc::PROT_WRITE);
    }
}

/// Zeroed pages for a managed block.
pub fn alloc(len: u64) -> Option<u64> {
    let n = len.checked_next_multiple_of(PAGE)?;
    // SAFETY: a new mapping, of no interest to anybody else.
    let p = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            usize::try_from(n).ok()?,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if p == libc::MAP_FAILED {
        return None;
    }
    let at = p as u64;
    GUARD.lock().ok()?.blocks.push((at, n));
    USED.store(true, Ordering::Relaxed);
    Some(at)
}

/// The block is gone; false if it is none of these.
pub fn free(at: u64) -> bool {
    let Ok(mut g) = GUARD.lock() else {
        return false;
    };
    let Some(k) = g.blocks.iter().position(|b| b.0 == at) else {
        return false;
    };
    let (start, n) = g.blocks.swap_remove(k);
    g.closed.retain(|c| !(start..start + n).contains(&c.page));
    // SAFETY: mapped by `alloc`, and taken off the list, so nobody unmaps it twice.
    unsafe { libc::munmap(start as *mut c_void, n as usize) };
    true
}

/// Protects what the work that the host has not waited for touched.
pub fn close<'a>(work: impl Iterator<Item = &'a Footprint>) {
    if !USED.load(Ordering::Relaxed) || BUSY.load(Ordering::SeqCst) != 0 {
        return;
    }
    let Ok(mut g) = GUARD.lock() else { return };
    let old = std::mem::take(&mut g.closed);
    let mut pages = std::collections::BTreeMap::new();
    for foot in work {
        for &(start, n) in &g.blocks {
            for (from, to, written) in foot.spans(start, start + n) {
                for page in (from / PAGE..=(to - 1) / PAGE).map(|p| p * PAGE) {
                    *pages.entry(page).or_insert(false) |= written;
                }
            }
        }
    }
    if !pages.is_empty() && !machine::ready() {
        pages.clear();
    }
    for c in &old {
        if !pages.contains_key(&c.page) {
            protect(c.page, libc::PROT_READ | libc::PROT_WRITE);
        }
    }
    for (page, written) in pages {
        let protection = if written {
            libc::PROT_NONE
        } else {
            libc::PROT_READ
        };
        protect(page, protection);
        let before = old.iter().find(|c| c.page == page);
        g.closed.push(Closed {
            page,
            protection,
            stops: before.map_or(0, |c| c.stops),
        });
    }
}

/// An access of the program has stopped: tells of it if it races. True if the instruction may go on, and whether its
/// page is to be closed again.
fn stopped(addr: u64, writes: bool, pc: u64) -> Option<bool> {
    let page = addr / PAGE * PAGE;
    let inside = |b: &(u64, u64)| (b.0..b.0 + b.1).contains(&addr);
    if !GUARD.lock().ok()?.blocks.iter().any(inside) {
        return None;
    }
    let mut foot = Footprint::default();
    foot.range(addr, 1, if writes { Touch::Write } else { Touch::Read });
    ops::host_touches(pc, &foot);
    let mut g = GUARD.lock().ok()?;
    protect(page, libc::PROT_READ | libc::PROT_WRITE);
    // Nothing to close again if the host has just been told that the work is done, or another thread opened all.
    let c = g.closed.iter_mut().find(|c| c.page == page);
    Some(c.is_some_and(|c| {
        c.stops += 1;
        c.stops < MOST_STOPS
    }))
}

/// The instruction is over.
fn stepped(page: u64) {
    if let Ok(g) = GUARD.lock()
        && let Some(c) = g.closed.iter().find(|c| c.page == page)
    {
        protect(page, c.protection);
    }
}

#[cfg(target_arch = "x86_64")]
mod machine {
    //! Signals, and one instruction at a time.

    use std::cell::Cell;
    use std::ffi::{c_int, c_void};
    use std::sync::Mutex;

    use super::PAGE;

    const TRAP_FLAG: i64 = 0x100;
    const WRITES: i64 = 2;

    thread_local! {
        static STEPPING: Cell<u64> = const { Cell::new(0) };
    }

    /// What handled the two signals before.
    static BEFORE: Mutex<Option<[libc::sigaction; 2]>> = Mutex::new(None);

    type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

    fn action(of: Handler) -> libc::sigaction {
        // SAFETY: all zero is a valid value of this structure.
        let mut a: libc::sigaction = unsafe { std::mem::zeroed() };
        a.sa_sigaction = of as *const () as usize;
        a.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        a
    }

    fn current(signal: c_int) -> usize {
        // SAFETY: asks only.
        unsafe {
            let mut a: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut a);
            a.sa_sigaction
        }
    }

    /// Are our handlers the ones that will be called?
    pub fn ready() -> bool {
        let Ok(mut before) = BEFORE.lock() else {
            return false;
        };
        let ours = segv as *const () as usize;
        if before.is_some() {
            return current(libc::SIGSEGV) == ours;
        }
        let off = std::env::var("DEADHEAT_GPU_MANAGED").is_ok_and(|v| v == "0");
        let free = |s| current(s) == libc::SIG_DFL;
        if off || !free(libc::SIGSEGV) || !free(libc::SIGTRAP) {
            return false;
        }
        // SAFETY: both handlers have the signature that SA_SIGINFO asks for.
        unsafe {
            let mut old: [libc::sigaction; 2] = std::mem::zeroed();
            libc::sigaction(libc::SIGSEGV, &action(segv), &raw mut old[0]);
            libc::sigaction(libc::SIGTRAP, &action(trap), &raw mut old[1]);
            *before = Some(old);
        }
        true
    }

    /// The signal is not ours: lets it happen again without us.
    fn give_back(signal: c_int, which: usize) {
        if let Ok(b) = BEFORE.lock()
            && let Some(old) = &*b
        {
            // SAFETY: what was there before.
            unsafe { libc::sigaction(signal, &raw const old[which], std::ptr::null_mut()) };
        }
    }

    extern "C" fn segv(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
        // SAFETY: the kernel's own structures, alive until the handler returns.
        let (addr, registers) = unsafe {
            (
                (*info).si_addr() as u64,
                &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs,
            )
        };
        let pc = registers[libc::REG_RIP as usize] as u64;
        let writes = registers[libc::REG_ERR as usize] & WRITES != 0;
        match super::stopped(addr, writes, pc) {
            Some(true) => {
                STEPPING.set(addr / PAGE * PAGE);
                registers[libc::REG_EFL as usize] |= TRAP_FLAG;
            }
            Some(false) => {}
            None => give_back(signal, 0),
        }
    }

    extern "C" fn trap(signal: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
        let page = STEPPING.replace(0);
        if page == 0 {
            give_back(signal, 1);
            return;
        }
        // SAFETY: as above.
        let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
        registers[libc::REG_EFL as usize] &= !TRAP_FLAG;
        super::stepped(page);
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod machine {
    pub fn ready() -> bool {
        false
    }
}
