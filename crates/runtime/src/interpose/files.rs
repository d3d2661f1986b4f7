//! Reading and writing through descriptors: the program's buffers are written and read, and data orders its two ends.

use core::ffi::{c_char, c_int, c_uint, c_void};

use crate::interpose;
use crate::interpose::{Call, signals};

/// `struct iovec`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Piece {
    pub base: *mut c_void,
    pub len: usize,
}

impl Call {
    /// `n` bytes came in through the descriptor; at the end of a stream its closing did.
    pub fn came_in(&mut self, fd: c_int, to: *mut c_void, n: isize) {
        if n < 0 {
            return;
        }
        self.writes(to, n as usize);
        if Call::brings_signals(fd) {
            self.brought_signals(to.addr(), n as usize);
        } else {
            self.received(fd);
        }
    }

    /// Records of signals came in, each with the signal's number first.
    fn brought_signals(&mut self, from: usize, bytes: usize) {
        const RECORD: usize = 128;
        for at in (0..bytes / RECORD).map(|i| from + i * RECORD) {
            // SAFETY: the kernel has just put whole records there.
            let signal = unsafe { (at as *const c_int).read_unaligned() };
            if let Some(s) = self.strand() {
                signals::received(s, signal);
            }
        }
    }

    /// `n` bytes go out.
    pub fn goes_out(&mut self, fd: c_int, from: *const c_void, n: usize) {
        self.sends(fd);
        self.reads(from, n);
    }

    /// The pieces are read, as far as `n` bytes reach.
    ///
    /// # Safety
    /// `pieces` must point to `count` of them.
    pub unsafe fn each_piece(
        &mut self,
        pieces: *const Piece,
        count: usize,
        mut n: usize,
        touch: fn(&mut Call, *const c_void, usize),
    ) {
        self.reads(pieces.cast(), count * size_of::<Piece>());
        for i in 0..count {
            // SAFETY: by the contract.
            let piece = unsafe { *pieces.add(i) };
            let len = piece.len.min(n);
            touch(self, piece.base, len);
            n -= len;
        }
    }
}

pub fn reads(call: &mut Call, p: *const c_void, n: usize) {
    call.reads(p, n);
}

pub fn writes(call: &mut Call, p: *const c_void, n: usize) {
    call.writes(p, n);
}

/// `F_DUPFD` and `F_DUPFD_CLOEXEC`.
const DUPLICATE: c_int = 0;
const DUPLICATE_CLOSING: c_int = 1030;

/// Functions that bring data in.
macro_rules! incoming {
    ($($name:ident($fd:ident, $to:ident, $n:ident: usize $(, $arg:ident: $ty:ty)*);)*) => {
        interpose! { $(
            unsafe fn $name($fd: c_int, $to: *mut c_void, $n: usize $(, $arg: $ty)*) -> isize |call, real| {
                call.uses($fd);
                // SAFETY: the program's own call.
                let got = unsafe { real($fd, $to, $n $(, $arg)*) };
                call.came_in($fd, $to, got);
                got
            }
        )* }
    };
}

/// Functions that send data out.
macro_rules! outgoing {
    ($($name:ident($fd:ident, $from:ident, $n:ident: usize $(, $arg:ident: $ty:ty)*);)*) => {
        interpose! { $(
            unsafe fn $name($fd: c_int, $from: *const c_void, $n: usize $(, $arg: $ty)*) -> isize |call, real| {
                call.goes_out($fd, $from, $n);
                // SAFETY: the program's own call.
                unsafe { real($fd, $from, $n $(, $arg)*) }
            }
        )* }
    };
}

macro_rules! incoming_pieces {
    ($($name:ident($($arg:ident: $ty:ty),*);)*) => {
        interpose! { $(
            unsafe fn $name(fd: c_int, pieces: *const Piece, count: c_int $(, $arg: $ty)*) -> isize |call, real| {
                call.uses(fd);
                // SAFETY: the program's own call.
                let got = unsafe { real(fd, pieces, count $(, $arg)*) };
                if got >= 0 {
                    call.received(fd);
                    // SAFETY: the program's own pieces.
                    unsafe { call.each_piece(pieces, count as usize, got as usize, writes) };
                }
                got
            }
        )* }
    };
}

macro_rules! outgoing_pieces {
    ($($name:ident($($arg:ident: $ty:ty),*);)*) => {
        interpose! { $(
            unsafe fn $name(fd: c_int, pieces: *const Piece, count: c_int $(, $arg: $ty)*) -> isize |call, real| {
                call.sends(fd);
                if call.strand().is_some() {
                    // SAFETY: the program's own pieces.
                    unsafe { call.each_piece(pieces, count.max(0) as usize, usize::MAX, reads) };
                }
                // SAFETY: the program's own call.
                unsafe { real(fd, pieces, count $(, $arg)*) }
            }
        )* }
    };
}

