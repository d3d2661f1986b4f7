//! Time as this bench counts it: wall and CPU, the launch alone, best of several rounds that go through all cases.

use std::time::{Duration, Instant};

/// What something took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    pub wall: Duration,
    pub cpu: Duration,
}

impl Cost {
    /// Keeps the smaller of each.
    pub fn best(self, other: Cost) -> Cost {
        Cost {
            wall: self.wall.min(other.wall),
            cpu: self.cpu.min(other.cpu),
        }
    }
}

fn usage(who: libc::c_int) -> Duration {
    // SAFETY: all zeros is a valid `rusage`, and the call only writes to it.
    let u = unsafe {
        let mut u: libc::rusage = std::mem::zeroed();
        libc::getrusage(who, &raw mut u);
        u
    };
    let part = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
    part(u.ru_utime) + part(u.ru_stime)
}

fn timed<T>(who: libc::c_int, f: impl FnOnce() -> T) -> (T, Cost) {
    let (cpu, wall) = (usage(who), Instant::now());
    let value = f();
    let cost = Cost {
        wall: wall.elapsed(),
        cpu: usage(who).saturating_sub(cpu),
    };
    (value, cost)
}

/// Runs `f` in this process.
pub fn here<T>(f: impl FnOnce() -> T) -> (T, Cost) {
    timed(libc::RUSAGE_SELF, f)
}

/// Runs `f`, which starts one program and waits for it.
pub fn child<T>(f: impl FnOnce() -> T) -> (T, Cost) {
    timed(libc::RUSAGE_CHILDREN, f)
}

/// Geometric mean.
pub fn mean(values: &[f64]) -> f64 {
    let logs: f64 = values.iter().map(|v| v.ln()).sum();
    (logs / values.len().max(1) as f64).exp()
}
