//! The line to the collector: who listens, and how it is started if nobody does. See docs/raw-stream.md.

use core::ffi::c_char;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};

use std_alloc::vec::Vec;

use crate::json::Json;
use crate::modules;
use crate::runtime::Runtime;
use crate::sync::{Locked, SpinLock};
use crate::sys::{self, nr};

/// Nobody listens yet.
const UNCONNECTED: i32 = -1;
/// Nobody can be found who listens: plain lines go to standard error.
const NOBODY: i32 = -2;

/// A collector finds this in its environment: what else is there is meant for the program that it listens to.
const LISTENS: &[u8] = b"DEADHEAT_LISTENS";

/// The connection to the collector.
pub struct Stream {
    fd: AtomicI32,
    /// The collector that we started, to be waited for at the end; 0 if somebody else did.
    collector: AtomicU32,
    /// Lines are sent whole, one after another.
    sending: Locked<()>,
    /// A fork shares the stream: each line says whose it is.
    shared: AtomicBool,
    /// The stream is a parent's: what the collector says there is not for us.
    borrowed: AtomicBool,
    /// Where the collector answers the child of a fork.
    answers: AtomicI32,
}

unsafe extern "C" {
    static environ: *const *const c_char;
}

/// A variable of the environment.
pub fn env(name: &[u8]) -> Option<&'static [u8]> {
    // SAFETY: `environ` is null or a null-terminated list of strings; the runtime reads it before the program's main,
    // and afterwards as carelessly as `getenv` does.
    unsafe {
        let mut at = environ;
        while !at.is_null() && !(*at).is_null() {
            let entry = sys::bytes_of(*at);
            if entry.len() > name.len() && entry[name.len()] == b'=' && &entry[..name.len()] == name
            {
                return Some(&entry[name.len() + 1..]);
            }
            at = at.add(1);
        }
    }
    None
}

/// The stream is this program's alone: what it executes later must find neither the descriptor nor its name, and gets a
/// stream of its own.
fn keep_to_ourselves(fd: i32) {
    const SYS_FCNTL: usize = 72;
    const F_SETFD: usize = 2;
    const FD_CLOEXEC: usize = 1;
    // SAFETY: sets a flag of a descriptor that was handed to us.
    unsafe { sys::syscall(SYS_FCNTL, [fd as usize, F_SETFD, FD_CLOEXEC, 0, 0, 0]) };
    // SAFETY: the list is null-terminated and writable, and nobody else reads it yet: this runs before main.
    unsafe {
        let mut at = environ.cast_mut();
        while !at.is_null() && !(*at).is_null() {
            if sys::bytes_of(*at).starts_with(b"DEADHEAT_FD=") {
                let mut to = at;
                while !(*to).is_null() {
                    *to = *to.add(1);
                    to = to.add(1);
                }
                return;
            }
            at = at.add(1);
        }
    }
}

impl Stream {
    pub const fn new() -> Self {
        Stream {
            fd: AtomicI32::new(UNCONNECTED),
            collector: AtomicU32::new(0),
            sending: Locked::new(()),
            shared: AtomicBool::new(false),
            borrowed: AtomicBool::new(false),
            answers: AtomicI32::new(UNCONNECTED),
        }
    }

    /// Connects if `deadheat run` started us, or if the options must be known before main.
    pub fn start(&self, rt: &Runtime) {
        // Looked up now: once the first thread has ended, or the program has locked itself in, it cannot be.
        modules::own_path();
        if let Some(fd) =
            env(b"DEADHEAT_FD").and_then(|v| core::str::from_utf8(v).ok()?.parse::<i32>().ok())
        {
            self.fd.store(fd, Ordering::Release);
            keep_to_ourselves(fd);
            rt.options.parse(env(b"DEADHEAT_RT").unwrap_or_default());
            return self.greet(rt);
        }
        // A collector that is checked itself finds the options of the program that it listens to.
        if env(LISTENS).is_some() {
            return;
        }
        let set = |name| env(name).is_some_and(|v| !v.is_empty());
        if crate::own_options().is_some()
            || set(b"DEADHEAT_OPTIONS")
            || set(b"TSAN_OPTIONS")
            || config_above()
        {
            self.connect(rt);
        }
    }

    /// Is the collector there no more?
    pub fn peer_gone(&self) -> bool {
        const POLL: usize = 7;
        const POLLHUP: u16 = 0x10;
        const POLLRDHUP: u16 = 0x2000;
        let fd = self.fd.load(Ordering::Acquire);
        if fd < 0 {
            return fd == NOBODY;
        }
        let mut poll = (fd, POLLRDHUP, 0u16);
        // SAFETY: one `struct pollfd`, laid out as C has it: an int and two shorts.
        let n = unsafe { sys::syscall(POLL, [&raw mut poll as usize, 1, 0, 0, 0, 0]) };
        n > 0 && poll.2 & (POLLHUP | POLLRDHUP) != 0
    }