incoming! {
    read(fd, to, n: usize);
    pread(fd, to, n: usize, at: i64);
    pread64(fd, to, n: usize, at: i64);
    __read_chk(fd, to, n: usize, room: usize);
    __pread_chk(fd, to, n: usize, at: i64, room: usize);
    __pread64_chk(fd, to, n: usize, at: i64, room: usize);
    recv(fd, to, n: usize, flags: c_int);
    __recv_chk(fd, to, n: usize, room: usize, flags: c_int);
}

outgoing! {
    write(fd, from, n: usize);
    pwrite(fd, from, n: usize, at: i64);
    pwrite64(fd, from, n: usize, at: i64);
    send(fd, from, n: usize, flags: c_int);
}

incoming_pieces! {
    readv();
    preadv(at: i64);
    preadv64(at: i64);
    preadv2(at: i64, flags: c_int);
    preadv64v2(at: i64, flags: c_int);
}

outgoing_pieces! {
    writev();
    pwritev(at: i64);
    pwritev64(at: i64);
    pwritev2(at: i64, flags: c_int);
    pwritev64v2(at: i64, flags: c_int);
}

interpose! {
    unsafe fn close(fd: c_int) -> c_int |call, real| {
        call.closes(fd);
        // SAFETY: the program's own call.
        unsafe { real(fd) }
    }

    unsafe fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int |call, real| {
        const CLOEXEC: c_int = 4;
        if flags & CLOEXEC == 0 {
            for fd in first..=last.min(crate::interpose::descriptors::MOST as c_uint - 1) {
                call.changes(fd as c_int);
            }
        }
        // SAFETY: the program's own call.
        unsafe { real(first, last, flags) }
    }

    unsafe fn pipe(out: *mut c_int) -> c_int |call, real| {
        // SAFETY: the program's own call.
        let result = unsafe { real(out) };
        if result == 0 {
            // SAFETY: the real call has filled the pair.
            unsafe { two_opened(&mut call, out, Call::opened) };
        }
        result
    }

    unsafe fn pipe2(out: *mut c_int, flags: c_int) -> c_int |call, real| {
        // SAFETY: the program's own call.
        let result = unsafe { real(out, flags) };
        if result == 0 {
            // SAFETY: the real call has filled the pair.
            unsafe { two_opened(&mut call, out, Call::opened) };
        }
        result
    }

    unsafe fn socketpair(domain: c_int, kind: c_int, protocol: c_int, out: *mut c_int) -> c_int |call, real| {
        // SAFETY: the program's own call.
        let result = unsafe { real(domain, kind, protocol, out) };
        if result == 0 {
            call.writes(out.cast(), 8);
            // SAFETY: the real call has filled the pair.
            unsafe { call.opened_pair(*out, *out.add(1)) };
        }
        result
    }

    unsafe fn dup(old: c_int) -> c_int |call, real| {
        call.uses(old);
        // SAFETY: the program's own call.
        let new = unsafe { real(old) };
        call.duplicated(old, new);
        new
    }

    unsafe fn fcntl(fd: c_int, command: c_int, argument: usize) -> c_int |call, real| {
        call.uses(fd);
        // SAFETY: the program's own call; whatever the argument is, it is passed as one word.
        let result = unsafe { real(fd, command, argument) };
        if matches!(command, DUPLICATE | DUPLICATE_CLOSING) {
            call.duplicated(fd, result);
        }
        result
    }

    unsafe fn fcntl64(fd: c_int, command: c_int, argument: usize) -> c_int |call, real| {
        call.uses(fd);
        // SAFETY: as above.
        let result = unsafe { real(fd, command, argument) };
        if matches!(command, DUPLICATE | DUPLICATE_CLOSING) {
            call.duplicated(fd, result);
        }
        result
    }

    unsafe fn dup2(old: c_int, new: c_int) -> c_int |call, real| {
        call.uses(old);
        if old != new {
            call.closes(new);
        }
        // SAFETY: the program's own call.
        let result = unsafe { real(old, new) };
        if old != new {
            call.duplicated(old, result);
        }
        result
    }

    unsafe fn dup3(old: c_int, new: c_int, flags: c_int) -> c_int |call, real| {
        call.uses(old);
        if old != new {
            call.closes(new);
        }
        // SAFETY: the program's own call.
        let result = unsafe { real(old, new, flags) };
        if old != new {
            call.duplicated(old, result);
        }
        result
    }
}

unsafe fn two_opened(call: &mut Call, out: *mut c_int, opened: fn(&mut Call, c_int)) {
    call.writes(out.cast(), 8);
    // SAFETY: by the contract of `pipe`.
    unsafe {
        opened(call, *out);
        opened(call, *out.add(1));
    }
}

/// Functions that make a descriptor.
macro_rules! openers {
    ($($name:ident($($arg:ident: $ty:ty),*) = $opened:ident $(, path $path:ident)?;)*) => {
        interpose! { $(
            unsafe fn $name($($arg: $ty),*) -> c_int |call, real| {
                $( if call.strand().is_some() {
                    // SAFETY: the program's own string.
                    unsafe { call.reads_text($path) };
                } )?
                // SAFETY: the program's own call.
                let fd = unsafe { real($($arg),*) };
                call.$opened(fd);
                fd
            }
        )* }
    };
}

