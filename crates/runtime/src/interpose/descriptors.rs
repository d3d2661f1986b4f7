//! File descriptors: what was written to one happens before what is read from it, and a close races with a use.
//!
//! Each descriptor has two channels, one for what goes out and one for what comes in; a write releases into the former,
//! a read acquires from the latter. Which channels they are is asked of the kernel at the first use: pipes and files go by
//! their inode, connections by the ports or paths of both ends, `socketpair` and `eventfd` by their creation. What cannot
//! be told apart shares a channel, which may hide a race but never invents one.
//!
//! For races on the descriptor itself, the byte at the address that equals its number stands for it: no program has memory
//! there.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use hashbrown::HashTable;

use crate::access::leave;
use crate::history::Touch;
use crate::intern::StackId;
use crate::interpose::{Call, signals};
use crate::lifetime;
use crate::record::{MemoryKind, acts};
use crate::runtime::RT;
use crate::strand::Strand;
use crate::sync::{Locked, SpinLock};
use crate::syncvar::Kind;

/// Descriptors with a byte of their own.
pub const MOST: usize = 1 << 16;

/// Not asked yet.
const UNKNOWN: u64 = 0;
/// Closed by the program.
const CLOSED: u64 = u64::MAX;

static TABLE: [AtomicU64; MOST] = [const { AtomicU64::new(UNKNOWN) }; MOST];

/// Where a channel's synchronization object lies: above all addresses that a program can have.
const BASE: usize = 1 << 62;

/// A channel, by a number that is never 0. Different things may share one.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Channel(u32);

const HASH_BITS: u32 = 20;

#[derive(Clone, Copy)]
enum Sort {
    Inode = 1,
    Pipe,
    Made,
    Stream,
    Datagram,
    Listener,
    Path,
    Signals,
    Queue,
    Other,
}

impl Channel {
    fn new(sort: Sort, parts: [u64; 2]) -> Channel {
        let h = crate::finding::key(&parts);
        Channel(((sort as u32) << HASH_BITS) | (h >> (64 - HASH_BITS)) as u32)
    }

    fn made() -> Channel {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Channel(
            ((Sort::Made as u32) << HASH_BITS)
                | (NEXT.fetch_add(1, Ordering::Relaxed) % (1 << HASH_BITS)),
        )
    }

    fn addr(self) -> usize {
        BASE + self.0 as usize * 64
    }
}

/// The two channels of a descriptor.
#[derive(Clone, Copy)]
struct Ends {
    out: Channel,
    into: Channel,
    /// Will they stay what they are?
    settled: bool,
}

impl Ends {
    fn both(channel: Channel) -> Ends {
        Ends {
            out: channel,
            into: channel,
            settled: true,
        }
    }
    fn pack(self) -> u64 {
        (self.out.0 as u64) << 32 | self.into.0 as u64
    }
}

mod kernel {
    //! Questions to the kernel that leave `errno` alone.
    use crate::sys;

    const FSTAT: usize = 5;
    const GETSOCKNAME: usize = 51;
    const GETPEERNAME: usize = 52;
    const GETSOCKOPT: usize = 55;
    pub const SO_TYPE: usize = 3;
    pub const SO_ACCEPTCONN: usize = 30;

    /// Device, inode, mode and device number of a descriptor.
    pub fn stat(fd: i32) -> Option<(u64, u64, u32, u64)> {
        let mut stat = [0u64; 18];
        // SAFETY: a place as large as the kernel's structure.
        let r =
            unsafe { sys::syscall(FSTAT, [fd as usize, stat.as_mut_ptr() as usize, 0, 0, 0, 0]) };
        if r == 0 {
            Some((stat[0], stat[1], stat[3] as u32, stat[5]))
        } else {
            None
        }
    }

    /// A socket's own or its peer's address, and how long it is.
    pub fn name(fd: i32, peer: bool) -> Option<([u8; 128], usize)> {
        let (mut addr, mut len) = ([0u8; 128], 128u32);
        let nr = if peer { GETPEERNAME } else { GETSOCKNAME };
        // SAFETY: a place for the address and its length.
        let r = unsafe {
            sys::syscall(
                nr,
                [
                    fd as usize,
                    addr.as_mut_ptr() as usize,
                    &raw mut len as usize,
                    0,
                    0,
                    0,
                ],
            )
        };
        if r == 0 {
            Some((addr, len as usize))
        } else {
            None
        }
    }

    pub fn option(fd: i32, which: usize) -> u32 {
        let (mut value, mut len) = (0u32, 4u32);
        // SAFETY: places for a number and its length.
        unsafe {
            sys::syscall(
                GETSOCKOPT,
                [
                    fd as usize,
                    1,
                    which,
                    &raw mut value as usize,
                    &raw mut len as usize,
                    0,
                ],
            )
        };
        value
    }
}