    fn greet(&self, rt: &Runtime) {
        let mut out = Json::new();
        out.event("start")
            .key("version")
            .number(1)
            .key("pid")
            .number(sys::getpid() as u64);
        out.key("exe")
            .string(&modules::own_path())
            .key("cwd")
            .string(&cwd())
            .key("argv")
            .open(b'[');
        for arg in arguments() {
            out.string(&arg);
        }
        out.close(b']')
            .key("runtime")
            .text(env!("CARGO_PKG_VERSION"))
            .end_line();
        if let Some(text) = crate::own_suppressions().filter(|text| !text.is_empty()) {
            out.event("suppressions")
                .key("text")
                .string(text)
                .end_line();
        }
        let own_options = crate::own_options();
        if let Some(text) = own_options {
            out.event("options").key("text").string(text).end_line();
        }
        self.send(&out.bytes);
        let fd = self.fd.load(Ordering::Acquire);
        if own_options.is_some() && fd >= 0 {
            // The collector lays the user's own over them and tells what holds.
            rt.options.parse(&read_line(fd));
        }
    }

    /// Starts a collector of our own.
    fn connect(&self, rt: &Runtime) {
        if self.fd.load(Ordering::Acquire) != UNCONNECTED {
            return;
        }
        let fd = match start_collector() {
            Some((fd, pid)) => {
                self.collector.store(pid, Ordering::Release);
                let answer = read_line(fd);
                if answer.first() == Some(&b'!') || answer.is_empty() {
                    if answer.is_empty() {
                        sys::write_all(2, b"deadheat: the collector ended at once; is it the deadheat of this runtime? Try: deadheat --version\n");
                        NOBODY
                    } else {
                        sys::exit_group(2)
                    }
                } else {
                    rt.options.parse(&answer);
                    fd
                }
            }
            None => {
                sys::write_all(
                    2,
                    b"deadheat: no 'deadheat' command found to explain the findings; raw lines follow.\n\
                      deadheat: put deadheat on the PATH, or set DEADHEAT_COLLECTOR to its path, and run again.\n",
                );
                NOBODY
            }
        };
        self.fd.store(fd, Ordering::Release);
        self.greet(rt);
    }

    /// Sends whole lines, connecting first if need be.
    pub fn lines(&self, rt: &Runtime, bytes: &[u8]) {
        let _one_at_a_time = self.sending.lock();
        self.connect(rt);
        self.send(bytes);
    }

    /// Sends the lines that `write` makes. Nobody else sends in between: what `write` notes as told is on the stream before
    /// another thread leans on it.
    pub fn compose(&self, rt: &Runtime, write: impl FnOnce(&mut Json)) {
        let _one_at_a_time = self.sending.lock();
        let mut out = Json::new();
        write(&mut out);
        if !out.bytes.is_empty() {
            self.connect(rt);
            self.send(&out.bytes);
        }
    }

    fn send(&self, bytes: &[u8]) {
        if !self.shared.load(Ordering::Relaxed) {
            return self.send_as_is(bytes);
        }
        // One at a time: the kernel keeps what is sent at once together, and the other process sends, too.
        for line in bytes.split_inclusive(|&c| c == b'\n') {
            if line.starts_with(b"{\"event\":\"fork\"") || line.starts_with(b"{\"event\":\"start\"")
            {
                self.send_as_is(line);
            } else if let Some(rest) = line.strip_prefix(b"{") {
                let mut tagged = Json::new();
                tagged.open(b'{').key("pid").number(sys::getpid() as u64);
                tagged.bytes.push(b',');
                tagged.bytes.extend_from_slice(rest);
                self.send_as_is(&tagged.bytes);
            }
        }
    }

    fn send_as_is(&self, bytes: &[u8]) {
        match self.fd.load(Ordering::Acquire) {
            UNCONNECTED => {}
            NOBODY => {
                sys::write_all(2, bytes);
            }
            fd => {
                if !sys::send_all(fd, bytes) {
                    sys::write_all(2, b"deadheat: the collector is gone; raw lines follow.\n");
                    self.fd.store(NOBODY, Ordering::Release);
                    sys::write_all(2, bytes);
                }
            }
        }
    }

    /// Is anybody listening, or has been?
    pub fn connected(&self) -> bool {
        self.fd.load(Ordering::Acquire) != UNCONNECTED
    }

