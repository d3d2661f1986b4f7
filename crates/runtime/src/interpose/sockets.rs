//! Sockets and waiting for descriptors: messages, addresses, `poll`, `select` and `epoll`.

use core::ffi::{c_int, c_uint, c_void};

use crate::interpose;
use crate::interpose::Call;
use crate::interpose::files::{self, Piece};

/// `struct msghdr`.
#[repr(C)]
pub struct Message {
    name: *mut c_void,
    name_len: u32,
    pieces: *mut Piece,
    count: usize,
    control: *mut c_void,
    control_len: usize,
    flags: c_int,
}

/// `struct mmsghdr`.
#[repr(C)]
pub struct Counted {
    message: Message,
    len: c_uint,
}

impl Call {
    /// The message at `m` goes out.
    unsafe fn sends_message(&mut self, fd: c_int, m: *const Message) {
        if self.strand().is_none() {
            return;
        }
        self.reads(m.cast(), size_of::<Message>());
        // SAFETY: the program's own message.
        unsafe {
            self.sends_to(fd, (*m).name, (*m).name_len as usize);
            self.each_piece((*m).pieces, (*m).count, usize::MAX, files::reads);
            if !(*m).control.is_null() {
                self.reads((*m).control, (*m).control_len);
            }
        }
    }

    /// `n` bytes came in as the message at `m`, in the room it had before.
    unsafe fn received_message(&mut self, fd: c_int, m: *const Message, n: usize) {
        if self.strand().is_none() {
            return;
        }
        self.received(fd);
        self.writes(m.cast(), size_of::<Message>());
        // SAFETY: the program's own message, filled by the real call.
        unsafe {
            self.each_piece((*m).pieces, (*m).count, n, files::writes);
            if !(*m).name.is_null() {
                self.writes((*m).name, (*m).name_len as usize);
            }
            if !(*m).control.is_null() && (*m).control_len > 0 {
                self.writes((*m).control, (*m).control_len);
                self.received_descriptors((*m).control, (*m).control_len);
            }
        }
    }

    /// Descriptors may have come with a message.
    unsafe fn received_descriptors(&mut self, control: *const c_void, len: usize) {
        const HEADER: usize = 16;
        const RIGHTS: (c_int, c_int) = (1, 1);
        let mut at = 0;
        while at + HEADER <= len {
            // SAFETY: the kernel filled whole headers, each with its length first.
            unsafe {
                let header = control.cast::<u8>().add(at);
                let size = header.cast::<usize>().read_unaligned();
                if size < HEADER || at + size > len {
                    return;
                }
                let kind = (
                    header.add(8).cast::<c_int>().read_unaligned(),
                    header.add(12).cast::<c_int>().read_unaligned(),
                );
                if kind == RIGHTS {
                    for i in 0..(size - HEADER) / 4 {
                        self.opened(header.add(HEADER + i * 4).cast::<c_int>().read_unaligned());
                    }
                }
                at += size.next_multiple_of(8);
            }
        }
    }

    /// An address was put into the program's place for it.
    unsafe fn told_address(&mut self, addr: *mut c_void, room: u32, len: *mut u32) {
        if self.strand().is_none() || addr.is_null() || len.is_null() {
            return;
        }
        self.writes(len.cast(), 4);
        // SAFETY: the program's own place, set by the real call.
        self.writes(addr, (unsafe { *len }).min(room) as usize);
    }
}

/// What the program has room for.
unsafe fn room(len: *const u32) -> u32 {
    // SAFETY: the program's own place, or none.
    if len.is_null() { 0 } else { unsafe { *len } }
}

