//! May the hooks look at what the program is about to read, to have what it names fetched meanwhile?
//!
//! A hook is called right before its access, so the memory is there, and reading it once more changes nothing: but for the registers
//! of devices, which may do something whenever they are read. Once the program maps what is no plain memory, nothing is looked
//! at any more.

use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering};

use crate::sys;

/// Set for good when the program has mapped what may be a device.
pub static NEVER: AtomicBool = AtomicBool::new(false);

const ANONYMOUS: c_int = 0x20;

/// The program has mapped a file, or nothing but memory.
pub fn mapped(flags: c_int, fd: c_int) {
    if flags & ANONYMOUS == 0 && !is_file(fd) {
        NEVER.store(true, Ordering::Relaxed);
    }
}

/// Is what the descriptor names a file, whose pages are memory? Those of sysfs and procfs may be a device's.
fn is_file(fd: c_int) -> bool {
    const MODE: usize = 24 / 4;
    const KIND: u32 = 0o170_000;
    const REGULAR: u32 = 0o100_000;
    const NO_FILES: [u64; 2] = [0x6265_6572, 0x9fa0];
    let mut stat = [0u32; 144 / 4];
    let mut system = [0u64; 120 / 8];
    // SAFETY: room for what each of them writes.
    let known = unsafe {
        sys::syscall(
            sys::nr::FSTAT,
            [fd as usize, stat.as_mut_ptr() as usize, 0, 0, 0, 0],
        ) == 0
            && sys::syscall(
                sys::nr::FSTATFS,
                [fd as usize, system.as_mut_ptr() as usize, 0, 0, 0, 0],
            ) == 0
    };
    known && stat[MODE] & KIND == REGULAR && !NO_FILES.contains(&system[0])
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn files_are_memory_and_devices_are_not() {
        let is = |path: &str| is_file(File::open(path).expect(path).as_raw_fd());
        let own = std::env::current_exe().expect("this test is a file");
        assert!(is(own.to_str().expect("a plain path")));
        assert!(!is("/dev/zero"));
        assert!(!is("/proc/self/maps"));
        assert!(!is_file(-1));
    }
}
