//! Making and mapping an arena, outside of the program.

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};

use crate::layout::{Arena, Header, MAGIC, TOTAL_BYTES, VERSION};

/// Frames that may wait if the program waits when there are more: 1 MiB, which stay in the processor's cache, are taken in
/// some milliseconds, and are mapped once. Half as many make the checker half as late, and cost a queue with locks 20 % more.
pub const FEW: u32 = 32;
/// The same for a program that drops accesses rather than wait: 64 MiB.
pub const MANY: u32 = 2048;

/// What the program's side has to know.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// How many frames may wait for the taker before the program does.
    pub budget: u32,
    /// [`crate::DROP`], [`crate::STOP`] and [`crate::LATER`].
    pub flags: u32,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            budget: FEW,
            flags: 0,
        }
    }
}

/// An arena that this process has mapped.
#[derive(Debug)]
pub struct Shared {
    fd: OwnedFd,
    arena: Arena,
}

impl Shared {
    /// A new one. The program gets [`Self::fd`] and maps it too.
    pub fn new(setup: Setup) -> io::Result<Shared> {
        let fd = memfd_create(c"deadheat-frames", MFdFlags::MFD_CLOEXEC)?;
        let file = File::from(fd);
        file.set_len(TOTAL_BYTES as u64)?;
        let fd = OwnedFd::from(file);
        let length = NonZeroUsize::new(TOTAL_BYTES).ok_or(io::ErrorKind::InvalidInput)?;
        // SAFETY: a new mapping at a place of the kernel's choice.
        let base = unsafe {
            mmap(
                None,
                length,
                ProtFlags::PROT_READ | ProtFlags::PROT_WRITE,
                MapFlags::MAP_SHARED | MapFlags::MAP_NORESERVE,
                &fd,
                0,
            )
        }?;
        // SAFETY: mapped just now, all of it; unmapped when this is dropped.
        let arena = unsafe { Arena::new(base.as_ptr().cast()) };
        // SAFETY: nobody else has the memory yet, and all zeroes is a valid header.
        let header = unsafe { &mut *arena.base().cast::<Header>() };
        header.magic = MAGIC;
        header.version = VERSION;
        header.budget = setup.budget.max(1);
        header.flags = setup.flags;
        Ok(Shared { fd, arena })
    }

    pub fn arena(&self) -> Arena {
        self.arena
    }

    /// To be handed to the program.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(base) = std::ptr::NonNull::new(self.arena.base().cast()) {
            // SAFETY: the mapping that `new` made; whoever copied the arena must not use it longer than this.
            let _ = unsafe { munmap(base, TOTAL_BYTES) };
        }
    }
}