interpose! {
    unsafe fn sendto(fd: c_int, from: *const c_void, n: usize, flags: c_int, to: *const c_void, len: u32) -> isize |call, real| {
        // SAFETY: the program's own address.
        unsafe { call.sends_to(fd, to, len as usize) };
        call.reads(from, n);
        // SAFETY: the program's own call.
        unsafe { real(fd, from, n, flags, to, len) }
    }

    unsafe fn recvfrom(fd: c_int, to: *mut c_void, n: usize, flags: c_int, addr: *mut c_void, len: *mut u32) -> isize |call, real| {
        call.uses(fd);
        // SAFETY: the program's own call and place.
        let (had, got) = unsafe { (room(len), real(fd, to, n, flags, addr, len)) };
        call.came_in(fd, to, got.min(n as isize));
        if got >= 0 {
            // SAFETY: as above.
            unsafe { call.told_address(addr, had, len) };
        }
        got
    }

    unsafe fn __recvfrom_chk(fd: c_int, to: *mut c_void, n: usize, space: usize, flags: c_int, addr: *mut c_void, len: *mut u32) -> isize |call, real| {
        call.uses(fd);
        // SAFETY: the program's own call and place.
        let (had, got) = unsafe { (room(len), real(fd, to, n, space, flags, addr, len)) };
        call.came_in(fd, to, got.min(n as isize));
        if got >= 0 {
            // SAFETY: as above.
            unsafe { call.told_address(addr, had, len) };
        }
        got
    }

    unsafe fn sendmsg(fd: c_int, m: *const Message, flags: c_int) -> isize |call, real| {
        // SAFETY: the program's own message.
        unsafe { call.sends_message(fd, m) };
        // SAFETY: the program's own call.
        unsafe { real(fd, m, flags) }
    }

    unsafe fn recvmsg(fd: c_int, m: *mut Message, flags: c_int) -> isize |call, real| {
        call.uses(fd);
        // SAFETY: the program's own call.
        let got = unsafe { real(fd, m, flags) };
        if got >= 0 {
            // SAFETY: the program's own message.
            unsafe { call.received_message(fd, m, got as usize) };
        }
        got
    }

    unsafe fn sendmmsg(fd: c_int, m: *mut Counted, count: c_uint, flags: c_int) -> c_int |call, real| {
        for i in 0..count as usize {
            // SAFETY: the program's own messages.
            unsafe { call.sends_message(fd, &raw const (*m.add(i)).message) };
        }
        // SAFETY: the program's own call.
        let sent = unsafe { real(fd, m, count, flags) };
        for i in 0..sent.max(0) as usize {
            // SAFETY: the program's own messages.
            call.writes(unsafe { &raw const (*m.add(i)).len }.cast(), 4);
        }
        sent
    }

    unsafe fn recvmmsg(fd: c_int, m: *mut Counted, count: c_uint, flags: c_int, timeout: *mut c_void) -> c_int |call, real| {
        call.uses(fd);
        // SAFETY: the program's own call.
        let got = unsafe { real(fd, m, count, flags, timeout) };
        for i in 0..got.max(0) as usize {
            // SAFETY: the program's own messages, filled by the real call.
            unsafe {
                call.received_message(fd, &raw const (*m.add(i)).message, (*m.add(i)).len as usize);
                call.writes((&raw const (*m.add(i)).len).cast(), 4);
            }
        }
        got
    }

    unsafe fn connect(fd: c_int, to: *const c_void, len: u32) -> c_int |call, real| {
        if call.strand().is_some() {
            // SAFETY: the program's own address.
            unsafe { call.connects(fd, to, len as usize) };
        }
        // SAFETY: the program's own call.
        let result = unsafe { real(fd, to, len) };
        call.changes(fd);
        result
    }

    unsafe fn bind(fd: c_int, to: *const c_void, len: u32) -> c_int |call, real| {
        call.uses(fd);
        call.reads(to, len as usize);
        // SAFETY: the program's own call.
        let result = unsafe { real(fd, to, len) };
        call.changes(fd);
        result
    }

    unsafe fn listen(fd: c_int, backlog: c_int) -> c_int |call, real| {
        call.uses(fd);
        // SAFETY: the program's own call.
        let result = unsafe { real(fd, backlog) };
        call.changes(fd);
        result
    }

    unsafe fn accept(fd: c_int, addr: *mut c_void, len: *mut u32) -> c_int |call, real| {
        call.uses(fd);
        // SAFETY: the program's own call and place.
        let (had, new) = unsafe { (room(len), real(fd, addr, len)) };
        // SAFETY: as above.
        unsafe { accepted(&mut call, fd, new, addr, had, len) };
        new
    }

    unsafe fn accept4(fd: c_int, addr: *mut c_void, len: *mut u32, flags: c_int) -> c_int |call, real| {
        call.uses(fd);
        // SAFETY: the program's own call and place.
        let (had, new) = unsafe { (room(len), real(fd, addr, len, flags)) };
        // SAFETY: as above.
        unsafe { accepted(&mut call, fd, new, addr, had, len) };
        new
    }

    unsafe fn shutdown(fd: c_int, how: c_int) -> c_int |call, real| {
        call.sends(fd);
        // SAFETY: the program's own call.
        unsafe { real(fd, how) }
    }

    unsafe fn getsockname(fd: c_int, addr: *mut c_void, len: *mut u32) -> c_int |call, real| {
        call.uses(fd);
        // SAFETY: the program's own call and place.
        let (had, result) = unsafe { (room(len), real(fd, addr, len)) };
        if result == 0 {
            // SAFETY: as above.
            unsafe { call.told_address(addr, had, len) };
        }
        result
    }

    unsafe fn getpeername(fd: c_int, addr: *mut c_void, len: *mut u32) -> c_int |call, real| {
        call.uses(fd);
        // SAFETY: the program's own call and place.
        let (had, result) = unsafe { (room(len), real(fd, addr, len)) };
        if result == 0 {
            // SAFETY: as above.
            unsafe { call.told_address(addr, had, len) };
        }
        result
    }

    unsafe fn getsockopt(fd: c_int, level: c_int, which: c_int, value: *mut c_void, len: *mut u32) -> c_int |call, real| {
        call.uses(fd);
        // SAFETY: the program's own call and place.
        let (had, result) = unsafe { (room(len), real(fd, level, which, value, len)) };
        if result == 0 {
            // SAFETY: as above.
            unsafe { call.told_address(value, had, len) };
        }
        result
    }

    unsafe fn setsockopt(fd: c_int, level: c_int, which: c_int, value: *const c_void, len: u32) -> c_int |call, real| {
        call.uses(fd);
        if !value.is_null() {
            call.reads(value, len as usize);
        }
        // SAFETY: the program's own call.
        unsafe { real(fd, level, which, value, len) }
    }
}

