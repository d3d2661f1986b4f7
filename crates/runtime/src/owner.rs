//! Whose stack or thread-local storage an address lies in, and in which function's frame.
//!
//! The frame is found without unwinding: each instrumented function notes its return address when it is entered, and
//! that very address lies at the upper end of its frame. So the first noted return address above a variable ends the
//! frame that the variable is in.

use std_alloc::vec::Vec;

use crate::callstack::FRAME_BYTES;
use crate::intern::StackId;
use crate::runtime::Runtime;
use crate::strand::{OsThread, Strand};
use crate::sys;
use crate::threads::ThreadId;

/// How far up a stack the end of a frame is looked for.
const FARTHEST: usize = 8 << 20;
/// Frames that are looked at, and accesses whose place may tell what function the innermost one is.
const MOST_FRAMES: usize = 4096;
const LOOK_BACK: u64 = 256;

/// A part of a thread's stack.
pub struct OnStack {
    pub thread: ThreadId,
    pub low: usize,
    pub high: usize,
    pub frame: Option<Frame>,
}

/// The frame of a function.
pub struct Frame {
    /// Canonical frame address: one past the return address.
    pub end: usize,
    /// A program counter in the function, then the return addresses of it and of its callers.
    pub stack: Vec<u64>,
}

/// The thread on whose stack `addr` lies.
pub fn on_stack(rt: &Runtime, addr: usize) -> Option<OnStack> {
    let mut found = None;
    let mut seen = None;
    rt.threads.each(|thread, t| {
        if t.strand.is_null() {
            return;
        }
        // SAFETY: a strand in the registry lives while its lock is held; the bounds are set before it is there.
        let os = unsafe { (*t.strand).os };
        if (os.stack_low..os.stack_high).contains(&addr)
            && tls_range(&os).is_none_or(|r| !r.contains(&addr))
        {
            found = Some(OnStack {
                thread,
                low: os.stack_low,
                high: os.stack_high,
                frame: None,
            });
            // SAFETY: as above.
            seen = unsafe { calls_of(t.strand) };
        }
    });
    let mut on = found?;
    on.frame = seen.and_then(|(calls, slot, seq)| frame(rt, &calls, slot, seq, addr, on.high));
    Some(on)
}

/// The return addresses that a strand has noted, outermost first, its slot and its last number. Its thread may run on
/// meanwhile: then they may be mixed, and most likely no frame is found with them.
///
/// # Safety
/// The strand must be alive.
unsafe fn calls_of(s: *mut Strand) -> Option<(Vec<u64>, u16, u64)> {
    // SAFETY: the strand lives; each word is read at once.
    let (base, top, slot, seq) = unsafe {
        (
            sys::glimpse(&raw const (*s).frames_base) as usize,
            sys::glimpse(&raw const (*s).frames_top) as usize,
            (*s).slot,
            sys::glimpse(&raw const (*s).seq),
        )
    };
    let count = top.checked_sub(base)? / FRAME_BYTES;
    if count == 0 || count > MOST_FRAMES {
        return None;
    }
    const WORDS: usize = FRAME_BYTES / 8;
    let mut frames = std_alloc::vec![0u64; count * WORDS];
    if copy(base, &mut frames) == frames.len() {
        let calls = frames.iter().step_by(WORDS).copied().collect();
        Some((calls, slot, seq))
    } else {
        None
    }
}

fn frame(
    rt: &Runtime,
    calls: &[u64],
    slot: u16,
    seq: u64,
    addr: usize,
    high: usize,
) -> Option<Frame> {
    let (at, call) = first_noted(
        calls,
        addr.next_multiple_of(8),
        high.min(addr.saturating_add(FARTHEST)),
    )?;
    let inner = match calls.get(call + 1) {
        Some(&pc) => pc,
        None => innermost(rt, calls, slot, seq)?,
    };
    let stack = core::iter::once(inner)
        .chain(calls[..=call].iter().rev().copied())
        .collect();
    Some(Frame { end: at + 8, stack })
}

