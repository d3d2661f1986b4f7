//! Order that the detector cannot see: a counter in memory, changed and read by assembler.

use std::arch::asm;
use std::cell::UnsafeCell;

/// Counts how many have come.
pub struct Hidden(UnsafeCell<u64>);

// SAFETY: only the assembler below touches it, with a locked instruction and a load that the processor keeps whole.
unsafe impl Sync for Hidden {}

impl Hidden {
    /// Nobody has come.
    pub const fn new() -> Self {
        Self(UnsafeCell::new(0))
    }

    /// One has come.
    pub fn come(&self) {
        // SAFETY: adds one to memory of our own.
        unsafe { asm!("lock inc qword ptr [{p}]", p = in(reg) self.0.get()) };
    }

    /// Waits until so many have come.
    pub fn await_count(&self, count: u64) {
        loop {
            let now: u64;
            // SAFETY: reads memory of our own.
            unsafe {
                asm!("mov {now}, qword ptr [{p}]", now = out(reg) now, p = in(reg) self.0.get())
            };
            if now >= count {
                return;
            }
            // SAFETY: sched_yield has no arguments.
            unsafe { asm!("syscall", inout("rax") 24_u64 => _, out("rcx") _, out("r11") _) };
        }
    }
}
