//! The text form of a trace: one event a line, so that any case can be written by hand.
//!
//! ```text
//! trace   = { line }                       lines end with a newline; the last may lack it
//! line    = [ event ] [ "#" comment ]      words are separated by blanks
//! event   = strand action [ "@" number ]   the number names a place in the program
//!
//! action  = "begin" | "end" | "fork" strand | "join" strand | "detach" strand | "await" strand
//!         | ( "lock" | "unlock" ) mutex
//!         | ( "rdlock" | "rdunlock" | "wrlock" | "wrunlock" ) rwlock
//!         | ( "wait" | "woken" ) condvar mutex | "notify" condvar
//!         | ( "arrive" | "leave" ) barrier "." number
//!         | ( "release" | "acquire" ) channel
//!         | ( "release-at" | "acquire-at" | "replace-at" ) address
//!         | "load" place ( "relaxed" | "consume" | "acquire" | "seq_cst" )
//!         | "store" place ( "relaxed" | "release" | "seq_cst" )
//!         | "rmw" place order | "fence" order
//!         | ( "read" | "write" | "atomic-read" | "atomic-write" | "alloc" | "free" ) range
//! order   = "relaxed" | "consume" | "acquire" | "release" | "acq_rel" | "seq_cst"
//! range   = address size                   at least one byte, inside the address space
//! place   = address ( "1" | "2" | "4" | "8" | "16" )
//!
//! strand  = "t" number       mutex   = "m" number       rwlock = "rw" number
//! condvar = "c" number       barrier = "b" number       channel = "ch" number
//! address = "0x" hexadecimal number        size = number        number = decimal, no sign
//! ```
//!
//! For example:
//!
//! ```text
//! t0 begin
//! t0 fork t1
//! t1 begin
//! t1 write 0x1000 4 @12
//! t1 store 0x2000 1 release
//! t0 load 0x2000 1 acquire
//! t0 read 0x1000 4 @31
//! ```
//!
//! A trace written and parsed again is the same trace. Text that was parsed and written again loses its comments, empty
//! lines and extra blanks, nothing else.

use std::fmt;
use std::str::{FromStr, SplitWhitespace};

use crate::event::{
    Action, Addr, Barrier, Channel, Condvar, Event, FenceOrder, LoadOrder, Mutex, Place, Range,
    RmwOrder, Round, RwLock, Site, StoreOrder, Strand, Trace, Width,
};

/// Why a text is no trace, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Counted from 1.
    pub line: usize,
    /// What was wrong and what would be right.
    pub what: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for ParseError {}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.events
            .iter()
            .try_for_each(|event| writeln!(f, "{event}"))
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.strand, self.action)?;
        self.site.map_or(Ok(()), |site| write!(f, " {site}"))
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Begin => write!(f, "begin"),
            Action::End => write!(f, "end"),
            Action::Fork(strand) => write!(f, "fork {strand}"),
            Action::Join(strand) => write!(f, "join {strand}"),
            Action::Detach(strand) => write!(f, "detach {strand}"),
            Action::Await(strand) => write!(f, "await {strand}"),
            Action::Lock(mutex) => write!(f, "lock {mutex}"),
            Action::Unlock(mutex) => write!(f, "unlock {mutex}"),
            Action::ReadLock(lock) => write!(f, "rdlock {lock}"),
            Action::ReadUnlock(lock) => write!(f, "rdunlock {lock}"),
            Action::WriteLock(lock) => write!(f, "wrlock {lock}"),
            Action::WriteUnlock(lock) => write!(f, "wrunlock {lock}"),
            Action::Wait(condvar, mutex) => write!(f, "wait {condvar} {mutex}"),
            Action::Woken(condvar, mutex) => write!(f, "woken {condvar} {mutex}"),
            Action::Notify(condvar) => write!(f, "notify {condvar}"),
            Action::Arrive(round) => write!(f, "arrive {round}"),
            Action::Leave(round) => write!(f, "leave {round}"),
            Action::Release(channel) => write!(f, "release {channel}"),
            Action::Acquire(channel) => write!(f, "acquire {channel}"),
            Action::ReleaseAt(addr) => write!(f, "release-at {addr}"),
            Action::AcquireAt(addr) => write!(f, "acquire-at {addr}"),
            Action::ReplaceAt(addr) => write!(f, "replace-at {addr}"),
            Action::Load(place, order) => write!(f, "load {place} {}", order.word()),
            Action::Store(place, order) => write!(f, "store {place} {}", order.word()),
            Action::Rmw(place, order) => write!(f, "rmw {place} {}", order.word()),
            Action::Fence(order) => write!(f, "fence {}", order.word()),
            Action::Read(range) => write!(f, "read {range}"),
            Action::Write(range) => write!(f, "write {range}"),
            Action::AtomicRead(range) => write!(f, "atomic-read {range}"),
            Action::AtomicWrite(range) => write!(f, "atomic-write {range}"),
            Action::Alloc(range) => write!(f, "alloc {range}"),
            Action::Free(range) => write!(f, "free {range}"),
        }
    }
}

