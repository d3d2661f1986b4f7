//! The kernel, by raw system calls: nothing here touches `errno`, libc or a hooked function.
//!
//! x86-64 Linux only; another machine gets its own copy of this file and of `abi::entry`.

use core::arch::asm;
use core::ffi::c_void;

/// A system call with up to six arguments; the result is the kernel's, errors are `-errno`.
///
/// # Safety
/// The arguments must be right for call `nr`.
#[inline]
pub unsafe fn syscall(nr: usize, a: [usize; 6]) -> isize {
    let ret: isize;
    // SAFETY: the kernel keeps all registers but rax, rcx and r11; the caller vouches for the arguments.
    unsafe {
        asm!("syscall", inlateout("rax") nr as isize => ret,
             in("rdi") a[0], in("rsi") a[1], in("rdx") a[2], in("r10") a[3], in("r8") a[4], in("r9") a[5],
             lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    ret
}

pub mod nr {
    //! Numbers of the system calls we use.
    pub const READ: usize = 0;
    pub const WRITE: usize = 1;
    pub const OPEN: usize = 2;
    pub const CLOSE: usize = 3;
    pub const FSTAT: usize = 5;
    pub const MMAP: usize = 9;
    pub const MPROTECT: usize = 10;
    pub const MUNMAP: usize = 11;
    pub const RT_SIGPROCMASK: usize = 14;
    pub const ACCESS: usize = 21;
    pub const SCHED_YIELD: usize = 24;
    pub const MADVISE: usize = 28;
    pub const NANOSLEEP: usize = 35;
    pub const GETPID: usize = 39;
    pub const SENDTO: usize = 44;
    pub const SHUTDOWN: usize = 48;
    pub const SOCKETPAIR: usize = 53;
    pub const VFORK: usize = 58;
    pub const EXECVE: usize = 59;
    pub const WAIT4: usize = 61;
    pub const KILL: usize = 62;
    pub const GETCWD: usize = 79;
    pub const READLINK: usize = 89;
    pub const FSTATFS: usize = 138;
    pub const GETTID: usize = 186;
    pub const FUTEX: usize = 202;
    pub const EXIT_GROUP: usize = 231;
    pub const TGKILL: usize = 234;
    pub const MEMBARRIER: usize = 324;
}

const PROT_READ: usize = 1;
const PROT_READ_WRITE: usize = 3;
const MAP_PRIVATE_ANON: usize = 0x22;
const MAP_NORESERVE: usize = 0x4000;

/// Fresh zeroed memory, or null.
pub fn map(bytes: usize) -> *mut u8 {
    map_with(bytes, PROT_READ_WRITE, MAP_PRIVATE_ANON)
}

/// Address space that reads as zero and costs neither memory nor commit charge until [`make_writable`].
pub fn reserve_zeroes(bytes: usize) -> *mut u8 {
    map_with(bytes, PROT_READ, MAP_PRIVATE_ANON | MAP_NORESERVE)
}

fn map_with(bytes: usize, prot: usize, flags: usize) -> *mut u8 {
    // SAFETY: an anonymous private mapping at an address of the kernel's choice touches nothing that exists.
    let p = unsafe { mapping::map(bytes, prot, flags) };
    if p < 0 {
        core::ptr::null_mut()
    } else {
        p as *mut u8
    }
}

#[cfg(not(test))]
mod mapping {
    //! Mappings by system calls, as everything here.
    use super::{nr, syscall};

    /// # Safety
    /// As for mmap(2).
    pub unsafe fn map(bytes: usize, prot: usize, flags: usize) -> isize {
        // SAFETY: by the contract.
        unsafe { syscall(nr::MMAP, [0, bytes, prot, flags, usize::MAX, 0]) }
    }

    /// # Safety
    /// As for munmap(2).
    pub unsafe fn unmap(start: *mut u8, bytes: usize) {
        // SAFETY: by the contract.
        unsafe { syscall(nr::MUNMAP, [start as usize, bytes, 0, 0, 0, 0]) };
    }
}

#[cfg(test)]
mod mapping {
    //! Mappings by the C library: a Deadheat that checks the runtime's own tests must see that what one test gave back and
    //! another one got is fresh.
    use core::ffi::{c_int, c_void};

    unsafe extern "C" {
        fn mmap(
            at: *mut c_void,
            bytes: usize,
            prot: c_int,
            flags: c_int,
            fd: c_int,
            from: i64,
        ) -> isize;
        fn munmap(at: *mut c_void, bytes: usize) -> c_int;
    }

    /// # Safety
    /// As for mmap(2).
    pub unsafe fn map(bytes: usize, prot: usize, flags: usize) -> isize {
        // SAFETY: by the contract.
        unsafe {
            mmap(
                core::ptr::null_mut(),
                bytes,
                prot as c_int,
                flags as c_int,
                -1,
                0,
            )
        }
    }

    /// # Safety
    /// As for munmap(2).
    pub unsafe fn unmap(start: *mut u8, bytes: usize) {
        // SAFETY: by the contract.
        unsafe { munmap(start.cast(), bytes) };
    }
}

/// What is at `p` just now, while its owner may be changing it: words of 8 bytes or less come whole.
///
/// Owners write such words with plain stores, in assembler too, and whoever looks allows for any value that was ever there. By
/// the letter that is a race, so in the runtime's own tests, which Deadheat checks, it looks by an instruction that no
/// compiler instruments: only what is looked at on purpose is left out.
///
/// # Safety
/// `p` must be readable and aligned, and every value that its owner writes there a good one.
#[inline(always)]
pub unsafe fn glimpse<T: Copy>(p: *const T) -> T {
    // SAFETY: by the contract.
    unsafe {
        #[cfg(test)]
        return unseen::read(p);
        #[cfg(not(test))]
        core::ptr::read_volatile(p)
    }
}

#[cfg(test)]
mod unseen {
    use core::arch::asm;
    use core::mem::MaybeUninit;

    /// # Safety
    /// As for [`super::glimpse`].
    pub unsafe fn read<T: Copy>(p: *const T) -> T {
        let mut value = MaybeUninit::<T>::uninit();
        let (from, to) = (p.cast::<u8>(), value.as_mut_ptr().cast::<u8>());
        let (mut at, size) = (0, size_of::<T>());
        while at < size {
            // As many bytes at once as are left and the place is aligned to.
            let whole = 1 << (from as usize + at).trailing_zeros().min(3);
            let left = 1 << (size - at).ilog2().min(3);
            let bytes = usize::min(whole, left);
            // SAFETY: by the contract, and within the value.
            unsafe { word(from.add(at), to.add(at), bytes) };
            at += bytes;
        }
        // SAFETY: all of it was read.
        unsafe { value.assume_init() }
    }

    /// # Safety
    /// `from` and `to` must be good for so many bytes: 1, 2, 4 or 8.
    unsafe fn word(from: *const u8, to: *mut u8, bytes: usize) {
        // SAFETY: by the contract.
        unsafe {
            match bytes {
                8 => {
                    asm!("mov {w}, [{f}]", "mov [{t}], {w}", w = out(reg) _, f = in(reg) from, t = in(reg) to)
                }
                4 => {
                    asm!("mov {w:e}, [{f}]", "mov [{t}], {w:e}", w = out(reg) _, f = in(reg) from, t = in(reg) to)
                }
                2 => {
                    asm!("mov {w:x}, [{f}]", "mov [{t}], {w:x}", w = out(reg) _, f = in(reg) from, t = in(reg) to)
                }
                _ => {
                    asm!("mov {w}, [{f}]", "mov [{t}], {w}", w = out(reg_byte) _, f = in(reg) from, t = in(reg) to)
                }
            }
        }
    }
}

/// Makes pages of a [`reserve_zeroes`] area writable. False if the kernel has no memory for them.
///
/// # Safety
/// The range must lie in such an area, page aligned.
pub unsafe fn make_writable(start: *mut u8, bytes: usize) -> bool {
    // SAFETY: by the contract the range is ours.
    unsafe {
        syscall(
            nr::MPROTECT,
            [start as usize, bytes, PROT_READ_WRITE, 0, 0, 0],
        ) == 0
    }
}

/// Gives the pages back to the kernel; they read as zero again.
///
/// # Safety
/// The range must be ours, page aligned, and nothing in it needed any more.
pub unsafe fn forget_pages(start: *mut u8, bytes: usize) {
    const MADV_DONTNEED: usize = 4;
    // SAFETY: by the contract.
    unsafe { syscall(nr::MADVISE, [start as usize, bytes, MADV_DONTNEED, 0, 0, 0]) };
}

/// Unmaps what [`map`] or [`reserve_zeroes`] gave.
///
/// # Safety
/// The range must be such a mapping, whole, and never used again.
pub unsafe fn unmap(start: *mut u8, bytes: usize) {
    // SAFETY: by the contract.
    unsafe { mapping::unmap(start, bytes) };
}

/// Writes all of `bytes`, as far as the descriptor takes them; false if it does not.
pub fn write_all(fd: i32, mut bytes: &[u8]) -> bool {
    const EINTR: isize = -4;
    while !bytes.is_empty() {
        // SAFETY: the slice is readable memory of that length.
        let n = unsafe {
            syscall(
                nr::WRITE,
                [fd as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0],
            )
        };
        if n == EINTR {
            continue;
        }
        if n <= 0 {
            return false;
        }
        bytes = &bytes[n as usize..];
    }
    true
}

/// Sends on a socket without ever raising SIGPIPE; false if the other end is gone.
pub fn send_all(fd: i32, mut bytes: &[u8]) -> bool {
    const EINTR: isize = -4;
    const MSG_NOSIGNAL: usize = 0x4000;
    while !bytes.is_empty() {
        // SAFETY: the slice is readable memory of that length.
        let n = unsafe {
            syscall(
                nr::SENDTO,
                [
                    fd as usize,
                    bytes.as_ptr() as usize,
                    bytes.len(),
                    MSG_NOSIGNAL,
                    0,
                    0,
                ],
            )
        };
        if n == EINTR {
            continue;
        }
        if n <= 0 {
            return false;
        }
        bytes = &bytes[n as usize..];
    }
    true
}

/// Sends bytes and a descriptor with them.
pub fn send_with(fd: i32, bytes: &[u8], carried: i32) -> bool {
    const SENDMSG: usize = 46;
    const MSG_NOSIGNAL: usize = 0x4000;
    const SOL_SOCKET: u64 = 1;
    const SCM_RIGHTS: u64 = 1;
    // `struct cmsghdr` and one descriptor: length, level and type, the number.
    let control: [u64; 3] = [20, SOL_SOCKET | SCM_RIGHTS << 32, carried as u64];
    let part: [usize; 2] = [bytes.as_ptr() as usize, bytes.len()];
    // `struct msghdr`: no name, one part, the control message, no flags.
    let message: [usize; 7] = [
        0,
        0,
        part.as_ptr() as usize,
        1,
        control.as_ptr() as usize,
        size_of_val(&control),
        0,
    ];
    loop {
        // SAFETY: all of it is in place for the call.
        let sent = unsafe {
            let at = message.as_ptr() as usize;
            syscall(SENDMSG, [fd as usize, at, MSG_NOSIGNAL, 0, 0, 0])
        };
        match sent {
            -4 => {}
            n if n <= 0 => return false,
            n => return send_all(fd, &bytes[n as usize..]),
        }
    }
}

/// Closes a descriptor of ours.
pub fn close(fd: i32) {
    // SAFETY: nobody else knows the number.
    unsafe { syscall(nr::CLOSE, [fd as usize, 0, 0, 0, 0, 0]) };
}

/// Reads once; the number of bytes, 0 at the end or on an error.
pub fn read_some(fd: i32, into: &mut [u8]) -> usize {
    const EINTR: isize = -4;
    loop {
        // SAFETY: the slice is writable memory of that length.
        let n = unsafe {
            syscall(
                nr::READ,
                [fd as usize, into.as_mut_ptr() as usize, into.len(), 0, 0, 0],
            )
        };
        if n != EINTR {
            return n.max(0) as usize;
        }
    }
}

/// Waits while `*word == expected`.
pub fn futex_wait(word: &core::sync::atomic::AtomicU32, expected: u32) {
    const FUTEX_WAIT_PRIVATE: usize = 128;
    // SAFETY: the word outlives the call.
    unsafe {
        syscall(
            nr::FUTEX,
            [
                word.as_ptr() as usize,
                FUTEX_WAIT_PRIVATE,
                expected as usize,
                0,
                0,
                0,
            ],
        )
    };
}

/// Wakes up to `n` waiters of `word`.
pub fn futex_wake(word: &core::sync::atomic::AtomicU32, n: usize) {
    const FUTEX_WAKE_PRIVATE: usize = 129;
    // SAFETY: the kernel only uses the address as a key.
    unsafe {
        syscall(
            nr::FUTEX,
            [word.as_ptr() as usize, FUTEX_WAKE_PRIVATE, n, 0, 0, 0],
        )
    };
}

pub fn gettid() -> u32 {
    // SAFETY: takes no arguments, cannot fail.
    unsafe { syscall(nr::GETTID, [0; 6]) as u32 }
}

pub fn getpid() -> u32 {
    // SAFETY: takes no arguments, cannot fail.
    unsafe { syscall(nr::GETPID, [0; 6]) as u32 }
}

pub fn yield_now() {
    // SAFETY: takes no arguments, cannot fail.
    unsafe { syscall(nr::SCHED_YIELD, [0; 6]) };
}

/// Sleeps for a moment, or until a signal comes.
pub fn sleep(nanoseconds: usize) {
    let time = [0, nanoseconds];
    // SAFETY: the kernel reads two words that are there, and writes nothing.
    unsafe { syscall(nr::NANOSLEEP, [time.as_ptr() as usize, 0, 0, 0, 0, 0]) };
}

/// Asks the kernel for [`barrier_everywhere`]; false if it has none.
pub fn prepare_barrier_everywhere() -> bool {
    const REGISTER_PRIVATE_EXPEDITED: usize = 1 << 4;
    // SAFETY: touches no memory.
    unsafe { syscall(nr::MEMBARRIER, [REGISTER_PRIVATE_EXPEDITED, 0, 0, 0, 0, 0]) == 0 }
}

/// Returns when every running thread of this process has passed a full memory barrier.
pub fn barrier_everywhere() {
    const PRIVATE_EXPEDITED: usize = 1 << 3;
    // SAFETY: touches no memory.
    unsafe { syscall(nr::MEMBARRIER, [PRIVATE_EXPEDITED, 0, 0, 0, 0, 0]) };
}

/// The processor's cycle counter.
pub fn cycles() -> u64 {
    // SAFETY: reads a counter.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Ends the process when the runtime itself cannot go on: says why, exits with 2.
pub fn die(why: &str) -> ! {
    write_all(2, b"deadheat: the runtime cannot go on: ");
    write_all(2, why.as_bytes());
    write_all(2, b"\n");
    exit_group(2)
}

pub fn exit_group(code: i32) -> ! {
    loop {
        // SAFETY: does not return.
        unsafe { syscall(nr::EXIT_GROUP, [code as usize, 0, 0, 0, 0, 0]) };
    }
}

/// The zero-terminated string at `p`, without its end; empty for null.
///
/// # Safety
/// `p` must be null or a zero-terminated string that lives as long as the result is used.
pub unsafe fn bytes_of<'a>(p: *const core::ffi::c_char) -> &'a [u8] {
    if p.is_null() {
        return &[];
    }
    let mut n = 0;
    // SAFETY: the string is terminated, so each byte up to its end can be read.
    unsafe {
        while *p.add(n) != 0 {
            n += 1;
        }
        core::slice::from_raw_parts(p as *const u8, n)
    }
}

/// `memset(p, 0, n)` that no hook can see.
///
/// # Safety
/// `p` must point to `n` writable bytes.
pub unsafe fn zero(p: *mut c_void, n: usize) {
    // SAFETY: by the contract; rep stosb writes n bytes from p upwards.
    unsafe {
        asm!("rep stosb", inout("rcx") n => _, inout("rdi") p => _, in("al") 0u8, options(nostack, preserves_flags));
    }
}

#[cfg(test)]
mod tests {
    use super::glimpse;

    #[test]
    fn a_glimpse_is_of_all_bytes() {
        #[derive(Clone, Copy, PartialEq, Debug)]
        struct Odd(u64, u32, u16, u8);
        let odd = Odd(1 << 60 | 5, 7 << 20, 300, 9);
        // SAFETY: nobody changes them.
        unsafe {
            assert_eq!(glimpse(&raw const odd), odd);
            assert_eq!(glimpse(&raw const odd.3), 9);
            assert_eq!(glimpse(&raw const odd.2), 300);
            assert_eq!(glimpse(&[3_u8; 13]), [3; 13]);
            assert!(glimpse(&Some(&odd)) == Some(&odd));
        }
    }
}
