//! The options the runtime itself needs, out of `DEADHEAT_RT` (see docs/raw-stream.md). The collector has checked them
//! already; an unknown key is left alone.

use core::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// A switch that can be read from everywhere.
pub struct Switch(AtomicBool);

impl Switch {
    const fn new(on: bool) -> Self {
        Switch(AtomicBool::new(on))
    }
    #[inline(always)]
    pub fn on(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What the user chose.
pub struct Options {
    pub races: Switch,
    /// Races between an atomic access and one that is not.
    pub atomics: Switch,
    pub lock_order: Switch,
    pub deadlock: Switch,
    pub misuse: Switch,
    pub thread_leaks: Switch,
    pub signal_unsafe: Switch,
    pub halt_on_error: Switch,
    pub stats: Switch,
    pub exitcode: AtomicI32,
    /// The descriptor of the frames to record into; below 0 to check here.
    pub record: AtomicI32,
}

impl Options {
    pub const fn new() -> Self {
        Options {
            races: Switch::new(true),
            atomics: Switch::new(true),
            lock_order: Switch::new(true),
            deadlock: Switch::new(true),
            misuse: Switch::new(true),
            thread_leaks: Switch::new(true),
            signal_unsafe: Switch::new(true),
            halt_on_error: Switch::new(false),
            stats: Switch::new(false),
            exitcode: AtomicI32::new(1),
            record: AtomicI32::new(-1),
        }
    }

    /// Takes over `key=value:key=value`.
    pub fn parse(&self, text: &[u8]) {
        for pair in text.split(|&c| c == b':' || c == b'\n') {
            let mut halves = pair.splitn(2, |&c| c == b'=');
            let (Some(key), Some(value)) = (halves.next(), halves.next()) else {
                continue;
            };
            let switch = match key {
                b"races" => &self.races,
                b"atomics" => &self.atomics,
                b"lock_order" => &self.lock_order,
                b"deadlock" => &self.deadlock,
                b"misuse" => &self.misuse,
                b"thread_leaks" => &self.thread_leaks,
                b"signal_unsafe" => &self.signal_unsafe,
                b"halt_on_error" => &self.halt_on_error,
                b"stats" => &self.stats,
                b"record" => {
                    let digits = core::str::from_utf8(value).unwrap_or("");
                    if let Ok(fd) = digits.parse() {
                        self.record.store(fd, Ordering::Relaxed);
                    }
                    continue;
                }
                b"exitcode" => {
                    let digits = core::str::from_utf8(value).unwrap_or("");
                    if let Ok(code) = digits.parse() {
                        self.exitcode.store(code, Ordering::Relaxed);
                    }
                    continue;
                }
                _ => continue,
            };
            switch.0.store(value == b"1", Ordering::Relaxed);
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Options::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_taken_and_unknown_ones_left() {
        let o = Options::new();
        o.parse(b"races=0:halt_on_error=1:what=ever:exitcode=66:misuse\n");
        assert!(!o.races.on() && o.halt_on_error.on() && o.misuse.on());
        assert_eq!(o.exitcode.load(Ordering::Relaxed), 66);
    }
}