impl FromStr for Trace {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Trace, ParseError> {
        let mut events = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let code = line.split('#').next().unwrap_or_default();
            let mut words = Words {
                rest: code.split_whitespace(),
            };
            if words.rest.clone().next().is_some() {
                events.push(event(&mut words).map_err(|what| ParseError {
                    line: index + 1,
                    what,
                })?);
            }
        }
        Ok(Trace { events })
    }
}

impl FromStr for Event {
    type Err = String;

    fn from_str(line: &str) -> Result<Event, String> {
        event(&mut Words {
            rest: line.split_whitespace(),
        })
    }
}

struct Words<'a> {
    rest: SplitWhitespace<'a>,
}

impl<'a> Words<'a> {
    /// The next word; `expected` says what it should have been, if there is none.
    fn next(&mut self, expected: &str) -> Result<&'a str, String> {
        self.rest
            .next()
            .ok_or_else(|| format!("the line ends where {expected} should follow"))
    }

    /// A prefix and a decimal number.
    fn id(&mut self, prefix: &str, expected: &str) -> Result<u64, String> {
        let word = self.next(expected)?;
        word.strip_prefix(prefix)
            .and_then(decimal)
            .ok_or_else(|| format!("`{word}` is not {expected}"))
    }

    fn strand(&mut self) -> Result<Strand, String> {
        let expected = "a strand such as t1";
        let number = self.id(Strand::PREFIX, expected)?;
        let number = u32::try_from(number)
            .map_err(|_| format!("`t{number}` is not {expected}: too large"))?;
        Ok(Strand(number))
    }

    fn mutex(&mut self) -> Result<Mutex, String> {
        self.id(Mutex::PREFIX, "a mutex such as m1").map(Mutex)
    }

    fn rwlock(&mut self) -> Result<RwLock, String> {
        self.id(RwLock::PREFIX, "a read-write lock such as rw1")
            .map(RwLock)
    }

    fn condvar(&mut self) -> Result<Condvar, String> {
        self.id(Condvar::PREFIX, "a condition variable such as c1")
            .map(Condvar)
    }

    fn channel(&mut self) -> Result<Channel, String> {
        self.id(Channel::PREFIX, "a channel such as ch1")
            .map(Channel)
    }

    fn round(&mut self) -> Result<Round, String> {
        let expected = "a barrier and its phase such as b1.0";
        let word = self.next(expected)?;
        let parse = || {
            let (barrier, phase) = word.strip_prefix(Barrier::PREFIX)?.split_once('.')?;
            Some(Round {
                barrier: Barrier(decimal(barrier)?),
                phase: decimal(phase)?,
            })
        };
        parse().ok_or_else(|| format!("`{word}` is not {expected}"))
    }

    fn addr(&mut self) -> Result<Addr, String> {
        let expected = "an address such as 0x1000";
        let word = self.next(expected)?;
        let digits = word
            .strip_prefix("0x")
            .filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        let number = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        number
            .map(Addr)
            .ok_or_else(|| format!("`{word}` is not {expected}"))
    }

    fn range(&mut self) -> Result<Range, String> {
        let addr = self.addr()?;
        let size = self.id("", "a size in bytes such as 4")?;
        Range::new(addr, size)
            .ok_or_else(|| format!("`{addr} {size}` is empty or reaches past the end of memory"))
    }

    fn place(&mut self) -> Result<Place, String> {
        let addr = self.addr()?;
        let size = self.id("", "the size of an atomic such as 4")?;
        let width = Width::ALL.into_iter().find(|width| width.bytes() == size);
        let width = width
            .ok_or_else(|| format!("`{size}` is not the size of an atomic: 1, 2, 4, 8 or 16"))?;
        Place::new(addr, width)
            .ok_or_else(|| format!("`{addr} {size}` reaches past the end of memory"))
    }

    /// One of the orders that are legal here.
    fn order<O: Copy>(&mut self, legal: &[O], word_of: fn(O) -> &'static str) -> Result<O, String> {
        let words: Vec<_> = legal.iter().map(|&order| word_of(order)).collect();
        let expected = format!("a memory order ({})", words.join(", "));
        let word = self.next(&expected)?;
        let found = legal.iter().copied().find(|&order| word_of(order) == word);
        found.ok_or_else(|| format!("`{word}` is not {expected}"))
    }
}