// `open` and its kin take a mode only if the flags say so; passing it on always is what the C library expects.
openers! {
    open(path: *const c_char, flags: c_int, mode: c_uint) = opened, path path;
    open64(path: *const c_char, flags: c_int, mode: c_uint) = opened, path path;
    openat(at: c_int, path: *const c_char, flags: c_int, mode: c_uint) = opened, path path;
    openat64(at: c_int, path: *const c_char, flags: c_int, mode: c_uint) = opened, path path;
    __open_2(path: *const c_char, flags: c_int) = opened, path path;
    __open64_2(path: *const c_char, flags: c_int) = opened, path path;
    __openat_2(at: c_int, path: *const c_char, flags: c_int) = opened, path path;
    __openat64_2(at: c_int, path: *const c_char, flags: c_int) = opened, path path;
    creat(path: *const c_char, mode: c_uint) = opened, path path;
    creat64(path: *const c_char, mode: c_uint) = opened, path path;
    socket(domain: c_int, kind: c_int, protocol: c_int) = opened;
    eventfd(start: c_uint, flags: c_int) = opened_own;
    timerfd_create(clock: c_int, flags: c_int) = opened_own;
    signalfd(fd: c_int, mask: *const c_void, flags: c_int) = opened_for_signals;
    inotify_init() = opened_own;
    inotify_init1(flags: c_int) = opened_own;
    epoll_create(size: c_int) = opened_own;
    epoll_create1(flags: c_int) = opened_own;
    memfd_create(name: *const c_char, flags: c_uint) = opened, path name;
    shm_open(name: *const c_char, flags: c_int, mode: c_uint) = opened, path name;
    posix_openpt(flags: c_int) = opened;
    mq_open(name: *const c_char, flags: c_int, mode: c_uint, attributes: *mut c_void) = opened, path name;
    open_by_handle_at(mount: c_int, handle: *mut c_void, flags: c_int) = opened;
}

/// Functions that make a file with a name that they fill in.
macro_rules! named {
    ($($name:ident($($arg:ident: $ty:ty),*);)*) => {
        interpose! { $(
            unsafe fn $name(name: *mut c_char $(, $arg: $ty)*) -> c_int |call, real| {
                // SAFETY: the program's own call.
                let fd = unsafe { real(name $(, $arg)*) };
                if call.strand().is_some() {
                    // SAFETY: the program's own string.
                    unsafe { call.writes_text(name) };
                }
                call.opened(fd);
                fd
            }
        )* }
    };
}

named! {
    mkstemp();
    mkstemp64();
    mkostemp(flags: c_int);
    mkostemp64(flags: c_int);
    mkstemps(tail: c_int);
    mkstemps64(tail: c_int);
    mkostemps(tail: c_int, flags: c_int);
    mkostemps64(tail: c_int, flags: c_int);
}

interpose! {
    unsafe fn eventfd_write(fd: c_int, value: u64) -> c_int |call, real| {
        call.sends(fd);
        // SAFETY: the program's own call.
        unsafe { real(fd, value) }
    }

    unsafe fn eventfd_read(fd: c_int, value: *mut u64) -> c_int |call, real| {
        call.uses(fd);
        // SAFETY: the program's own call.
        let result = unsafe { real(fd, value) };
        if result == 0 {
            call.came_in(fd, value.cast(), 8);
        }
        result
    }

    unsafe fn sendfile(out: c_int, from: c_int, at: *mut i64, n: usize) -> isize |call, real| {
        call.uses(from);
        call.sends(out);
        // SAFETY: the program's own call.
        let sent = unsafe { real(out, from, at, n) };
        moved(&mut call, at);
        sent
    }

    unsafe fn sendfile64(out: c_int, from: c_int, at: *mut i64, n: usize) -> isize |call, real| {
        call.uses(from);
        call.sends(out);
        // SAFETY: the program's own call.
        let sent = unsafe { real(out, from, at, n) };
        moved(&mut call, at);
        sent
    }

    unsafe fn splice(from: c_int, from_at: *mut i64, to: c_int, to_at: *mut i64, n: usize, flags: c_uint) -> isize |call, real| {
        call.uses(from);
        call.sends(to);
        // SAFETY: the program's own call.
        let sent = unsafe { real(from, from_at, to, to_at, n, flags) };
        if sent >= 0 {
            call.received(from);
        }
        moved(&mut call, from_at);
        moved(&mut call, to_at);
        sent
    }

    unsafe fn copy_file_range(from: c_int, from_at: *mut i64, to: c_int, to_at: *mut i64, n: usize, flags: c_uint) -> isize |call, real| {
        call.uses(from);
        call.sends(to);
        // SAFETY: the program's own call.
        let sent = unsafe { real(from, from_at, to, to_at, n, flags) };
        moved(&mut call, from_at);
        moved(&mut call, to_at);
        sent
    }
}

fn moved(call: &mut Call, at: *mut i64) {
    if !at.is_null() {
        call.writes(at.cast(), 8);
    }
}