    /// The collector is about to be asked: the child of a fork sends it a socket for its answers, since the one that it
    /// shares may be read by its parent.
    pub fn ask(&self) {
        let _one_at_a_time = self.sending.lock();
        let fd = self.fd.load(Ordering::Acquire);
        if fd < 0
            || !self.borrowed.load(Ordering::Relaxed)
            || self.answers.load(Ordering::Relaxed) >= 0
        {
            return;
        }
        let Some([ours, theirs]) = socket_pair() else {
            return;
        };
        let mut line = Json::new();
        line.event("answers")
            .key("pid")
            .number(sys::getpid() as u64)
            .end_line();
        if sys::send_with(fd, &line.bytes, theirs) {
            self.answers.store(ours, Ordering::Relaxed);
        } else {
            sys::close(ours);
        }
        sys::close(theirs);
    }

    /// Where the collector answers us.
    fn answering(&self) -> i32 {
        if self.borrowed.load(Ordering::Relaxed) {
            self.answers.load(Ordering::Relaxed)
        } else {
            self.fd.load(Ordering::Acquire)
        }
    }

    /// Waits for the collector's verdict on the last finding: true if it was reported, false if suppressed.
    pub fn verdict(&self) -> bool {
        let mut byte = [0u8];
        match self.answering() {
            fd if fd >= 0 => sys::read_some(fd, &mut byte) == 0 || byte[0] != b's',
            _ => true,
        }
    }

    /// Waits for a line from the collector; empty if there is none.
    pub fn answer(&self) -> Vec<u8> {
        match self.answering() {
            fd if fd >= 0 => read_line(fd),
            _ => Vec::new(),
        }
    }

    /// No more lines will come. What the collector we started says the exit status must become; none to leave it.
    pub fn finish(&self) -> Option<i32> {
        let fd = self.fd.load(Ordering::Acquire);
        let pid = self.collector.swap(0, Ordering::AcqRel);
        if pid == 0 || fd < 0 {
            return None;
        }
        const SHUT_WR: usize = 1;
        let mut status = 0i32;
        // SAFETY: our own descriptor, our own child, a place for its status.
        unsafe {
            sys::syscall(nr::SHUTDOWN, [fd as usize, SHUT_WR, 0, 0, 0, 0]);
            while sys::syscall(
                nr::WAIT4,
                [pid as usize, &raw mut status as usize, 0, 0, 0, 0],
            ) == -4
            {}
        }
        let code = if status & 0x7f == 0 {
            status >> 8 & 0xff
        } else {
            2
        };
        if code == 0 { None } else { Some(code) }
    }

    /// Calls `f` for each lock that is held over a fork.
    pub fn each_lock(&self, f: &dyn Fn(&SpinLock)) {
        f(self.sending.spin());
    }

    /// The process is about to be two, before or after: if somebody listens, he hears both.
    pub fn forked(&self) {
        if self.connected() {
            self.shared.store(true, Ordering::Relaxed);
        }
    }

    /// In the child of a fork: the collector is its parent's child, not ours, and goes on to listen.
    ///
    /// # Safety
    /// No other thread may exist.
    pub unsafe fn after_fork(&self) {
        self.collector.store(0, Ordering::Release);
        self.forked();
        self.borrowed.store(self.connected(), Ordering::Relaxed);
        let answers = self.answers.swap(UNCONNECTED, Ordering::Relaxed);
        if answers >= 0 {
            sys::close(answers);
        }
        // SAFETY: by the contract.
        unsafe { self.sending.force_unlock() };
    }
}

impl Default for Stream {
    fn default() -> Self {
        Stream::new()
    }
}

/// Two ends of a stream, which no program that is executed inherits.
fn socket_pair() -> Option<[i32; 2]> {
    const AF_UNIX: usize = 1;
    const SOCK_STREAM_CLOEXEC: usize = 1 | 0o2000000;
    let mut ends = [0i32; 2];
    let into = ends.as_mut_ptr() as usize;
    // SAFETY: a place for two descriptors.
    let made = unsafe {
        sys::syscall(
            nr::SOCKETPAIR,
            [AF_UNIX, SOCK_STREAM_CLOEXEC, 0, into, 0, 0],
        )
    };
    (made >= 0).then_some(ends)
}

fn read_line(fd: i32) -> Vec<u8> {
    let mut line = Vec::new();
    let mut byte = [0u8];
    while sys::read_some(fd, &mut byte) == 1 && byte[0] != b'\n' {
        line.push(byte[0]);
    }
    line
}

fn cwd() -> Vec<u8> {
    let mut buffer = [0u8; 4096];
    // SAFETY: a buffer of that length.
    let n = unsafe {
        sys::syscall(
            nr::GETCWD,
            [buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0, 0],
        )
    };
    // The kernel counts the terminating zero.
    buffer[..(n - 1).max(0) as usize].to_vec()
}