/// Digits and nothing else: `parse` alone would take a `+`.
fn decimal(word: &str) -> Option<u64> {
    word.bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| word.parse().ok())
        .flatten()
}

fn event(words: &mut Words<'_>) -> Result<Event, String> {
    let strand = words.strand()?;
    let action = action(words)?;
    let site = match words.rest.next() {
        None => None,
        Some(word) => {
            let number = word.strip_prefix(Site::PREFIX).and_then(decimal);
            Some(Site(number.ok_or_else(|| {
                format!("`{word}` is too much: only a site such as @12 may follow")
            })?))
        }
    };
    match words.rest.next() {
        None => Ok(Event {
            strand,
            action,
            site,
        }),
        Some(word) => Err(format!(
            "`{word}` is too much: the site is the last word of an event"
        )),
    }
}

fn action(words: &mut Words<'_>) -> Result<Action, String> {
    let verb = words.next("what the strand does")?;
    Ok(match verb {
        "begin" => Action::Begin,
        "end" => Action::End,
        "fork" => Action::Fork(words.strand()?),
        "join" => Action::Join(words.strand()?),
        "detach" => Action::Detach(words.strand()?),
        "await" => Action::Await(words.strand()?),
        "lock" => Action::Lock(words.mutex()?),
        "unlock" => Action::Unlock(words.mutex()?),
        "rdlock" => Action::ReadLock(words.rwlock()?),
        "rdunlock" => Action::ReadUnlock(words.rwlock()?),
        "wrlock" => Action::WriteLock(words.rwlock()?),
        "wrunlock" => Action::WriteUnlock(words.rwlock()?),
        "wait" => Action::Wait(words.condvar()?, words.mutex()?),
        "woken" => Action::Woken(words.condvar()?, words.mutex()?),
        "notify" => Action::Notify(words.condvar()?),
        "arrive" => Action::Arrive(words.round()?),
        "leave" => Action::Leave(words.round()?),
        "release" => Action::Release(words.channel()?),
        "acquire" => Action::Acquire(words.channel()?),
        "release-at" => Action::ReleaseAt(words.addr()?),
        "acquire-at" => Action::AcquireAt(words.addr()?),
        "replace-at" => Action::ReplaceAt(words.addr()?),
        "load" => Action::Load(
            words.place()?,
            words.order(LoadOrder::ALL, LoadOrder::word)?,
        ),
        "store" => Action::Store(
            words.place()?,
            words.order(StoreOrder::ALL, StoreOrder::word)?,
        ),
        "rmw" => Action::Rmw(words.place()?, words.order(RmwOrder::ALL, RmwOrder::word)?),
        "fence" => Action::Fence(words.order(FenceOrder::ALL, FenceOrder::word)?),
        "read" => Action::Read(words.range()?),
        "write" => Action::Write(words.range()?),
        "atomic-read" => Action::AtomicRead(words.range()?),
        "atomic-write" => Action::AtomicWrite(words.range()?),
        "alloc" => Action::Alloc(words.range()?),
        "free" => Action::Free(words.range()?),
        _ => {
            return Err(format!(
                "`{verb}` is nothing a strand does; the grammar is in `trace/src/text.rs`"
            ));
        }
    })
}
