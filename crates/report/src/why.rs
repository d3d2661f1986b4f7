//! One sentence on why a finding is one: what the threads hold, who waits for whom, and what would have ordered them.
//!
//! The detector has already decided; this only puts its facts into words.

use crate::words;
use deadheat_model::{
    Access, AccessKind, Finding, FindingKind, Lock, LockMode, Moment, MomentKind, Thread,
};

/// The sentence for a finding.
pub fn why(finding: &Finding, cwd: &str) -> String {
    match finding.kind {
        FindingKind::DataRace | FindingKind::UseAfterFree => match finding.accesses.as_slice() {
            [late, early, ..] => Pair {
                finding,
                late,
                early,
                cwd,
            }
            .sentence(),
            _ => finding.kind.meaning().to_owned(),
        },
        FindingKind::LockOrderInversion => inversion(finding, cwd),
        FindingKind::Deadlock => deadlock(finding),
        FindingKind::DoubleLock => misuse(
            finding,
            "locks",
            "the thread holds it already and it is not recursive, so it waits for itself",
        ),
        FindingKind::UnlockNotHeld => {
            misuse(finding, "unlocks", "no thread holds it at that moment")
        }
        FindingKind::UnlockWrongThread => misuse(
            finding,
            "unlocks",
            "another thread locked it and still relies on it",
        ),
        FindingKind::DestroyLocked => misuse(finding, "destroys", "it is still held or waited on"),
        FindingKind::UseBeforeInit => {
            misuse(finding, "uses", "no initialization of it was seen before")
        }
        FindingKind::UseAfterDestroy => misuse(finding, "uses", "it was destroyed before"),
        FindingKind::RwlockMismatch => misuse(
            finding,
            "unlocks",
            "it was taken in another way than it is released",
        ),
        FindingKind::CondWrongMutex => misuse(
            finding,
            "waits on",
            "the mutex is not held, or other threads wait with another one",
        ),
        FindingKind::ThreadLeak => leak(finding, cwd),
        FindingKind::SignalUnsafe => signal(finding),
        FindingKind::InvalidFree => {
            let how = finding
                .stacks
                .first()
                .map(|entry| entry.label.as_str())
                .unwrap_or_default();
            let how = if how.is_empty() {
                String::new()
            } else {
                format!(": {how}")
            };
            format!(
                "{} frees an address that is not the start of a living heap block{how}.",
                actor(finding)
            )
        }
        // The GPU checker brings its own sentence.
        FindingKind::KernelRace
        | FindingKind::StreamRace
        | FindingKind::UniformWrite
        | FindingKind::BarrierDivergence
        | FindingKind::BarrierDeadlock
        | FindingKind::OutOfBounds
        | FindingKind::Misaligned
        | FindingKind::UninitializedShared
        | FindingKind::DeviceAssert
        | FindingKind::DeviceTrap
        | FindingKind::BadCall
        | FindingKind::BadFree
        | FindingKind::StackOverflow
        | FindingKind::StepLimit => finding.kind.meaning().to_owned(),
    }
}

/// Who does what to which object, and what is wrong with it: as the detector says it, else as it is in general.
fn misuse(finding: &Finding, verb: &str, reason: &str) -> String {
    let reason = match &finding.detail {
        Some(detail) => detail.trim_end_matches('.'),
        None => reason,
    };
    format!("{} {verb} {}: {reason}.", actor(finding), object(finding))
}

fn actor(finding: &Finding) -> String {
    let thread = finding
        .stacks
        .first()
        .map(|entry| &entry.thread)
        .or_else(|| finding.accesses.first().map(|access| &access.thread))
        .or_else(|| finding.threads.first());
    thread.map_or_else(|| "A thread".to_owned(), words::thread)
}

fn object(finding: &Finding) -> String {
    finding
        .locks
        .first()
        .or_else(|| finding.stacks.iter().find_map(|entry| entry.lock.as_ref()))
        .map_or_else(|| "the object".to_owned(), words::lock)
}

fn inversion(finding: &Finding, cwd: &str) -> String {
    let names: Vec<String> = finding.locks.iter().map(words::lock_name).collect();
    let edges: Vec<String> = finding
        .stacks
        .iter()
        .filter(|entry| entry.label.contains("while holding"))
        .map(|entry| {
            let place = words::at(&entry.stack, cwd);
            format!("{} {} {place}", words::thread(&entry.thread), entry.label)
        })
        .collect();
    match (edges.as_slice(), names.len()) {
        ([], 0) => FindingKind::LockOrderInversion.meaning().to_owned(),
        ([], _) => format!(
            "{} are taken in different orders; when that happens at the same time, each thread waits for the other.",
            words::join(&names)
        ),
        _ => format!(
            "{}; when these happen at the same time, each thread waits for the lock that another holds.",
            edges.join("; ")
        ),
    }
}

