//! How this command gets its own memory from the kernel while it checks.

#![allow(unsafe_code)]

/// Lets the C library take memory in large pieces and keep what will soon be needed again.
///
/// A thread other than the first one gets its memory page by page, with a system call for each few of them, and large blocks one by one:
/// that took between a twentieth and a tenth of the time in which three recordings were checked.
pub fn in_large_pieces() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        use nix::libc::{M_ARENA_MAX, M_MMAP_THRESHOLD, M_TOP_PAD, M_TRIM_THRESHOLD, mallopt};
        const MIB: i32 = 1 << 20;
        // SAFETY: settings of the allocator, which may change at any time; what it does not know it refuses.
        unsafe {
            mallopt(M_ARENA_MAX, 1);
            mallopt(M_TOP_PAD, 8 * MIB);
            mallopt(M_TRIM_THRESHOLD, 32 * MIB);
            mallopt(M_MMAP_THRESHOLD, 16 * MIB);
        }
    }
}
