//! The kinds of findings: a stable name, a title, a meaning and advice for each.

use crate::gpu_kinds as gpu;
use core::fmt;
use core::str::FromStr;
use serde::{Deserialize, Serialize};

/// What sort of bug a finding is. The names in JSON, suppressions and options never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    DataRace,
    UseAfterFree,
    LockOrderInversion,
    Deadlock,
    DoubleLock,
    UnlockNotHeld,
    UnlockWrongThread,
    DestroyLocked,
    UseBeforeInit,
    UseAfterDestroy,
    RwlockMismatch,
    CondWrongMutex,
    ThreadLeak,
    SignalUnsafe,
    InvalidFree,
    KernelRace,
    StreamRace,
    UniformWrite,
    BarrierDivergence,
    BarrierDeadlock,
    OutOfBounds,
    Misaligned,
    UninitializedShared,
    DeviceAssert,
    DeviceTrap,
    BadCall,
    BadFree,
    StackOverflow,
    StepLimit,
}

/// How much a finding matters: an error is wrong in the run that was seen, a warning could go wrong in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Warning,
    Error,
}

impl Severity {
    /// The word used in JSON and SARIF.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// A kind's name that this version does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKind(pub String);

impl fmt::Display for UnknownKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no kind of finding", self.0)
    }
}

impl std::error::Error for UnknownKind {}

impl FindingKind {
    /// Every kind, in the order in which documents list them.
    pub const ALL: [FindingKind; 29] = [
        FindingKind::DataRace,
        FindingKind::UseAfterFree,
        FindingKind::LockOrderInversion,
        FindingKind::Deadlock,
        FindingKind::DoubleLock,
        FindingKind::UnlockNotHeld,
        FindingKind::UnlockWrongThread,
        FindingKind::DestroyLocked,
        FindingKind::UseBeforeInit,
        FindingKind::UseAfterDestroy,
        FindingKind::RwlockMismatch,
        FindingKind::CondWrongMutex,
        FindingKind::ThreadLeak,
        FindingKind::SignalUnsafe,
        FindingKind::InvalidFree,
        FindingKind::KernelRace,
        FindingKind::StreamRace,
        FindingKind::UniformWrite,
        FindingKind::BarrierDivergence,
        FindingKind::BarrierDeadlock,
        FindingKind::OutOfBounds,
        FindingKind::Misaligned,
        FindingKind::UninitializedShared,
        FindingKind::DeviceAssert,
        FindingKind::DeviceTrap,
        FindingKind::BadCall,
        FindingKind::BadFree,
        FindingKind::StackOverflow,
        FindingKind::StepLimit,
    ];