const AF_UNIX: u16 = 1;
const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;
const SOCK_DGRAM: u32 = 2;

/// Where a message can come from or go to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Address {
    Port(u64),
    /// A hash; 0 is a socket without a name.
    Path(u64),
    Other,
}

impl Address {
    /// # Safety
    /// `p` must point to `len` readable bytes.
    unsafe fn read(p: *const u8, len: usize) -> Address {
        if len < 2 {
            return Address::Other;
        }
        // SAFETY: by the contract.
        let byte = |i: usize| unsafe { p.add(i).read_volatile() } as u64;
        match (byte(0) | byte(1) << 8) as u16 {
            AF_INET | AF_INET6 if len >= 4 => Address::Port(byte(2) << 8 | byte(3)),
            AF_UNIX => {
                // A path ends at a zero, unless it is an abstract name, which begins with one.
                let abstract_name = len > 2 && byte(2) == 0;
                let end = (2..len)
                    .find(|&i| !abstract_name && byte(i) == 0)
                    .unwrap_or(len);
                let hash = (2..end).fold(0, |h, i| crate::finding::key(&[h, byte(i)]));
                Address::Path(if end <= 2 { 0 } else { hash | 1 })
            }
            _ => Address::Other,
        }
    }

    fn of(fd: c_int, peer: bool) -> Option<Address> {
        let (addr, len) = kernel::name(fd, peer)?;
        // SAFETY: our own array.
        Some(unsafe { Address::read(addr.as_ptr(), len.min(128)) })
    }
}

/// What a message to `to` goes through, if the socket is not connected.
fn datagram_to(to: Address) -> Channel {
    match to {
        Address::Port(port) => Channel::new(Sort::Datagram, [port, 0]),
        Address::Path(path) => Channel::new(Sort::Path, [path, 1]),
        Address::Other => Channel::new(Sort::Other, [1, 0]),
    }
}

/// What a connection to `to` announces itself through.
fn listener(to: Address) -> Channel {
    match to {
        Address::Port(port) => Channel::new(Sort::Listener, [port, 0]),
        Address::Path(path) => Channel::new(Sort::Listener, [path, 1]),
        Address::Other => Channel::new(Sort::Other, [2, 0]),
    }
}

fn socket_ends(fd: c_int) -> Ends {
    let other = Ends {
        settled: false,
        ..Ends::both(Channel::new(Sort::Other, [0, 0]))
    };
    let Some(own) = Address::of(fd, false) else {
        return other;
    };
    let peer = Address::of(fd, true);
    if kernel::option(fd, kernel::SO_ACCEPTCONN) != 0 {
        return Ends::both(listener(own));
    }
    if kernel::option(fd, kernel::SO_TYPE) == SOCK_DGRAM {
        let out = peer.map_or(Channel::new(Sort::Other, [3, 0]), datagram_to);
        let settled = !matches!(own, Address::Port(0) | Address::Path(0));
        return Ends {
            out,
            into: datagram_to(own),
            settled,
        };
    }
    match (own, peer) {
        (Address::Port(own), Some(Address::Port(peer))) => Ends {
            out: Channel::new(Sort::Stream, [own, peer]),
            into: Channel::new(Sort::Stream, [peer, own]),
            settled: true,
        },
        (Address::Path(0), Some(Address::Path(0))) | (_, None) => other,
        (Address::Path(own), Some(Address::Path(peer))) => Ends {
            out: Channel::new(Sort::Path, [own, peer]),
            into: Channel::new(Sort::Path, [peer, own]),
            settled: true,
        },
        _ => other,
    }
}

fn ask(fd: c_int) -> Ends {
    const TYPE: u32 = 0xf000;
    const FIFO: u32 = 0x1000;
    const DEVICE: u32 = 0x2000;
    const REGULAR: u32 = 0x8000;
    const SOCKET: u32 = 0xc000;
    let Some((dev, ino, mode, rdev)) = kernel::stat(fd) else {
        return Ends {
            settled: false,
            ..Ends::both(Channel::made())
        };
    };
    match mode & TYPE {
        FIFO => Ends::both(Channel::new(Sort::Pipe, [dev, ino])),
        REGULAR => Ends::both(Channel::new(Sort::Inode, [dev, ino])),
        // The two sides of a terminal have different inodes.
        DEVICE if (136..144).contains(&(rdev >> 8 & 0xfff)) || rdev == 0x502 => {
            Ends::both(Channel::new(Sort::Other, [4, 0]))
        }
        DEVICE => Ends::both(Channel::new(Sort::Inode, [dev, ino])),
        SOCKET => socket_ends(fd),
        _ => Ends::both(Channel::new(Sort::Other, [5, 0])),
    }
}

