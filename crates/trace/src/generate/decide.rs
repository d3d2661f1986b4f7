//! What a strand that has nothing to do decides for, as the shape's mix says.

use crate::event::{Action, Barrier, Channel, Condvar, Mutex, Place, RwLock, Strand};

use super::plan::{self, Block, Discipline, Medium, News, Todo};
use super::rng::Rng;
use super::world::{MAIN, World};

#[derive(Clone, Copy)]
enum Decision {
    Touch,
    Atomic,
    Fence,
    Section,
    Condvar,
    Barrier,
    Channel,
    Heap,
    Spawn,
}

impl World<'_> {
    /// Makes the strand's next script.
    pub(super) fn decide(&mut self, me: Strand) {
        self.decisions -= 1;
        let mix = &self.shape.mix;
        let weights = [
            (mix.touch, Decision::Touch),
            (mix.atomic, Decision::Atomic),
            (mix.fence, Decision::Fence),
            (mix.section, Decision::Section),
            (mix.condvar, Decision::Condvar),
            (mix.barrier, Decision::Barrier),
            (mix.channel, Decision::Channel),
            (mix.heap, Decision::Heap),
            (mix.spawn, Decision::Spawn),
        ];
        let script = match self.rng.weighted(&weights) {
            None => Vec::new(),
            Some(Decision::Touch) => self.touch(me),
            Some(Decision::Atomic) => self.atomic(),
            Some(Decision::Fence) => vec![Todo::Do(plan::fence(&mut self.rng))],
            Some(Decision::Section) => self.section(me),
            Some(Decision::Condvar) => self.condvar(me),
            Some(Decision::Barrier) => {
                self.one_of(self.shape.barriers, |n| Todo::Gather(Barrier(n)))
            }
            Some(Decision::Channel) => {
                let release = self.rng.chance(500);
                let action = if release {
                    Action::Release
                } else {
                    Action::Acquire
                };
                self.one_of(self.shape.channels, |n| Todo::Do(action(Channel(n))))
            }
            Some(Decision::Heap) => self.block(),
            Some(Decision::Spawn) => vec![Todo::Spawn],
        };
        self.worker(me).script.extend(script);
    }

    /// One item about one of `count` things; nothing if there are none.
    fn one_of(&mut self, count: u32, make: impl Fn(u64) -> Todo) -> Vec<Todo> {
        let n = self.rng.below(u64::from(count));
        if count == 0 {
            Vec::new()
        } else {
            vec![make(n)]
        }
    }

    /// Touches a region by its discipline.
    fn touch(&mut self, me: Strand) -> Vec<Todo> {
        let n = self.rng.below(u64::from(self.shape.regions)) as usize;
        let (Some(region), Some(whole)) = (self.regions.get(n).copied(), plan::region(n)) else {
            return Vec::new();
        };
        let count = 1 + self.rng.below(3);
        let accesses = |rng: &mut Rng| {
            (0..count)
                .map(|_| plan::access(rng, whole))
                .collect::<Vec<_>>()
        };
        let all_do = |actions: Vec<Action>| actions.into_iter().map(Todo::Do).collect::<Vec<_>>();
        match region.discipline {
            Discipline::Wild => {
                let odd = if self.rng.chance(150) {
                    plan::atomic_access(&mut self.rng, whole)
                } else {
                    None
                };
                all_do(odd.map_or_else(
                    || vec![plan::access(&mut self.rng, whole)],
                    |action| vec![action],
                ))
            }
            Discipline::Guarded(mutex) => plan::section(mutex, all_do(accesses(&mut self.rng))),
            Discipline::Shared(lock) => {
                let reads_only = self.rng.chance(600);
                let reads = (0..count)
                    .map(|_| Action::Read(plan::part_of(&mut self.rng, whole)))
                    .collect();
                plan::shared_section(
                    lock,
                    if reads_only {
                        reads
                    } else {
                        accesses(&mut self.rng)
                    },
                )
            }
            Discipline::OwnBytes => {
                let mine = plan::own_bytes(me, whole);
                mine.map_or_else(Vec::new, |mine| {
                    all_do(vec![plan::access(&mut self.rng, mine)])
                })
            }
            Discipline::Constant if self.workers.len() == 1 => all_do(accesses(&mut self.rng)),
            Discipline::Constant => {
                vec![Todo::Do(Action::Read(plan::part_of(&mut self.rng, whole)))]
            }
            Discipline::Published(medium) if region.news == News::None => {
                self.regions[n].news = News::Claimed;
                plan::publish(&mut self.rng, n, whole, medium)
            }
            Discipline::Published(medium) => plan::hear(&mut self.rng, n, medium),
        }
    }

    /// An operation on an atomic. One that publishes a region is only read and modified, which continues the release
    /// sequence; unless a strand is wild.
    fn atomic(&mut self) -> Vec<Todo> {
        let Some(place) = plan::atomic(self.rng.below(u64::from(self.shape.atomics))) else {
            return Vec::new();
        };
        if self.shape.atomics == 0 {
            return Vec::new();
        }
        let wild = self.rng.chance(self.shape.wild);
        let action = if wild && self.rng.chance(200) {
            plan::access(&mut self.rng, place.range())
        } else if !wild && self.publishes(place) {
            plan::read_modify_write(&mut self.rng, place)
        } else {
            plan::operation(&mut self.rng, place)
        };
        vec![Todo::Do(action)]
    }

    fn publishes(&self, place: Place) -> bool {
        self.regions
            .iter()
            .any(|region| region.discipline == Discipline::Published(Medium::Atomic(place)))
    }

    /// A critical section around accesses to a region that it may or may not protect.
    fn section(&mut self, me: Strand) -> Vec<Todo> {
        let inside = self.wild_accesses();
        let mutexes = u64::from(self.shape.mutexes);
        let n = self.rng.below(mutexes + u64::from(self.shape.rwlocks));
        if self.shape.mutexes + self.shape.rwlocks == 0 {
            self.touch(me)
        } else if n < mutexes {
            plan::section(Mutex(n), inside.into_iter().map(Todo::Do).collect())
        } else {
            plan::shared_section(RwLock(n - mutexes), inside)
        }
    }

    /// Accesses to wild regions; none if there are none.
    fn wild_accesses(&mut self) -> Vec<Action> {
        let wild = |n: &usize| self.regions[*n].discipline == Discipline::Wild;
        let wild: Vec<_> = (0..self.regions.len())
            .filter(wild)
            .filter_map(plan::region)
            .collect();
        let count = 1 + self.rng.below(3);
        let chosen: Vec<_> = (0..count).filter_map(|_| self.rng.pick(&wild)).collect();
        chosen
            .into_iter()
            .map(|whole| plan::access(&mut self.rng, whole))
            .collect()
    }

    fn condvar(&mut self, me: Strand) -> Vec<Todo> {
        if self.shape.condvars == 0 || self.shape.mutexes == 0 {
            return Vec::new();
        }
        let condvar = Condvar(self.rng.below(u64::from(self.shape.condvars)));
        // A condition variable always goes with the same mutex, as POSIX asks for.
        let mutex = Mutex(condvar.0 % u64::from(self.shape.mutexes));
        if me == MAIN || self.rng.chance(500) {
            self.notify(me, condvar);
            return Vec::new();
        }
        let after = self.wild_accesses().into_iter().map(Todo::Do);
        plan::section(
            mutex,
            [Todo::Wait(condvar, mutex)]
                .into_iter()
                .chain(after)
                .collect(),
        )
    }

    fn block(&mut self) -> Vec<Todo> {
        let n = self.rng.below(self.blocks.len() as u64) as usize;
        let count = 1 + self.rng.below(3) as usize;
        match self.blocks.get(n) {
            None => Vec::new(),
            Some(Block { guard: None, .. }) => vec![Todo::Heap(n); count],
            Some(Block {
                guard: Some(mutex), ..
            }) => plan::section(*mutex, vec![Todo::Heap(n); count]),
        }
    }
}