fn arguments() -> Vec<Vec<u8>> {
    let mut text = Vec::new();
    let mut buffer = [0u8; 1024];
    // SAFETY: a terminated path.
    let fd = unsafe {
        sys::syscall(
            nr::OPEN,
            [
                c"/proc/thread-self/cmdline".as_ptr() as usize,
                0,
                0,
                0,
                0,
                0,
            ],
        )
    };
    if fd < 0 {
        return Vec::new();
    }
    loop {
        match sys::read_some(fd as i32, &mut buffer) {
            0 => break,
            n => text.extend_from_slice(&buffer[..n]),
        }
    }
    // SAFETY: our own descriptor.
    unsafe { sys::syscall(nr::CLOSE, [fd as usize, 0, 0, 0, 0, 0]) };
    text.pop();
    text.split(|&c| c == 0).map(<[u8]>::to_vec).collect()
}

/// Is there a `deadheat.toml` in the working directory or above it?
fn config_above() -> bool {
    let mut path = cwd();
    loop {
        let mut file = path.clone();
        file.extend_from_slice(b"/deadheat.toml\0");
        // SAFETY: a terminated path.
        if unsafe { sys::syscall(nr::ACCESS, [file.as_ptr() as usize, 0, 0, 0, 0, 0]) } == 0 {
            return true;
        }
        match path.iter().rposition(|&c| c == b'/') {
            Some(at) if !path.is_empty() => path.truncate(at),
            _ => return false,
        }
    }
}

/// Where a collector may be, the likeliest first.
fn candidates() -> Vec<Vec<u8>> {
    let mut list = Vec::new();
    if let Some(path) = env(b"DEADHEAT_COLLECTOR") {
        list.push(path.to_vec());
    }
    if let Some(path) = crate::linked_in_collector() {
        list.push(path.to_vec());
    }
    for dir in env(b"PATH").unwrap_or_default().split(|&c| c == b':') {
        let mut path = dir.to_vec();
        path.extend_from_slice(b"/deadheat");
        list.push(path);
    }
    // A deadheat that is checked itself must not listen to itself: each would start another one.
    let own = crate::modules::own_path();
    list.retain(|path| *path != own);
    list
}

/// Our variables, and that it is a collector; null-terminated.
fn environment_of_collector() -> Vec<*const c_char> {
    let mut list = Vec::new();
    // SAFETY: `environ` is null or a null-terminated list, read as carelessly as `getenv` does.
    unsafe {
        let mut at = environ;
        while !at.is_null() && !(*at).is_null() {
            list.push(*at);
            at = at.add(1);
        }
    }
    list.push(c"DEADHEAT_LISTENS=1".as_ptr());
    list.push(core::ptr::null());
    list
}

/// Starts `deadheat collect --fd 3`; our end of the socket and its process.
fn start_collector() -> Option<(i32, u32)> {
    const X_OK: usize = 1;
    let path = candidates().into_iter().find_map(|mut path| {
        path.push(0);
        // SAFETY: a terminated path.
        let ok =
            unsafe { sys::syscall(nr::ACCESS, [path.as_ptr() as usize, X_OK, 0, 0, 0, 0]) } == 0;
        if ok { Some(path) } else { None }
    })?;
    const SYS_FORK: usize = 57;
    const SYS_DUP2: usize = 33;
    let ends = socket_pair()?;
    let args = [
        path.as_ptr() as usize,
        c"collect".as_ptr() as usize,
        c"--fd".as_ptr() as usize,
        c"3".as_ptr() as usize,
        0,
    ];
    let variables = environment_of_collector();
    // SAFETY: the child uses only system calls between fork and exec, on memory that was made before.
    let pid = unsafe { sys::syscall(SYS_FORK, [0; 6]) };
    if pid == 0 {
        // SAFETY: as above. Descriptor 3 keeps open over exec because dup2 clears the flag; if the socket already is 3,
        // it is moved away and back.
        unsafe {
            let mut theirs = ends[1] as usize;
            if theirs == 3 {
                sys::syscall(SYS_DUP2, [theirs, 500, 0, 0, 0, 0]);
                theirs = 500;
            }
            sys::syscall(SYS_DUP2, [theirs, 3, 0, 0, 0, 0]);
            sys::syscall(
                nr::EXECVE,
                [
                    path.as_ptr() as usize,
                    args.as_ptr() as usize,
                    variables.as_ptr() as usize,
                    0,
                    0,
                    0,
                ],
            );
        }
        sys::exit_group(127);
    }
    // SAFETY: the child's end, which only the child needs.
    unsafe { sys::syscall(nr::CLOSE, [ends[1] as usize, 0, 0, 0, 0, 0]) };
    if pid < 0 {
        None
    } else {
        Some((ends[0], pid as u32))
    }
}
