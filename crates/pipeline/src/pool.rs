//! Checkers on threads of their own, each with its part of the memory; or one checker without a thread.

use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::thread::{Scope, ScopedJoinHandle};

use deadheat_trace::wire::StackSet;

use crate::batch::{Batch, Named};
use crate::found::{Candidate, Found};
use crate::shard::Shard;

/// Batches that may wait for a checker before whoever makes them waits too.
const WAITING: usize = 4;

/// What a worker gives back for a batch.
#[derive(Debug)]
pub struct Checked {
    pub candidates: Vec<Candidate>,
    /// The batch itself, whose memory can be used again.
    pub batch: Batch,
    /// Pages of memory that are remembered now.
    pub pages: usize,
    /// What was found at sweeps of the batch.
    pub named: Vec<Named>,
}

/// Whoever checks batches: a shard, or an engine on other hardware.
pub trait Worker: Send {
    /// Takes the next batch. Whatever is finished, this batch or earlier ones, goes to `done`, in order.
    fn take(&mut self, batch: Batch, done: &mut dyn FnMut(Checked));

    /// Nothing more comes for now: finishes all that it was given.
    fn settle(&mut self, done: &mut dyn FnMut(Checked));

    /// Adds the call stacks of all that it remembers, when everything is settled.
    fn stacks(&mut self, used: &mut StackSet);

    /// What was found in all, when everything is settled.
    fn finish(self: Box<Self>) -> Left;
}

impl Worker for Shard {
    fn take(&mut self, batch: Batch, done: &mut dyn FnMut(Checked)) {
        done(Checked {
            candidates: self.check(&batch),
            pages: self.pages(),
            named: std::mem::take(&mut self.named),
            batch,
        });
    }

    fn settle(&mut self, _: &mut dyn FnMut(Checked)) {}

    fn stacks(&mut self, used: &mut StackSet) {
        Shard::stacks(self, used);
    }

    fn finish(mut self: Box<Self>) -> Left {
        let found = vec![self.take_found()];
        // To give back what was remembered takes longer than the end of a check should; nobody has to wait for it.
        let _ = std::thread::Builder::new().spawn(move || drop(self));
        Left {
            found,
            ..Left::default()
        }
    }
}

/// What a checker on a thread of its own is asked to do.
enum Ask {
    Check(Batch),
    /// To finish all that it was given, and to say which call stacks it needs.
    Stacks(Sender<StackSet>),
}

/// What came of a batch at one of the checkers.
struct Done {
    checker: usize,
    checked: Checked,
}

/// What checkers leave.
#[derive(Debug, Default)]
pub struct Left {
    /// All that they found.
    pub found: Vec<Found>,
    /// What there is to say of how it went.
    pub notes: Vec<String>,
    /// Why one of them could not go on.
    pub failed: Option<String>,
}

/// The checkers.
pub struct Pool<'scope> {
    how: How<'scope>,
    /// Batches to be used again.
    pub empty: Vec<Batch>,
    /// Found in batches that not all checkers have finished, in order.
    open: std::collections::BTreeMap<u64, (usize, Vec<Candidate>)>,
    /// The first batch that is not finished.
    next: u64,
    pages: Vec<usize>,
    /// What was found at sweeps, by how many.
    named: std::collections::BTreeMap<u64, (usize, Named)>,
}

enum How<'scope> {
    Here(Box<Shard>),
    Threads {
        senders: Vec<SyncSender<Ask>>,
        results: Receiver<Done>,
        threads: Vec<ScopedJoinHandle<'scope, Left>>,
    },
}

impl<'scope> Pool<'scope> {
    /// One checker on this thread.
    pub fn here(shard: Shard) -> Self {
        Pool::made(How::Here(Box::new(shard)), 1)
    }