unsafe fn accepted(
    call: &mut Call,
    fd: c_int,
    new: c_int,
    addr: *mut c_void,
    had: u32,
    len: *mut u32,
) {
    if new >= 0 {
        call.opened(new);
        call.received(fd);
        // SAFETY: by the contract of `accept`.
        unsafe { call.told_address(addr, had, len) };
    }
}

/// `struct pollfd`.
#[repr(C)]
pub struct Polled {
    fd: c_int,
    events: i16,
    revents: i16,
}

unsafe fn polled(call: &mut Call, list: *mut Polled, count: u64, result: c_int) {
    if call.strand().is_none() {
        return;
    }
    for i in 0..count as usize {
        // SAFETY: the program's own list.
        let item = unsafe { &raw mut *list.add(i) };
        // SAFETY: as above.
        let (fd, ready) = unsafe { ((*item).fd, (*item).revents) };
        call.reads(item.cast(), 6);
        // SAFETY: as above.
        call.writes(unsafe { &raw const (*item).revents }.cast(), 2);
        if result > 0 && ready != 0 {
            call.received(fd);
        }
    }
}

const SET_BYTES: usize = 128;

unsafe fn selected(call: &mut Call, n: c_int, sets: [*mut u64; 3], result: c_int) {
    if call.strand().is_none() {
        return;
    }
    let bytes = (n.max(0) as usize).div_ceil(64) * 8;
    for (i, set) in sets.into_iter().enumerate() {
        if set.is_null() {
            continue;
        }
        call.writes(set.cast(), bytes.min(SET_BYTES));
        if result <= 0 || i != 0 {
            continue;
        }
        for fd in 0..n.clamp(0, 1024) as usize {
            // SAFETY: the program's own set, of at least `n` bits.
            if unsafe { *set.add(fd / 64) } >> (fd % 64) & 1 != 0 {
                call.received(fd as c_int);
            }
        }
    }
}