fn ends(fd: c_int) -> Ends {
    let Some(entry) = TABLE.get(fd as usize) else {
        return ask(fd);
    };
    let known = entry.load(Ordering::Relaxed);
    if known != UNKNOWN && known != CLOSED {
        return Ends {
            out: Channel((known >> 32) as u32),
            into: Channel(known as u32),
            settled: true,
        };
    }
    let ends = ask(fd);
    if ends.settled {
        entry.store(ends.pack(), Ordering::Relaxed);
    }
    ends
}

fn release(s: &mut Strand, channel: Channel) {
    s.enter();
    RT.syncs
        .get(s, channel.addr(), Kind::Descriptor)
        .with(|state| state.release(s));
    leave(s);
}

fn acquire(s: &mut Strand, channel: Channel) {
    s.enter();
    if let Some(var) = RT.syncs.find(s, channel.addr()) {
        var.with(|state| state.acquire(&RT, s));
    }
    leave(s);
}

fn touch(call: &mut Call, fd: c_int, how: Touch) {
    if (0..MOST as c_int).contains(&fd) {
        call.touches(fd as usize as *const c_void, 1, how);
    }
}

fn forget(call: &mut Call, fd: c_int) {
    if let (Some(s), true) = (call.strand(), (fd as usize) < MOST) {
        s.enter();
        lifetime::forget(&RT, fd as usize, 1);
        acts::fresh(s, fd as usize, 1, MemoryKind::Other, StackId(0));
        leave(s);
    }
}

impl Call {
    /// The program uses the descriptor.
    pub fn uses(&mut self, fd: c_int) {
        if self.strand().is_none() || fd < 0 {
            return;
        }
        if TABLE
            .get(fd as usize)
            .is_some_and(|e| e.load(Ordering::Relaxed) == CLOSED)
            && kernel::stat(fd).is_some()
        {
            // Opened again by a way we did not see.
            self.opened(fd);
        }
        touch(self, fd, Touch::Read);
    }

    /// What the program did so far happens before what comes out at the other end.
    pub fn sends(&mut self, fd: c_int) {
        self.uses(fd);
        if let Some(s) = self.syncing().filter(|_| fd >= 0) {
            release(s, ends(fd).out);
        }
    }

    /// Something came in.
    pub fn received(&mut self, fd: c_int) {
        if Call::brings_signals(fd) {
            // Which of them is waiting is not told before it is read.
            if let Some(s) = self.strand() {
                signals::received_any(s);
            }
        } else if let Some(s) = self.syncing().filter(|_| fd >= 0) {
            acquire(s, ends(fd).into);
        }
    }

    /// Is it a descriptor from which signals are read?
    pub fn brings_signals(fd: c_int) -> bool {
        let known = TABLE
            .get(fd as usize)
            .map_or(UNKNOWN, |e| e.load(Ordering::Relaxed));
        known != CLOSED && known as u32 >> HASH_BITS == Sort::Signals as u32
    }

    /// A descriptor from which signals are read.
    pub fn opened_for_signals(&mut self, fd: c_int) {
        self.opened(fd);
        if let Some(entry) = TABLE.get(fd as usize).filter(|_| fd >= 0) {
            let ends = Ends::both(Channel::new(Sort::Signals, [0, 0]));
            entry.store(ends.pack(), Ordering::Relaxed);
        }
    }

    /// Something is put into a queue of the kernel that has a number of its own.
    pub fn puts_into_queue(&mut self, queue: c_int) {
        if let Some(s) = self.syncing() {
            release(s, Channel::new(Sort::Queue, [queue as u64, 0]));
        }
    }

    /// Something was taken out of it.
    pub fn takes_from_queue(&mut self, queue: c_int) {
        if let Some(s) = self.syncing() {
            acquire(s, Channel::new(Sort::Queue, [queue as u64, 0]));
        }
    }

    /// Is there another end that somebody may read from? Files and terminals have none that a stream's buffer could
    /// surprise.
    pub fn has_peer(fd: c_int) -> bool {
        let sort = ends(fd).out.0 >> HASH_BITS;
        sort != Sort::Inode as u32 && sort != Sort::Other as u32
    }

    /// Sends to an address rather than to what the socket is connected to.
    ///
    /// # Safety
    /// `to` must be null or point to `len` readable bytes.
    pub unsafe fn sends_to(&mut self, fd: c_int, to: *const c_void, len: usize) {
        if to.is_null() {
            return self.sends(fd);
        }
        self.uses(fd);
        self.reads(to, len);
        if let Some(s) = self.syncing() {
            // SAFETY: by the contract.
            release(s, datagram_to(unsafe { Address::read(to.cast(), len) }));
        }
    }