    /// Workers, each on a thread of its own.
    pub fn of<'env>(
        scope: &'scope Scope<'scope, 'env>,
        workers: Vec<Box<dyn Worker + 'scope>>,
    ) -> Self {
        let count = workers.len();
        let (sender, results) = channel();
        let (senders, threads) = workers
            .into_iter()
            .enumerate()
            .map(|(checker, worker)| start(scope, checker, worker, sender.clone()))
            .unzip();
        let how = How::Threads {
            senders,
            results,
            threads,
        };
        Pool::made(how, count)
    }

    fn made(how: How<'scope>, count: usize) -> Self {
        Pool {
            how,
            empty: Vec::new(),
            open: std::collections::BTreeMap::new(),
            next: 0,
            pages: vec![0; count],
            named: std::collections::BTreeMap::new(),
        }
    }

    /// Hands each checker its batch, and waits while they are too far behind.
    pub fn give(&mut self, batches: Vec<Batch>) {
        match &mut self.how {
            How::Here(shard) => {
                for batch in batches {
                    let candidates = shard.check(&batch);
                    self.pages[0] = shard.pages();
                    let named = shard.named.drain(..);
                    self.named
                        .extend(named.map(|named| (named.sweep, (1, named))));
                    self.open.insert(batch.number, (1, candidates));
                    self.empty.push(batch);
                }
            }
            How::Threads { senders, .. } => {
                for (sender, batch) in senders.iter().zip(batches) {
                    // A checker that is gone has panicked, which `finish` passes on.
                    let _ = sender.send(Ask::Check(batch));
                }
            }
        }
    }

    /// The call stacks of all that the checkers remember, when they have finished all that they were given; none if one is gone.
    pub fn stacks(&mut self) -> Option<StackSet> {
        let mut used = StackSet::default();
        match &mut self.how {
            How::Here(shard) => shard.stacks(&mut used),
            How::Threads { senders, .. } => {
                let mut answers = Vec::new();
                for sender in senders {
                    let (answer, answered) = channel();
                    sender.send(Ask::Stacks(answer)).ok()?;
                    answers.push(answered);
                }
                for answer in answers {
                    used.join(&answer.recv().ok()?);
                }
            }
        }
        Some(used)
    }

    /// What was found in batches that all have finished, in the order of the execution, whatever the number of checkers.
    pub fn found(&mut self) -> Vec<Candidate> {
        let mut done = Vec::new();
        if let How::Threads { results, .. } = &mut self.how {
            done.extend(results.try_iter());
        }
        done.into_iter().for_each(|done| self.take(done));
        self.closed()
    }

    fn take(&mut self, done: Done) {
        let Done { checker, checked } = done;
        let (count, candidates) = self.open.entry(checked.batch.number).or_default();
        *count += 1;
        candidates.extend(checked.candidates);
        self.pages[checker] = checked.pages;
        for one in checked.named {
            let (count, named) = self.named.entry(one.sweep).or_default();
            *count += 1;
            named.sweep = one.sweep;
            named.merge(&one);
        }
        self.empty.push(checked.batch);
    }

    /// What all checkers have found at the next sweep, if they have.
    pub fn named(&mut self) -> Option<Named> {
        let first = self.named.first_entry()?;
        (first.get().0 == self.pages.len()).then(|| first.remove().1)
    }

    fn closed(&mut self) -> Vec<Candidate> {
        let mut all = Vec::new();
        let checkers = self.pages.len();
        while let Some(entry) = self.open.first_entry()
            && *entry.key() == self.next
            && entry.get().0 == checkers
        {
            let (_, mut candidates) = entry.remove();
            candidates.sort_by_key(|one| (one.order, one.detector, one.cell));
            all.extend(candidates);
            self.next += 1;
        }
        all
    }

    /// The first batch of which not all that was found was given out.
    pub fn untold(&self) -> u64 {
        self.next
    }

    /// Pages of memory that the checkers remember now.
    pub fn pages(&self) -> usize {
        self.pages.iter().sum()
    }

    /// Waits for all checkers; what they found last, and in all.
    pub fn finish(mut self) -> (Vec<Candidate>, Left) {
        let how = std::mem::replace(&mut self.how, How::Here(Box::new(Shard::none())));
        let found = match how {
            How::Here(shard) => Worker::finish(shard),
            How::Threads {
                senders,
                results,
                threads,
            } => {
                drop(senders);
                results.iter().for_each(|done| self.take(done));
                let mut all = Left::default();
                for thread in threads {
                    let left = match thread.join() {
                        Ok(left) => left,
                        Err(panic) => std::panic::resume_unwind(panic),
                    };
                    all.found.extend(left.found);
                    all.notes.extend(left.notes);
                    all.failed = all.failed.or(left.failed);
                }
                all
            }
        };
        (self.closed(), found)
    }
}

fn start<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    checker: usize,
    mut worker: Box<dyn Worker + 'scope>,
    results: Sender<Done>,
) -> (SyncSender<Ask>, ScopedJoinHandle<'scope, Left>) {
    let (sender, asks) = sync_channel::<Ask>(WAITING);
    let thread = scope.spawn(move || {
        // Whoever wants the results may be gone; the batches must be taken all the same.
        let mut done = |checked: Checked| {
            let _ = results.send(Done { checker, checked });
        };
        loop {
            let next = match asks.try_recv() {
                Ok(ask) => Some(ask),
                Err(TryRecvError::Empty) => {
                    worker.settle(&mut done);
                    asks.recv().ok()
                }
                Err(TryRecvError::Disconnected) => None,
            };
            match next {
                Some(Ask::Check(batch)) => worker.take(batch, &mut done),
                Some(Ask::Stacks(answer)) => {
                    worker.settle(&mut done);
                    let mut used = StackSet::default();
                    worker.stacks(&mut used);
                    let _ = answer.send(used);
                }
                None => break,
            }
        }
        worker.settle(&mut done);
        worker.finish()
    });
    (sender, thread)
}