fn deadlock(finding: &Finding) -> String {
    let labels: Vec<String> = finding
        .stacks
        .iter()
        .map(|entry| format!("{} {}", words::thread(&entry.thread), entry.label))
        .collect();
    if labels.is_empty() {
        return FindingKind::Deadlock.meaning().to_owned();
    }
    format!("{}: none of them can ever go on.", labels.join("; "))
}

fn leak(finding: &Finding, cwd: &str) -> String {
    let Some(thread) = finding.threads.first() else {
        return FindingKind::ThreadLeak.meaning().to_owned();
    };
    let created = words::at(&thread.created, cwd);
    let created = if created.is_empty() {
        String::new()
    } else {
        format!(", created {created},")
    };
    format!(
        "{}{created} was neither joined nor detached when the program ended.",
        words::thread(thread)
    )
}

fn signal(finding: &Finding) -> String {
    let called = finding
        .stacks
        .first()
        .and_then(|entry| entry.stack.first())
        .map(|frame| frame.function.as_str())
        .filter(|name| !name.is_empty());
    let what = match &finding.detail {
        Some(detail) => detail.trim_end_matches('.').to_owned(),
        None => format!(
            "{} calls {} that is not async-signal-safe",
            actor(finding),
            called.map_or_else(
                || "a function".to_owned(),
                |name| format!("`{name}` in a signal handler, a function")
            )
        ),
    };
    format!(
        "{what}; the signal may arrive while the same thread is inside such a function or holds a lock that it needs."
    )
}

/// Two accesses that nothing orders.
struct Pair<'a> {
    finding: &'a Finding,
    /// The access that found the race.
    late: &'a Access,
    /// The one before it.
    early: &'a Access,
    cwd: &'a str,
}