interpose! {
    unsafe fn poll(list: *mut Polled, count: u64, timeout: c_int) -> c_int |call, real| {
        // SAFETY: the program's own call.
        let result = unsafe { real(list, count, timeout) };
        // SAFETY: the program's own list.
        unsafe { polled(&mut call, list, count, result) };
        result
    }

    unsafe fn __poll_chk(list: *mut Polled, count: u64, timeout: c_int, room: usize) -> c_int |call, real| {
        // SAFETY: the program's own call.
        let result = unsafe { real(list, count, timeout, room) };
        // SAFETY: the program's own list.
        unsafe { polled(&mut call, list, count, result) };
        result
    }

    unsafe fn ppoll(list: *mut Polled, count: u64, timeout: *const c_void, mask: *const c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        let result = unsafe { real(list, count, timeout, mask) };
        // SAFETY: the program's own list.
        unsafe { polled(&mut call, list, count, result) };
        result
    }

    unsafe fn select(n: c_int, readable: *mut u64, writable: *mut u64, failed: *mut u64, timeout: *mut c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        let result = unsafe { real(n, readable, writable, failed, timeout) };
        // SAFETY: the program's own sets.
        unsafe { selected(&mut call, n, [readable, writable, failed], result) };
        if !timeout.is_null() {
            call.writes(timeout, 16);
        }
        result
    }

    unsafe fn pselect(n: c_int, readable: *mut u64, writable: *mut u64, failed: *mut u64, timeout: *const c_void, mask: *const c_void) -> c_int |call, real| {
        // SAFETY: the program's own call.
        let result = unsafe { real(n, readable, writable, failed, timeout, mask) };
        // SAFETY: the program's own sets.
        unsafe { selected(&mut call, n, [readable, writable, failed], result) };
        result
    }

    unsafe fn epoll_ctl(set: c_int, what: c_int, fd: c_int, event: *mut Event) -> c_int |call, real| {
        const DELETE: c_int = 2;
        call.uses(fd);
        call.sends(set);
        if !event.is_null() && what != DELETE {
            call.reads(event.cast(), size_of::<Event>());
            // SAFETY: the program's own event.
            call.watches(set, fd, Some(unsafe { (*event).data }));
        } else {
            call.watches(set, fd, None);
        }
        // SAFETY: the program's own call.
        unsafe { real(set, what, fd, event) }
    }

    unsafe fn epoll_wait(set: c_int, events: *mut Event, most: c_int, timeout: c_int) -> c_int |call, real| {
        call.uses(set);
        // SAFETY: the program's own call.
        let count = unsafe { real(set, events, most, timeout) };
        // SAFETY: the program's own list, filled by the real call.
        unsafe { happened(&mut call, set, events, count) };
        count
    }

    unsafe fn epoll_pwait(set: c_int, events: *mut Event, most: c_int, timeout: c_int, mask: *const c_void) -> c_int |call, real| {
        call.uses(set);
        // SAFETY: the program's own call.
        let count = unsafe { real(set, events, most, timeout, mask) };
        // SAFETY: the program's own list, filled by the real call.
        unsafe { happened(&mut call, set, events, count) };
        count
    }

    unsafe fn epoll_pwait2(set: c_int, events: *mut Event, most: c_int, timeout: *const c_void, mask: *const c_void) -> c_int |call, real| {
        call.uses(set);
        // SAFETY: the program's own call.
        let count = unsafe { real(set, events, most, timeout, mask) };
        // SAFETY: the program's own list, filled by the real call.
        unsafe { happened(&mut call, set, events, count) };
        count
    }
}

/// `struct epoll_event`.
#[repr(C, packed)]
pub struct Event {
    events: u32,
    data: u64,
}

unsafe fn happened(call: &mut Call, set: c_int, events: *const Event, count: c_int) {
    if count <= 0 || call.strand().is_none() {
        return;
    }
    call.received(set);
    call.writes(events.cast(), count as usize * size_of::<Event>());
    for i in 0..count as usize {
        // SAFETY: the real call has filled as many.
        call.ready(set, unsafe { (*events.add(i)).data });
    }
}
