//! Checkers on threads of their own, each with its part of the memory; or one checker without a thread.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{Scope, ScopedJoinHandle};

use crate::batch::Batch;
use crate::found::{Candidate, Found};
use crate::shard::Shard;

/// Batches that may wait for a checker before whoever makes them waits too.
const WAITING: usize = 4;

/// What a checker gives back for a batch.
struct Done {
    number: u64,
    candidates: Vec<Candidate>,
    /// The batch itself, whose memory can be used again.
    batch: Batch,
    pages: usize,
    checker: usize,
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
}

enum How<'scope> {
    Here(Box<Shard>),
    Threads {
        senders: Vec<SyncSender<Batch>>,
        results: Receiver<Done>,
        threads: Vec<ScopedJoinHandle<'scope, Found>>,
    },
}

impl<'scope> Pool<'scope> {
    /// One checker on this thread, or several on their own.
    pub fn new<'env>(scope: &'scope Scope<'scope, 'env>, mut shards: Vec<Shard>) -> Self {
        let count = shards.len().max(1);
        let how = match shards.pop() {
            Some(only) if shards.is_empty() => How::Here(Box::new(only)),
            last => {
                shards.extend(last);
                let (sender, results) = channel();
                let (senders, threads) = shards
                    .into_iter()
                    .enumerate()
                    .map(|(checker, shard)| start(scope, checker, shard, sender.clone()))
                    .unzip();
                How::Threads {
                    senders,
                    results,
                    threads,
                }
            }
        };
        Pool {
            how,
            empty: Vec::new(),
            open: std::collections::BTreeMap::new(),
            next: 0,
            pages: vec![0; count],
        }
    }

    /// Hands each checker its batch, and waits while they are too far behind.
    pub fn give(&mut self, batches: Vec<Batch>) {
        match &mut self.how {
            How::Here(shard) => {
                for batch in batches {
                    let candidates = shard.check(&batch);
                    self.pages[0] = shard.pages();
                    self.open.insert(batch.number, (1, candidates));
                    self.empty.push(batch);
                }
            }
            How::Threads { senders, .. } => {
                for (sender, batch) in senders.iter().zip(batches) {
                    // A checker that is gone has panicked, which `finish` passes on.
                    let _ = sender.send(batch);
                }
            }
        }
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
        let (count, candidates) = self.open.entry(done.number).or_default();
        *count += 1;
        candidates.extend(done.candidates);
        self.pages[done.checker] = done.pages;
        self.empty.push(done.batch);
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

    /// Pages of memory that the checkers remember now.
    pub fn pages(&self) -> usize {
        self.pages.iter().sum()
    }

    /// Waits for all checkers; what they found last, and in all.
    pub fn finish(mut self) -> (Vec<Candidate>, Vec<Found>) {
        let how = std::mem::replace(&mut self.how, How::Here(Box::new(Shard::none())));
        let found = match how {
            How::Here(shard) => vec![shard.finish()],
            How::Threads {
                senders,
                results,
                threads,
            } => {
                drop(senders);
                results.iter().for_each(|done| self.take(done));
                threads
                    .into_iter()
                    .map(|thread| match thread.join() {
                        Ok(found) => found,
                        Err(panic) => std::panic::resume_unwind(panic),
                    })
                    .collect()
            }
        };
        (self.closed(), found)
    }
}

fn start<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    checker: usize,
    mut shard: Shard,
    results: Sender<Done>,
) -> (SyncSender<Batch>, ScopedJoinHandle<'scope, Found>) {
    let (sender, batches) = sync_channel::<Batch>(WAITING);
    let thread = scope.spawn(move || {
        for batch in batches {
            let done = Done {
                number: batch.number,
                candidates: shard.check(&batch),
                pages: shard.pages(),
                checker,
                batch,
            };
            if results.send(done).is_err() {
                break;
            }
        }
        shard.finish()
    });
    (sender, thread)
}