    /// The stable name, as in JSON, suppressions and rule ids.
    pub const fn name(self) -> &'static str {
        match self {
            FindingKind::DataRace => "data-race",
            FindingKind::UseAfterFree => "use-after-free",
            FindingKind::LockOrderInversion => "lock-order-inversion",
            FindingKind::Deadlock => "deadlock",
            FindingKind::DoubleLock => "double-lock",
            FindingKind::UnlockNotHeld => "unlock-not-held",
            FindingKind::UnlockWrongThread => "unlock-wrong-thread",
            FindingKind::DestroyLocked => "destroy-locked",
            FindingKind::UseBeforeInit => "use-before-init",
            FindingKind::UseAfterDestroy => "use-after-destroy",
            FindingKind::RwlockMismatch => "rwlock-mismatch",
            FindingKind::CondWrongMutex => "cond-wrong-mutex",
            FindingKind::ThreadLeak => "thread-leak",
            FindingKind::SignalUnsafe => "signal-unsafe",
            FindingKind::InvalidFree => "invalid-free",
            FindingKind::KernelRace => gpu::KERNEL_RACE.name,
            FindingKind::StreamRace => gpu::STREAM_RACE.name,
            FindingKind::UniformWrite => gpu::UNIFORM_WRITE.name,
            FindingKind::BarrierDivergence => gpu::BARRIER_DIVERGENCE.name,
            FindingKind::BarrierDeadlock => gpu::BARRIER_DEADLOCK.name,
            FindingKind::OutOfBounds => gpu::OUT_OF_BOUNDS.name,
            FindingKind::Misaligned => gpu::MISALIGNED.name,
            FindingKind::UninitializedShared => gpu::UNINITIALIZED_SHARED.name,
            FindingKind::DeviceAssert => gpu::DEVICE_ASSERT.name,
            FindingKind::DeviceTrap => gpu::DEVICE_TRAP.name,
            FindingKind::BadCall => gpu::BAD_CALL.name,
            FindingKind::BadFree => gpu::BAD_FREE.name,
            FindingKind::StackOverflow => gpu::STACK_OVERFLOW.name,
            FindingKind::StepLimit => gpu::STEP_LIMIT.name,
        }
    }

    /// A few words for people.
    pub const fn title(self) -> &'static str {
        match self {
            FindingKind::DataRace => "data race",
            FindingKind::UseAfterFree => "use races with free",
            FindingKind::LockOrderInversion => "lock-order inversion",
            FindingKind::Deadlock => "deadlock",
            FindingKind::DoubleLock => "lock taken twice by one thread",
            FindingKind::UnlockNotHeld => "unlock of a lock that is not held",
            FindingKind::UnlockWrongThread => "unlock of another thread's lock",
            FindingKind::DestroyLocked => "destroy of an object in use",
            FindingKind::UseBeforeInit => "use before initialization",
            FindingKind::UseAfterDestroy => "use after destruction",
            FindingKind::RwlockMismatch => "read-write lock mismatch",
            FindingKind::CondWrongMutex => "condition wait with the wrong mutex",
            FindingKind::ThreadLeak => "thread never joined",
            FindingKind::SignalUnsafe => "unsafe call in a signal handler",
            FindingKind::InvalidFree => "invalid free",
            FindingKind::KernelRace => gpu::KERNEL_RACE.title,
            FindingKind::StreamRace => gpu::STREAM_RACE.title,
            FindingKind::UniformWrite => gpu::UNIFORM_WRITE.title,
            FindingKind::BarrierDivergence => gpu::BARRIER_DIVERGENCE.title,
            FindingKind::BarrierDeadlock => gpu::BARRIER_DEADLOCK.title,
            FindingKind::OutOfBounds => gpu::OUT_OF_BOUNDS.title,
            FindingKind::Misaligned => gpu::MISALIGNED.title,
            FindingKind::UninitializedShared => gpu::UNINITIALIZED_SHARED.title,
            FindingKind::DeviceAssert => gpu::DEVICE_ASSERT.title,
            FindingKind::DeviceTrap => gpu::DEVICE_TRAP.title,
            FindingKind::BadCall => gpu::BAD_CALL.title,
            FindingKind::BadFree => gpu::BAD_FREE.title,
            FindingKind::StackOverflow => gpu::STACK_OVERFLOW.title,
            FindingKind::StepLimit => gpu::STEP_LIMIT.title,
        }
    }

    /// The title for more than one, for counting sentences.
    pub const fn plural(self) -> &'static str {
        match self {
            FindingKind::DataRace => "data races",
            FindingKind::UseAfterFree => "uses racing with free",
            FindingKind::LockOrderInversion => "lock-order inversions",
            FindingKind::Deadlock => "deadlocks",
            FindingKind::DoubleLock => "locks taken twice by one thread",
            FindingKind::UnlockNotHeld => "unlocks of locks that are not held",
            FindingKind::UnlockWrongThread => "unlocks of other threads' locks",
            FindingKind::DestroyLocked => "destroys of objects in use",
            FindingKind::UseBeforeInit => "uses before initialization",
            FindingKind::UseAfterDestroy => "uses after destruction",
            FindingKind::RwlockMismatch => "read-write lock mismatches",
            FindingKind::CondWrongMutex => "condition waits with the wrong mutex",
            FindingKind::ThreadLeak => "threads never joined",
            FindingKind::SignalUnsafe => "unsafe calls in signal handlers",
            FindingKind::InvalidFree => "invalid frees",
            FindingKind::KernelRace => gpu::KERNEL_RACE.plural,
            FindingKind::StreamRace => gpu::STREAM_RACE.plural,
            FindingKind::UniformWrite => gpu::UNIFORM_WRITE.plural,
            FindingKind::BarrierDivergence => gpu::BARRIER_DIVERGENCE.plural,
            FindingKind::BarrierDeadlock => gpu::BARRIER_DEADLOCK.plural,
            FindingKind::OutOfBounds => gpu::OUT_OF_BOUNDS.plural,
            FindingKind::Misaligned => gpu::MISALIGNED.plural,
            FindingKind::UninitializedShared => gpu::UNINITIALIZED_SHARED.plural,
            FindingKind::DeviceAssert => gpu::DEVICE_ASSERT.plural,
            FindingKind::DeviceTrap => gpu::DEVICE_TRAP.plural,
            FindingKind::BadCall => gpu::BAD_CALL.plural,
            FindingKind::BadFree => gpu::BAD_FREE.plural,
            FindingKind::StackOverflow => gpu::STACK_OVERFLOW.plural,
            FindingKind::StepLimit => gpu::STEP_LIMIT.plural,
        }
    }

    /// How much it matters.
    pub const fn severity(self) -> Severity {
        match self {
            FindingKind::LockOrderInversion
            | FindingKind::ThreadLeak
            | FindingKind::DestroyLocked => Severity::Warning,
            FindingKind::DataRace
            | FindingKind::UseAfterFree
            | FindingKind::Deadlock
            | FindingKind::DoubleLock
            | FindingKind::UnlockNotHeld
            | FindingKind::UnlockWrongThread
            | FindingKind::UseBeforeInit
            | FindingKind::UseAfterDestroy
            | FindingKind::RwlockMismatch
            | FindingKind::CondWrongMutex
            | FindingKind::SignalUnsafe
            | FindingKind::InvalidFree => Severity::Error,
            FindingKind::KernelRace => gpu::KERNEL_RACE.severity,
            FindingKind::StreamRace => gpu::STREAM_RACE.severity,
            FindingKind::UniformWrite => gpu::UNIFORM_WRITE.severity,
            FindingKind::BarrierDivergence => gpu::BARRIER_DIVERGENCE.severity,
            FindingKind::BarrierDeadlock => gpu::BARRIER_DEADLOCK.severity,
            FindingKind::OutOfBounds => gpu::OUT_OF_BOUNDS.severity,
            FindingKind::Misaligned => gpu::MISALIGNED.severity,
            FindingKind::UninitializedShared => gpu::UNINITIALIZED_SHARED.severity,
            FindingKind::DeviceAssert => gpu::DEVICE_ASSERT.severity,
            FindingKind::DeviceTrap => gpu::DEVICE_TRAP.severity,
            FindingKind::BadCall => gpu::BAD_CALL.severity,
            FindingKind::BadFree => gpu::BAD_FREE.severity,
            FindingKind::StackOverflow => gpu::STACK_OVERFLOW.severity,
            FindingKind::StepLimit => gpu::STEP_LIMIT.severity,
        }
    }

    /// What the kind means, in a few plain sentences.
    pub const fn meaning(self) -> &'static str {
        match self {
            FindingKind::DataRace => {
                "Two threads touch the same bytes, at least one of them writes, at least one access is not \
                 atomic, and nothing makes one thread wait for the other in between. C and C++ give such a \
                 program no meaning at all: the compiler may tear, repeat, delay or drop the access, so \
                 \"it only loses a count\" is not a safe guess."
            }
            FindingKind::UseAfterFree => {
                "One thread frees a block of memory while another still uses it, and nothing makes one wait \
                 for the other. In this run the use may have come first; in another the block is gone, or \
                 belongs to somebody else, when it is used."
            }
            FindingKind::LockOrderInversion => {
                "Some code takes one lock while it holds another, and other code takes the two the other way \
                 round. This run did not get stuck, but if both happen at the same time each thread waits for \
                 the lock that the other holds, and neither ever goes on."
            }
            FindingKind::Deadlock => {
                "A circle of threads, each waiting for a lock that the next one holds. None of them can go on, \
                 so the program would have hung here for ever."
            }
            FindingKind::DoubleLock => {
                "A thread locks a lock that it already holds and that is not recursive. It waits for itself, \
                 for ever, or gets an error that many programs do not check."
            }
            FindingKind::UnlockNotHeld => {
                "A thread unlocks a lock that nobody holds. POSIX leaves the result undefined: the lock may \
                 let two threads in from then on."
            }
            FindingKind::UnlockWrongThread => {
                "A thread unlocks a lock that another thread holds. The owner goes on as if it were alone, \
                 while others are let in."
            }
            FindingKind::DestroyLocked => {
                "A lock, condition variable or barrier is destroyed while it is held or waited on. POSIX \
                 leaves the result undefined; the waiting threads may never wake up."
            }
            FindingKind::UseBeforeInit => {
                "A synchronization object is used before it was initialized. Its bytes happen to look usable \
                 on this machine; nothing promises that."
            }
            FindingKind::UseAfterDestroy => {
                "A synchronization object is used after it was destroyed. Its memory may already hold \
                 something else."
            }
            FindingKind::RwlockMismatch => {
                "A read-write lock is released in another way than it was taken: a read lock by a write \
                 unlock, or the reverse."
            }
            FindingKind::CondWrongMutex => {
                "A thread waits on a condition variable without holding the mutex it hands over, or threads \
                 wait on one condition variable with different mutexes at the same time. Wake-ups can then be \
                 lost, and the condition is read without protection."
            }
            FindingKind::ThreadLeak => {
                "A thread was neither joined nor detached when the program ended. Its stack is never given \
                 back, its result is never seen, and it may be cut off in the middle of its work."
            }
            FindingKind::SignalUnsafe => {
                "A signal handler calls a function that is not async-signal-safe. The signal may arrive while \
                 the same thread is inside that function, or holds a lock that it needs: a hang or a corrupted \
                 heap that shows up once in a million runs."
            }
            FindingKind::InvalidFree => {
                "An address is freed that is not the start of a living heap block: it was freed before, or was \
                 never allocated this way."
            }
            FindingKind::KernelRace => gpu::KERNEL_RACE.meaning,
            FindingKind::StreamRace => gpu::STREAM_RACE.meaning,
            FindingKind::UniformWrite => gpu::UNIFORM_WRITE.meaning,
            FindingKind::BarrierDivergence => gpu::BARRIER_DIVERGENCE.meaning,
            FindingKind::BarrierDeadlock => gpu::BARRIER_DEADLOCK.meaning,
            FindingKind::OutOfBounds => gpu::OUT_OF_BOUNDS.meaning,
            FindingKind::Misaligned => gpu::MISALIGNED.meaning,
            FindingKind::UninitializedShared => gpu::UNINITIALIZED_SHARED.meaning,
            FindingKind::DeviceAssert => gpu::DEVICE_ASSERT.meaning,
            FindingKind::DeviceTrap => gpu::DEVICE_TRAP.meaning,
            FindingKind::BadCall => gpu::BAD_CALL.meaning,
            FindingKind::BadFree => gpu::BAD_FREE.meaning,
            FindingKind::StackOverflow => gpu::STACK_OVERFLOW.meaning,
            FindingKind::StepLimit => gpu::STEP_LIMIT.meaning,
        }
    }

    /// Ways to fix it, the most usual first.
    pub const fn advice(self) -> &'static [&'static str] {
        match self {
            FindingKind::DataRace => &[
                "Take one and the same lock around both accesses, for as long as the value must not change.",
                "If the value stands for itself (a counter, a flag), make it atomic: `_Atomic` or `std::atomic`; \
                 every access must then be atomic.",
                "If one side should simply come later, let it wait: join the thread, or wait on a condition \
                 variable, semaphore, barrier or future that the other side signals after its access.",
                "If the threads do not need to share it, give each its own copy (`thread_local`, an argument, a \
                 slot of an array) and combine them after the join.",
            ],
            FindingKind::UseAfterFree => &[
                "Join the thread that uses the block, or wait for its signal, before freeing it.",
                "If no single thread outlives all others, count references (`std::shared_ptr`, an atomic count \
                 with acquire and release) and let the last user free it.",
                "If the block is reachable through a shared structure, unlink it under the lock that readers \
                 take, and free it only when no reader can still hold it.",
            ],
            FindingKind::LockOrderInversion => &[
                "Choose one order for the locks, write it down beside them, and take them in that order everywhere.",
                "Take both at once: `std::scoped_lock` or `std::lock` cannot get into a circle.",
                "Release the first lock before taking the second where the two need not be held together.",
            ],
            FindingKind::Deadlock => &[
                "Choose one order for the locks and take them in that order everywhere.",
                "Take both at once (`std::scoped_lock`, `std::lock`), or try the second and give the first back \
                 when it is taken.",
                "Do not call unknown code (callbacks, virtual functions) while holding a lock.",
            ],
            FindingKind::DoubleLock => &[
                "Split the function: an outer one that locks, and an inner one that expects the lock to be held.",
                "Release the lock before calling code that takes it.",
                "If the nesting is wanted, make the lock recursive (`PTHREAD_MUTEX_RECURSIVE`, \
                 `std::recursive_mutex`).",
            ],
            FindingKind::UnlockNotHeld => &[
                "Follow the error paths: the lock is often released twice there, or the lock call before it failed.",
                "Let a guard do it (`std::lock_guard`, `std::unique_lock`, `__attribute__((cleanup))`).",
            ],
            FindingKind::UnlockWrongThread => &[
                "Let the thread that locks also unlock.",
                "If one thread should let another go on, use a semaphore or a condition variable: a mutex is no \
                 signal.",
            ],
            FindingKind::DestroyLocked => &[
                "Join the threads that use the object, or wait until they have left it, before destroying it.",
                "Release it on every path that leads to the destruction, also on errors.",
            ],
            FindingKind::UseBeforeInit => &[
                "Initialize it (`pthread_mutex_init`, `PTHREAD_MUTEX_INITIALIZER`) before the first thread that \
                 uses it starts.",
                "If several threads may come first, use `pthread_once`, `call_once` or a static local.",
            ],
            FindingKind::UseAfterDestroy => &[
                "Join the threads that use the object before destroying it.",
                "Look for objects with static lifetime that are destroyed at exit while threads still run.",
            ],
            FindingKind::RwlockMismatch => &[
                "Release what was taken: keep read and write sections in separate functions or guards.",
                "A read lock cannot be turned into a write lock in place: release it, take the write lock, and \
                 look at the data again.",
            ],
            FindingKind::CondWrongMutex => &[
                "Lock the mutex before the wait, and pass that same mutex in every wait on this condition variable.",
                "Wait in a loop that checks the condition under the mutex.",
            ],
            FindingKind::ThreadLeak => &[
                "Join the thread before the program ends, also on error paths.",
                "If nobody needs its result or its end, detach it (`pthread_detach`, `std::thread::detach`).",
            ],
            FindingKind::SignalUnsafe => &[
                "Do no more in the handler than set a `volatile sig_atomic_t` flag or write a byte to a pipe \
                 (`write` is safe), and do the work in the main loop.",
                "Block the signal and take it with `sigwait`, `signalfd` or a thread of its own.",
                "`man 7 signal-safety` lists the functions that are safe.",
            ],
            FindingKind::InvalidFree => &[
                "Free exactly what the allocator returned, once, and clear the pointer afterwards.",
                "Match `new` with `delete`, `new[]` with `delete[]`, `malloc` with `free`.",
            ],
            FindingKind::KernelRace => gpu::KERNEL_RACE.advice,
            FindingKind::StreamRace => gpu::STREAM_RACE.advice,
            FindingKind::UniformWrite => gpu::UNIFORM_WRITE.advice,
            FindingKind::BarrierDivergence => gpu::BARRIER_DIVERGENCE.advice,
            FindingKind::BarrierDeadlock => gpu::BARRIER_DEADLOCK.advice,
            FindingKind::OutOfBounds => gpu::OUT_OF_BOUNDS.advice,
            FindingKind::Misaligned => gpu::MISALIGNED.advice,
            FindingKind::UninitializedShared => gpu::UNINITIALIZED_SHARED.advice,
            FindingKind::DeviceAssert => gpu::DEVICE_ASSERT.advice,
            FindingKind::DeviceTrap => gpu::DEVICE_TRAP.advice,
            FindingKind::BadCall => gpu::BAD_CALL.advice,
            FindingKind::BadFree => gpu::BAD_FREE.advice,
            FindingKind::StackOverflow => gpu::STACK_OVERFLOW.advice,
            FindingKind::StepLimit => gpu::STEP_LIMIT.advice,
        }
    }

    /// The prefix that ThreadSanitizer uses for the same sort of report in its suppression files.
    pub const fn tsan_type(self) -> &'static str {
        match self {
            FindingKind::DataRace
            | FindingKind::UseAfterFree
            | FindingKind::InvalidFree
            | FindingKind::KernelRace
            | FindingKind::StreamRace
            | FindingKind::UniformWrite => "race",
            FindingKind::LockOrderInversion | FindingKind::Deadlock => "deadlock",
            FindingKind::DoubleLock
            | FindingKind::UnlockNotHeld
            | FindingKind::UnlockWrongThread
            | FindingKind::DestroyLocked
            | FindingKind::UseBeforeInit
            | FindingKind::UseAfterDestroy
            | FindingKind::RwlockMismatch
            | FindingKind::CondWrongMutex => "mutex",
            FindingKind::ThreadLeak => "thread",
            FindingKind::SignalUnsafe => "signal",
            FindingKind::BarrierDivergence
            | FindingKind::BarrierDeadlock
            | FindingKind::OutOfBounds
            | FindingKind::Misaligned
            | FindingKind::UninitializedShared
            | FindingKind::DeviceAssert
            | FindingKind::DeviceTrap
            | FindingKind::BadCall
            | FindingKind::BadFree
            | FindingKind::StackOverflow
            | FindingKind::StepLimit => "gpu",
        }
    }

    /// Whether it is about a GPU program.
    pub const fn is_gpu(self) -> bool {
        matches!(
            self,
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
                | FindingKind::StepLimit
        )
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for FindingKind {
    type Err = UnknownKind;
    fn from_str(name: &str) -> Result<Self, UnknownKind> {
        FindingKind::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| UnknownKind(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_serde_writes_and_parse_back() {
        for kind in FindingKind::ALL {
            let json = serde_json::to_string(&kind).expect("serializes");
            assert_eq!(json, format!("\"{}\"", kind.name()));
            assert_eq!(kind.name().parse(), Ok(kind));
        }
    }

    #[test]
    fn every_kind_is_explained() {
        for kind in FindingKind::ALL {
            assert!(kind.meaning().len() > 80, "{kind}");
            assert!(kind.advice().len() >= 2, "{kind}");
        }
    }
}