impl Pair<'_> {
    fn sentence(&self) -> String {
        if let Some(text) = self.shared_lock_for_reading() {
            return text;
        }
        let late = &self.late.locks;
        let early = &self.early.locks;
        match (late.is_empty(), early.is_empty()) {
            (false, true) => self.one_holds(self.late, self.early),
            (true, false) => self.one_holds(self.early, self.late),
            (false, false) => self.different_locks(),
            (true, true) => self
                .outside_critical_section()
                .unwrap_or_else(|| self.by_threads()),
        }
    }

    fn shared_lock_for_reading(&self) -> Option<String> {
        let common = self
            .late
            .locks
            .iter()
            .find(|held| self.early.locks.iter().any(|other| other.id == held.id))?;
        let mut writers = [self.late, self.early]
            .into_iter()
            .filter(|access| access.kind != AccessKind::Read && holds_for_reading(access, common));
        let writer = writers.next()?;
        if writers.next().is_some() {
            return Some(format!(
                "Both hold {}, but only for reading while they write: readers do not keep each other out. Take it for \
                 writing in both places.",
                words::lock(common)
            ));
        }
        Some(format!(
            "Both hold {}, but {} holds it only for reading while it {}: readers do not keep each other out. Take it \
             for writing there.",
            words::lock(common),
            words::thread(&writer.thread),
            words_verb(writer)
        ))
    }

    fn one_holds(&self, with: &Access, without: &Access) -> String {
        let which = if with.locks.len() == 1 { "it" } else { "them" };
        format!(
            "{} holds {} at its {}, but {} makes its {} without {which}: a lock orders two threads only where both \
             take it.",
            words::thread(&with.thread),
            words::locks(&with.locks),
            with.kind.noun(),
            words::thread(&without.thread),
            without.kind.noun(),
        )
    }

    fn different_locks(&self) -> String {
        format!(
            "They hold different locks, so neither waits for the other: {} holds {}, {} holds {}.",
            words::thread(&self.late.thread),
            words::locks(&self.late.locks),
            words::thread(&self.early.thread),
            words::locks(&self.early.locks),
        )
    }

    /// The earlier thread released something before its access that the later one acquired: just too early.
    fn outside_critical_section(&self) -> Option<String> {
        let timeline = &self.finding.timeline;
        let early_at = self.access_position(1)?;
        let late_at = self.access_position(0)?;
        let release = timeline.get(..early_at)?.iter().rev().find(|moment| {
            moment.thread == self.early.thread.id
                && matches!(
                    moment.what,
                    MomentKind::Unlock
                        | MomentKind::Rdunlock
                        | MomentKind::Signal
                        | MomentKind::Post
                )
                && moment.object.is_some()
        })?;
        let acquire = timeline.get(..late_at)?.iter().rev().find(|moment| {
            moment.thread == self.late.thread.id
                && moment.object == release.object
                && moment.what.acquires()
        })?;
        Some(format!(
            "{} {} {} before its {} and {} {} it before its {}: the {} is outside, so that edge does not cover it. Move \
             it before the {}.",
            words::thread(&self.early.thread),
            released(release.what),
            moment_name(release),
            self.early.kind.noun(),
            words::thread(&self.late.thread),
            acquired(acquire.what),
            self.late.kind.noun(),
            self.early.kind.noun(),
            release.what.name(),
        ))
    }

    fn access_position(&self, index: usize) -> Option<usize> {
        self.finding
            .timeline
            .iter()
            .position(|moment| moment.what == MomentKind::Access && moment.access == Some(index))
    }

    fn by_threads(&self) -> String {
        let late = &self.late.thread;
        let early = &self.early.thread;
        let locks = "Neither holds a lock";
        let atomic = match (self.late.atomic, self.early.atomic) {
            (true, false) => format!(
                " The {} of {} is atomic, but that orders nothing for a plain access.",
                self.late.kind.noun(),
                late.id
            ),
            (false, true) => format!(
                " The {} of {} is atomic, but that orders nothing for a plain access.",
                self.early.kind.noun(),
                early.id
            ),
            _ => String::new(),
        };
        if early.parent == Some(late.id) && late.id != early.id {
            return format!(
                "{}{atomic}",
                self.parent_does_not_wait(self.late, early, locks)
            );
        }
        if late.parent == Some(early.id) && late.id != early.id {
            return format!(
                "{}{atomic}",
                self.parent_does_not_wait(self.early, late, locks)
            );
        }
        let birth = match (late.parent, early.parent) {
            (Some(one), Some(other)) if one == other => {
                format!(
                    "{} and {} were both started by {one} and run side by side",
                    late.id, early.id
                )
            }
            _ => format!("{} and {} run side by side", late.id, early.id),
        };
        format!(
            "{locks}, and {birth}: nothing makes one wait for the other. {} would order them.{atomic}",
            self.remedy()
        )
    }

    fn parent_does_not_wait(&self, parent: &Access, child: &Thread, locks: &str) -> String {
        let created = words::spot(&child.created)
            .map(|frame| format!(" (at {})", words::line_of(frame, self.cwd)))
            .unwrap_or_default();
        let joined_later = self.finding.timeline.iter().any(|moment| {
            moment.what == MomentKind::Join
                && moment.thread == parent.thread.id
                && moment.peer == Some(child.id)
        });
        let join = if joined_later {
            format!("It joins {} only afterwards: joining before", child.id)
        } else {
            format!("Joining {} before", child.id)
        };
        let place = words::spot(&parent.stack)
            .map(|frame| format!(" at {}", words::line_of(frame, self.cwd)))
            .unwrap_or_default();
        // A lock does not keep a freed block alive.
        let or_lock = if self.is_free() {
            ""
        } else {
            ", or a lock that both take,"
        };
        format!(
            "{locks}, and {} created {}{created} before its own {}: nothing makes it wait for {} in between. {join} the \
             {}{place}{or_lock} would order them.",
            parent.thread.id,
            child.id,
            parent.kind.noun(),
            child.id,
            parent.kind.noun(),
        )
    }

    fn is_free(&self) -> bool {
        self.finding.kind == FindingKind::UseAfterFree
            || self.late.kind == AccessKind::Free
            || self.early.kind == AccessKind::Free
    }

    fn remedy(&self) -> &'static str {
        if self.is_free() {
            "A join of the using thread before the free, or a reference count that the last user drops,"
        } else {
            "A lock that both take, or a signal (condition variable, semaphore, barrier) that one waits for,"
        }
    }
}

fn holds_for_reading(access: &Access, lock: &Lock) -> bool {
    access
        .locks
        .iter()
        .any(|held| held.id == lock.id && held.mode == Some(LockMode::Read))
}

fn words_verb(access: &Access) -> &'static str {
    access.kind.verb()
}

fn moment_name(moment: &Moment) -> String {
    match (&moment.name, moment.object) {
        (Some(name), _) => format!("`{name}`"),
        (None, Some(object)) => object.to_string(),
        (None, None) => "it".to_owned(),
    }
}

fn released(what: MomentKind) -> &'static str {
    match what {
        MomentKind::Signal => "signals",
        MomentKind::Post => "posts",
        _ => "unlocks",
    }
}

fn acquired(what: MomentKind) -> &'static str {
    match what {
        MomentKind::Wait => "waits for",
        MomentKind::Acquire => "acquires",
        _ => "locks",
    }
}
