//! A strand's frame is full: gets another one, waits for the checker if there is none, and notices if the checker is gone.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use deadheat_frames::{DROP, STOP};

use crate::record::Recorder;
use crate::runtime::RT;
use crate::sys::{self, nr};

/// What is to be written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Must {
    /// An act: without it the checker would see races that are none.
    Write,
    /// An access, which may be dropped if the user chose so.
    WriteOrDrop,
}

/// What came of it.
pub enum Got {
    /// A frame, and whether only acts may be written into it.
    Frame(u32, bool),
    /// No frame, and no need to wait for one.
    Nothing,
    /// Nobody takes frames any more.
    Deaf,
}

/// The checker is gone, and that was said.
static GONE: AtomicBool = AtomicBool::new(false);

/// The first frame of a strand; none if nobody takes any.
pub fn frame(recorder: &mut Recorder) -> Option<u32> {
    match next(recorder, Must::Write) {
        Got::Frame(frame, _) => Some(frame),
        Got::Nothing | Got::Deaf => None,
    }
}

/// Another frame for a strand.
pub fn next(recorder: &mut Recorder, must: Must) -> Got {
    if gone(recorder) {
        return Got::Deaf;
    }
    let arena = recorder.arena;
    if let Some(frame) = arena.take_frame(recorder.strand()) {
        return Got::Frame(frame, false);
    }
    let header = arena.header();
    if header.flags & DROP != 0 {
        if must == Must::WriteOrDrop {
            return Got::Nothing;
        }
        if let Some(frame) = arena.take_kept(recorder.strand()) {
            return Got::Frame(frame, true);
        }
    }
    header.waits.fetch_add(1, Ordering::Relaxed);
    let since = nanoseconds();
    let got = loop {
        header.waiters.fetch_add(1, Ordering::SeqCst);
        let seen = header.wake.load(Ordering::SeqCst);
        let frame = arena.take_frame(recorder.strand());
        if frame.is_none() {
            sleep(&header.wake, seen);
        }
        header.waiters.fetch_sub(1, Ordering::SeqCst);
        if let Some(frame) = frame {
            break Got::Frame(frame, false);
        }
        if gone(recorder) {
            break Got::Deaf;
        }
    };
    let waited = nanoseconds().saturating_sub(since);
    header.waited.fetch_add(waited, Ordering::Relaxed);
    got
}

/// Is the checker gone? Says so once, and ends the program if that is wanted.
fn gone(recorder: &Recorder) -> bool {
    if GONE.load(Ordering::Relaxed) {
        return true;
    }
    if !RT.stream.peer_gone() {
        return false;
    }
    let stop = recorder.arena.header().flags & STOP != 0;
    if !GONE.swap(true, Ordering::Relaxed) {
        let text: &[u8] = if stop {
            b"deadheat: the checker is gone; the program is stopped, as --if-checker-dies stop says\n"
        } else {
            b"deadheat: the checker is gone; the program goes on, and nothing is checked from here on\n"
        };
        sys::write_all(2, text);
    }
    if stop {
        sys::exit_group(2);
    }
    true
}

#[repr(C)]
struct Time {
    seconds: i64,
    nanoseconds: i64,
}

/// Waits while `*word == expected`, but not for long: the checker may be gone. The word is shared with it.
fn sleep(word: &AtomicU32, expected: u32) {
    const FUTEX_WAIT: usize = 0;
    let time = Time {
        seconds: 0,
        nanoseconds: 20_000_000,
    };
    // SAFETY: the word and the time outlive the call.
    unsafe {
        sys::syscall(
            nr::FUTEX,
            [
                word.as_ptr() as usize,
                FUTEX_WAIT,
                expected as usize,
                &raw const time as usize,
                0,
                0,
            ],
        )
    };
}

fn nanoseconds() -> u64 {
    const CLOCK_GETTIME: usize = 228;
    const MONOTONIC: usize = 1;
    let mut time = Time {
        seconds: 0,
        nanoseconds: 0,
    };
    // SAFETY: a place for the answer.
    unsafe {
        sys::syscall(
            CLOCK_GETTIME,
            [MONOTONIC, &raw mut time as usize, 0, 0, 0, 0],
        )
    };
    time.seconds as u64 * 1_000_000_000 + time.nanoseconds as u64
}
