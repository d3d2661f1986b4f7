//! The scheduler: picks a strand that can go on, does the next item of its script, or lets it decide for a new one.
//!
//! Somebody can always go on: scripts take locks in one order; a strand goes to a barrier or ends only between scripts, when it
//! holds nothing; only strands that no barrier expects wait on condition variables; and `t0`, which never waits
//! on one, wakes all others before it ends.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::event::{
    Action, Barrier, Channel, Condvar, Event, FenceOrder, Mutex, Round, RwLock, Strand, Trace,
};

use super::Shape;
use super::plan::{self, Block, Discipline, Medium, News, Todo};
use super::rng::Rng;

pub(super) const MAIN: Strand = Strand(0);

/// A strand and what stands in its way.
#[derive(Clone, Debug)]
pub(super) struct Worker {
    life: Life,
    pub(super) script: VecDeque<Todo>,
    /// Rounds it must still arrive at and leave, in this order.
    rounds: VecDeque<Round>,
    /// It has arrived at the first of them.
    arrived: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Forked,
    Running,
    Waiting {
        condvar: Condvar,
        mutex: Mutex,
        notified: bool,
    },
    Ended,
    Joined,
}

/// A region and its state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region {
    pub(super) discipline: Discipline,
    pub(super) news: News,
}

/// Everything about a random execution so far.
pub struct World<'a> {
    pub(super) shape: &'a Shape,
    pub(super) rng: Rng,
    events: Vec<Event>,
    pub(super) decisions: u32,
    pub(super) workers: Vec<Worker>,
    mutexes: BTreeSet<Mutex>,
    writers: BTreeSet<RwLock>,
    readers: BTreeMap<RwLock, u32>,
    /// How many have still to arrive in a round that was called.
    missing: BTreeMap<Round, usize>,
    /// For each barrier, how many a round takes, and the next phase.
    barriers: BTreeMap<Barrier, (usize, u64)>,
    pub(super) regions: Vec<Region>,
    pub(super) blocks: Vec<Block>,
}