    /// A descriptor was made: nothing that happened to its number before counts.
    pub fn opened(&mut self, fd: c_int) {
        if let Some(entry) = TABLE.get(fd as usize).filter(|_| fd >= 0) {
            entry.store(UNKNOWN, Ordering::Relaxed);
            forget(self, fd);
        }
    }

    /// A descriptor with a channel that only its creation tells, such as an eventfd.
    pub fn opened_own(&mut self, fd: c_int) {
        self.opened(fd);
        if let Some(entry) = TABLE.get(fd as usize).filter(|_| fd >= 0) {
            entry.store(Ends::both(Channel::made()).pack(), Ordering::Relaxed);
        }
    }

    /// Two ends of one pair of sockets.
    pub fn opened_pair(&mut self, a: c_int, b: c_int) {
        let (there, back) = (Channel::made(), Channel::made());
        for (fd, out, into) in [(a, there, back), (b, back, there)] {
            self.opened(fd);
            if let Some(entry) = TABLE.get(fd as usize) {
                entry.store(
                    Ends {
                        out,
                        into,
                        settled: true,
                    }
                    .pack(),
                    Ordering::Relaxed,
                );
            }
        }
    }

    /// `new` is another name for `old`.
    pub fn duplicated(&mut self, old: c_int, new: c_int) {
        self.opened(new);
        let known = TABLE
            .get(old as usize)
            .map_or(UNKNOWN, |e| e.load(Ordering::Relaxed));
        if let (Some(entry), false) = (TABLE.get(new as usize), known == CLOSED) {
            entry.store(known, Ordering::Relaxed);
        }
    }

    /// The program closes the descriptor; call before it is done, because the number may be used again at once.
    pub fn closes(&mut self, fd: c_int) {
        if fd < 0 || self.strand().is_none() {
            return;
        }
        // Whoever waits at the other end learns of the end.
        self.sends(fd);
        touch(self, fd, Touch::Destroy);
        if let Some(entry) = TABLE.get(fd as usize) {
            entry.store(CLOSED, Ordering::Relaxed);
        }
    }

    /// A socket's ends may be others now.
    pub fn changes(&mut self, fd: c_int) {
        if let Some(entry) = TABLE.get(fd as usize).filter(|_| fd >= 0) {
            entry.store(UNKNOWN, Ordering::Relaxed);
        }
    }

    /// The program connects to an address.
    ///
    /// # Safety
    /// `to` must point to `len` readable bytes.
    pub unsafe fn connects(&mut self, fd: c_int, to: *const c_void, len: usize) {
        self.uses(fd);
        self.reads(to, len);
        self.changes(fd);
        if let Some(s) = self.syncing().filter(|_| !to.is_null()) {
            // SAFETY: by the contract.
            release(s, listener(unsafe { Address::read(to.cast(), len) }));
        }
    }
}

/// What a descriptor in an epoll set was registered with.
struct Watched {
    set: c_int,
    data: u64,
    fd: c_int,
}

static WATCHED: Locked<HashTable<Watched>> = Locked::new(HashTable::new());

fn watch_hash(set: c_int, data: u64) -> u64 {
    crate::finding::key(&[set as u64, data])
}

impl Call {
    /// `fd` is registered with (or, with no data, taken out of) the epoll set.
    pub fn watches(&mut self, set: c_int, fd: c_int, data: Option<u64>) {
        let Some(s) = self.strand() else { return };
        s.enter();
        let mut watched = WATCHED.lock();
        match data {
            Some(data) => {
                let hash = watch_hash(set, data);
                match watched.find_mut(hash, |w| w.set == set && w.data == data) {
                    Some(old) => old.fd = fd,
                    None => {
                        watched.insert_unique(hash, Watched { set, data, fd }, |w| {
                            watch_hash(w.set, w.data)
                        });
                    }
                }
            }
            None => watched.retain(|w| w.set != set || w.fd != fd),
        }
        drop(watched);
        leave(s);
    }

    /// The epoll set says that what was registered with `data` is ready.
    pub fn ready(&mut self, set: c_int, data: u64) {
        let Some(s) = self.strand() else { return };
        s.enter();
        let fd = WATCHED
            .lock()
            .find(watch_hash(set, data), |w| w.set == set && w.data == data)
            .map(|w| w.fd);
        leave(s);
        if let Some(fd) = fd {
            self.received(fd);
        }
    }
}

/// Calls `f` for each lock that is held over a fork.
pub fn each_lock(f: &dyn Fn(&SpinLock)) {
    f(WATCHED.spin());
}
