//! The other side of a program that records: a thread of this command takes its frames while it runs, and checks them or
//! writes them into a file.
//!
//! The [`crate::run`] loop stays as it is: it listens to the raw stream, passes each line on to the thread, and shows what
//! the thread finds as if the program had told it.

pub mod check;
mod live;

pub use live::Live;

use crate::error::{Failure, Result};
use crate::heap;
use deadheat_frames::{Setup, Shared, Taker};
use nix::sys::signal::{SigSet, SigmaskHow};
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Lines of the raw stream, from the thread to the loop.
pub struct Tell {
    lines: Sender<String>,
    bell: PipeWriter,
}

impl Tell {
    /// Says something as the program's runtime would: a `finding`, a `loss`, a `note`.
    pub fn line(&mut self, line: String) {
        if self.lines.send(line).is_ok() {
            let _ = self.bell.write(&[0]); // the loop is gone: nobody wants to know
        }
    }
}

/// What a thread leaves.
pub type Left = std::result::Result<(), String>;

/// A thread that takes the frames of a program.
pub struct Watch {
    frames: OwnedFd,
    over: Arc<AtomicBool>,
    tap: Sender<String>,
    told: Receiver<String>,
    bell: PipeReader,
    thread: JoinHandle<Left>,
    /// How long the thread needed after the program's end.
    pub lag: Duration,
}

impl Watch {
    /// Starts `work` on a thread, with the streams that a program will record into [`Self::frames`].
    pub fn start(
        setup: Setup,
        work: impl FnOnce(Live, Tell) -> Left + Send + 'static,
    ) -> Result<Watch> {
        let fail = |error: std::io::Error| {
            Failure::new(format!("cannot make the memory to record into: {error}"))
        };
        heap::in_large_pieces();
        let shared = Shared::new(setup).map_err(fail)?;
        let frames = shared.fd().try_clone_to_owned().map_err(fail)?;
        let over = Arc::new(AtomicBool::new(false));
        let (tap, lines) = channel();
        let (tell, told) = channel();
        let (bell, ring) = std::io::pipe().map_err(fail)?;
        let live = Live::new(Taker::new(shared), lines, Arc::clone(&over));
        let tell = Tell {
            lines: tell,
            bell: ring,
        };
        // The loop reads signals from a descriptor, which works only if no thread takes them: the new one inherits this.
        let unblocked = SigSet::all()
            .thread_swap_mask(SigmaskHow::SIG_SETMASK)
            .map_err(|error| fail(error.into()))?;
        let thread = std::thread::Builder::new()
            .name("checker".to_string())
            .spawn(move || work(live, tell));
        unblocked
            .thread_set_mask()
            .map_err(|error| fail(error.into()))?;
        let thread = thread.map_err(fail)?;
        Ok(Watch {
            frames,
            over,
            tap,
            told,
            bell,
            thread,
            lag: Duration::ZERO,
        })
    }

    /// To be handed to the program.
    pub fn frames(&self) -> BorrowedFd<'_> {
        self.frames.as_fd()
    }

    /// Where the lines of the program's raw stream go, too.
    pub fn tap(&self) -> Sender<String> {
        self.tap.clone()
    }

    /// Readable when [`Self::told`] has something.
    pub fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// What the thread has said since the last time, after the bell.
    pub fn told(&mut self) -> Vec<String> {
        let mut rings = [0; 64];
        let _ = self.bell.read(&mut rings);
        self.told.try_iter().collect()
    }

    /// The program is gone: what the thread still says, and how it ended.
    pub fn end(self) -> (Vec<String>, Left, Duration) {
        let since = Instant::now();
        self.over.store(true, Ordering::Release);
        drop(self.tap);
        // Ends when the thread drops its side.
        let said: Vec<String> = self.told.iter().collect();
        let left = self
            .thread
            .join()
            .unwrap_or_else(|_| Err("the checker panicked".to_string()));
        (said, left, since.elapsed())
    }
}