/// The first word of the stack that is one of `calls`, and the innermost of those that it is.
fn first_noted(calls: &[u64], from: usize, to: usize) -> Option<(usize, usize)> {
    let mut words = [0u64; 512];
    let mut at = from;
    while at + 8 <= to {
        let wanted = ((to - at) / 8).min(words.len());
        let got = copy(at, &mut words[..wanted]);
        for (i, word) in words[..got].iter().enumerate() {
            if let Some(call) = calls.iter().rposition(|pc| pc == word) {
                return Some((at + i * 8, call));
            }
        }
        if got < wanted {
            return None;
        }
        at += got * 8;
    }
    None
}

/// A program counter in the function that was called last: where it made one of its latest accesses.
fn innermost(rt: &Runtime, calls: &[u64], slot: u16, seq: u64) -> Option<u64> {
    let caller = calls
        .iter()
        .fold(StackId(0), |caller, &pc| rt.stacks.push(caller, pc));
    let history = rt.histories.of(slot);
    (seq.saturating_sub(LOOK_BACK)..=seq)
        .rev()
        .filter_map(|seq| history.record(seq))
        .find(|record| record.caller == caller && record.place.touch().is_access())
        .map(|record| record.place.pc())
}

/// Copies words of this process's memory, whatever becomes of it meanwhile; how many.
fn copy(from: usize, to: &mut [u64]) -> usize {
    const PROCESS_VM_READV: usize = 310;
    let local = [to.as_mut_ptr() as usize, to.len() * 8];
    let remote = [from, to.len() * 8];
    let me = sys::getpid() as usize;
    // SAFETY: the kernel writes into `to` alone, and checks what it reads.
    let n = unsafe {
        sys::syscall(
            PROCESS_VM_READV,
            [
                me,
                local.as_ptr() as usize,
                1,
                remote.as_ptr() as usize,
                1,
                0,
            ],
        )
    };
    n.max(0) as usize / 8
}

fn tls_range(os: &OsThread) -> Option<core::ops::Range<usize>> {
    if os.tls_low < os.tls_high {
        Some(os.tls_low..os.tls_high)
    } else {
        None
    }
}

/// The thread whose thread-local storage `addr` lies in, and how far below its thread pointer.
pub fn thread_local(rt: &Runtime, addr: usize) -> Option<(ThreadId, Option<usize>)> {
    let mut found = None;
    rt.threads.each(|thread, t| {
        if !t.strand.is_null() {
            // SAFETY: as in `on_stack`.
            let os = unsafe { (*t.strand).os };
            if tls_range(&os).is_some_and(|r| r.contains(&addr)) {
                found = Some((
                    thread,
                    thread_pointer(&os)
                        .and_then(|pointer| pointer.checked_sub(addr))
                        .filter(|&below| below > 0),
                ));
            }
        }
    });
    found
}

fn thread_pointer(os: &OsThread) -> Option<usize> {
    #[cfg(feature = "export")]
    {
        Some(crate::interpose::thread_memory::pointer(os))
    }
    #[cfg(not(feature = "export"))]
    {
        let _ = os;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_noted_word_above_ends_the_frame() {
        let stack = [7u64, 100, 3, 200, 100, 5];
        let start = stack.as_ptr() as usize;
        let end = start + size_of_val(&stack);
        assert_eq!(first_noted(&[200, 100], start, end), Some((start + 8, 1)));
        assert_eq!(
            first_noted(&[200, 100], start + 16, end),
            Some((start + 24, 0))
        );
        assert_eq!(
            first_noted(&[100, 200, 100], start + 32, end),
            Some((start + 32, 2))
        );
        assert_eq!(first_noted(&[9], start, end), None);
        assert_eq!(first_noted(&[9], 8, 64), None, "nothing is mapped there");
    }
}