impl<'a> World<'a> {
    pub fn new(seed: u64, shape: &'a Shape) -> World<'a> {
        let mut rng = Rng::new(seed);
        let regions = (0..shape.regions as usize)
            .map(|n| discipline(&mut rng, shape, n))
            .collect();
        let blocks = (0..u64::from(shape.blocks))
            .filter_map(|n| block(&mut rng, shape, n))
            .collect();
        let most = u64::from(shape.strands.max(2)) - 1;
        let barriers = (0..u64::from(shape.barriers))
            .map(|n| (Barrier(n), (2 + rng.below(most) as usize, 0)))
            .collect();
        World {
            shape,
            rng,
            events: Vec::new(),
            decisions: shape.decisions,
            workers: vec![Worker::new()],
            mutexes: BTreeSet::new(),
            writers: BTreeSet::new(),
            readers: BTreeMap::new(),
            missing: BTreeMap::new(),
            barriers,
            regions,
            blocks,
        }
    }

    pub fn run(mut self) -> Trace {
        loop {
            let ready: Vec<Strand> = self
                .strands()
                .filter(|&strand| self.can_go_on(strand))
                .collect();
            match self.rng.pick(&ready) {
                Some(strand) => self.go_on(strand),
                None => break,
            }
        }
        debug_assert!(self.workers[0].life == Life::Ended, "all strands are stuck");
        Trace {
            events: self.events,
        }
    }

    fn strands(&self) -> impl Iterator<Item = Strand> + use<> {
        (0..self.workers.len() as u32).map(Strand)
    }

    pub(super) fn worker(&mut self, strand: Strand) -> &mut Worker {
        &mut self.workers[strand.0 as usize]
    }

    fn emit(&mut self, strand: Strand, action: Action) {
        self.events.push(Event::new(strand, action));
    }

    fn can_go_on(&self, strand: Strand) -> bool {
        let worker = &self.workers[strand.0 as usize];
        match worker.life {
            Life::Forked => true,
            Life::Waiting {
                mutex, notified, ..
            } => notified && !self.mutexes.contains(&mutex),
            Life::Ended | Life::Joined => false,
            Life::Running => match (worker.script.front(), worker.rounds.front()) {
                (Some(todo), _) => self.is_free(todo),
                (None, Some(round)) if worker.arrived => self.missing.get(round) == Some(&0),
                (None, Some(_)) => true,
                (None, None) => strand != MAIN || self.decisions > 0 || self.main_can_finish(),
            },
        }
    }

    /// Whether the lock that an item takes is free.
    fn is_free(&self, todo: &Todo) -> bool {
        let read = |lock: &RwLock| self.readers.get(lock).is_some_and(|&readers| readers > 0);
        match todo {
            Todo::Do(Action::Lock(mutex)) => !self.mutexes.contains(mutex),
            Todo::Do(Action::ReadLock(lock)) => !self.writers.contains(lock),
            Todo::Do(Action::WriteLock(lock)) => !self.writers.contains(lock) && !read(lock),
            _ => true,
        }
    }

    fn main_can_finish(&self) -> bool {
        let others = &self.workers[1..];
        let sleeps = |w: &Worker| {
            matches!(
                w.life,
                Life::Waiting {
                    notified: false,
                    ..
                }
            )
        };
        others.iter().any(|w| w.life == Life::Ended || sleeps(w))
            || others.iter().all(|w| w.life == Life::Joined)
    }

    fn go_on(&mut self, me: Strand) {
        let worker = self.worker(me);
        match worker.life {
            Life::Forked => {
                worker.life = Life::Running;
                self.emit(me, Action::Begin);
            }
            Life::Waiting { condvar, mutex, .. } => {
                worker.life = Life::Running;
                self.mutexes.insert(mutex);
                self.emit(me, Action::Woken(condvar, mutex));
            }
            Life::Running => match (worker.script.pop_front(), worker.rounds.front().copied()) {
                (Some(todo), _) => self.perform(me, todo),
                (None, Some(round)) => self.pass(me, round),
                (None, None) if self.decisions > 0 => self.decide(me),
                (None, None) if me == MAIN => self.finish(),
                (None, None) => self.end(me),
            },
            Life::Ended | Life::Joined => {}
        }
    }

    /// Arrives at a barrier, or leaves it.
    fn pass(&mut self, me: Strand, round: Round) {
        if self.worker(me).arrived {
            self.worker(me).rounds.pop_front();
            self.worker(me).arrived = false;
            self.emit(me, Action::Leave(round));
        } else {
            self.worker(me).arrived = true;
            self.missing
                .entry(round)
                .and_modify(|missing| *missing -= 1);
            self.emit(me, Action::Arrive(round));
        }
    }

    fn end(&mut self, me: Strand) {
        self.worker(me).life = Life::Ended;
        self.emit(me, Action::End);
    }

    /// What `t0` does when nothing is left to decide: wakes who sleeps, joins who has ended, and ends.
    fn finish(&mut self) {
        let sleeper = self.workers.iter().find_map(|worker| match worker.life {
            Life::Waiting {
                condvar,
                notified: false,
                ..
            } => Some(condvar),
            _ => None,
        });
        match sleeper {
            Some(condvar) => self.notify(MAIN, condvar),
            None if !self.join_somebody(MAIN) => self.end(MAIN),
            None => {}
        }
    }

    fn join_somebody(&mut self, me: Strand) -> bool {
        let ended: Vec<Strand> = self
            .strands()
            .filter(|s| self.workers[s.0 as usize].life == Life::Ended)
            .collect();
        let Some(child) = self.rng.pick(&ended) else {
            return false;
        };
        self.worker(child).life = Life::Joined;
        self.emit(me, Action::Join(child));
        true
    }

    pub(super) fn notify(&mut self, me: Strand, condvar: Condvar) {
        for worker in &mut self.workers {
            if let Life::Waiting {
                condvar: other,
                notified,
                ..
            } = &mut worker.life
            {
                *notified |= *other == condvar;
            }
        }
        self.emit(me, Action::Notify(condvar));
    }

    /// Does an item of a script, or leaves it out.
    fn perform(&mut self, me: Strand, todo: Todo) {
        match todo {
            Todo::Do(action) => self.act(me, action),
            Todo::Wait(condvar, mutex) => {
                if me != MAIN && self.worker(me).rounds.is_empty() {
                    self.worker(me).life = Life::Waiting {
                        condvar,
                        mutex,
                        notified: false,
                    };
                    self.mutexes.remove(&mutex);
                    self.emit(me, Action::Wait(condvar, mutex));
                }
            }
            Todo::Publish(n, message) => {
                self.regions[n].news = News::Out;
                self.emit(me, message);
            }
            Todo::Hear(n, message) => self.hear(me, n, message),
            Todo::Heap(n) => self.heap(me, n),
            Todo::Spawn => self.spawn(me),
            Todo::Gather(barrier) => self.gather(barrier),
        }
    }

    /// An event that needs no more thought, and its effect on the locks.
    fn act(&mut self, me: Strand, action: Action) {
        match action {
            Action::Lock(mutex) => {
                self.mutexes.insert(mutex);
            }
            Action::Unlock(mutex) => {
                self.mutexes.remove(&mutex);
            }
            Action::WriteLock(lock) => {
                self.writers.insert(lock);
            }
            Action::WriteUnlock(lock) => {
                self.writers.remove(&lock);
            }
            Action::ReadLock(lock) => *self.readers.entry(lock).or_default() += 1,
            Action::ReadUnlock(lock) => *self.readers.entry(lock).or_default() -= 1,
            _ => {}
        }
        self.emit(me, action);
    }

    fn hear(&mut self, me: Strand, n: usize, message: Action) {
        self.emit(me, message);
        if self.regions[n].news == News::Out {
            if plan::needs_fence(message) {
                self.emit(me, Action::Fence(FenceOrder::Acquire));
            }
            if let Some(whole) = plan::region(n) {
                let part = plan::part_of(&mut self.rng, whole);
                self.emit(me, Action::Read(part));
            }
        }
    }

    fn heap(&mut self, me: Strand, n: usize) {
        let Block { range, guard, live } = self.blocks[n];
        let action = if !live {
            // Now and then a wild block is touched though it is dead.
            if guard.is_none() && self.rng.chance(100) {
                plan::access(&mut self.rng, range)
            } else {
                self.blocks[n].live = true;
                Action::Alloc(range)
            }
        } else if self.rng.chance(250) {
            self.blocks[n].live = false;
            Action::Free(range)
        } else if self.rng.chance(300) {
            plan::atomic_access(&mut self.rng, range).unwrap_or(Action::Read(range))
        } else {
            plan::access(&mut self.rng, range)
        };
        self.emit(me, action);
    }

    fn spawn(&mut self, me: Strand) {
        let count = self.workers.len() as u32;
        if count < self.shape.strands {
            self.workers.push(Worker {
                life: Life::Forked,
                ..Worker::new()
            });
            self.emit(me, Action::Fork(Strand(count)));
        } else if !self.join_somebody(me)
            && me != MAIN
            && self.rng.chance(200)
            && self.worker(me).rounds.is_empty()
        {
            self.worker(me).script.clear();
            self.end(me);
        }
    }

    /// Calls as many strands as the barrier takes, if there are so many that can come.
    fn gather(&mut self, barrier: Barrier) {
        let Some(&(parties, phase)) = self.barriers.get(&barrier) else {
            return;
        };
        let comes = |worker: &Worker| {
            let expected = worker
                .rounds
                .iter()
                .all(|round| self.missing.get(round) == Some(&0));
            matches!(worker.life, Life::Forked | Life::Running)
                && expected
                && worker.rounds.len() < 2
        };
        let mut guests: Vec<Strand> = self
            .strands()
            .filter(|s| comes(&self.workers[s.0 as usize]))
            .collect();
        if guests.len() < parties {
            return;
        }
        while guests.len() > parties {
            let away = self.rng.below(guests.len() as u64) as usize;
            guests.remove(away);
        }
        let round = Round { barrier, phase };
        self.barriers.insert(barrier, (parties, phase + 1));
        self.missing.insert(round, parties);
        guests
            .into_iter()
            .for_each(|guest| self.worker(guest).rounds.push_back(round));
    }
}

impl Worker {
    fn new() -> Worker {
        Worker {
            life: Life::Forked,
            script: VecDeque::new(),
            rounds: VecDeque::new(),
            arrived: false,
        }
    }
}

fn discipline(rng: &mut Rng, shape: &Shape, n: usize) -> Region {
    let some = |count: u32, rng: &mut Rng| (count > 0).then(|| rng.below(u64::from(count)));
    let discipline = if rng.chance(shape.wild) {
        Some(Discipline::Wild)
    } else {
        match rng.below(6) {
            0 => some(shape.mutexes, rng).map(|m| Discipline::Guarded(Mutex(m))),
            1 => some(shape.rwlocks, rng).map(|l| Discipline::Shared(RwLock(l))),
            2 => Some(Discipline::OwnBytes),
            3 => some(shape.channels, rng)
                .map(|c| Discipline::Published(Medium::Channel(Channel(c)))),
            // Each atomic publishes one region: a second publisher's store would end the first one's release sequence.
            4 if n < shape.atomics as usize => {
                plan::atomic(n as u64).map(|place| Discipline::Published(Medium::Atomic(place)))
            }
            _ => Some(Discipline::Constant),
        }
    };
    Region {
        discipline: discipline.unwrap_or(Discipline::OwnBytes),
        news: News::None,
    }
}

fn block(rng: &mut Rng, shape: &Shape, n: u64) -> Option<Block> {
    let wild = shape.mutexes == 0 || rng.chance(shape.wild);
    let guard = (!wild).then(|| Mutex(rng.below(u64::from(shape.mutexes))));
    Some(Block {
        range: plan::block(n)?,
        guard,
        live: false,
    })
}
