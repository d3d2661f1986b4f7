//! Where the synchronization objects of the program are: from an address to its object in a few loads, without a lock.
//!
//! A page of the program that has an object gets a number for each of its cells; a cell with several objects has a chain of
//! them. Objects live in blocks that are never freed, and are used again for other addresses, so whoever looks compares
//! the address. One who finds a chain but not his object, while others took objects out of chains, looks again under the
//! page's lock: the chain may have been changed under him.
//!
//! | who | may |
//! |---|---|
//! | anybody | follow a chain |
//! | who holds the page's lock | change its chains |

use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use std_alloc::boxed::Box;
use std_alloc::vec::Vec;

use crate::pages::{PAGE_BITS, PAGES};
use crate::shadow::{ADDRESS_BITS, REGION, Shadow};
use crate::sync::{Locked, SpinLock};
use crate::syncvar::SyncVar;
use crate::sys;

/// For each cell of a page the number of its first object, 0 if it has none.
pub struct SyncPage {
    heads: [AtomicU32; CELLS],
}

const CELLS: usize = 1 << (PAGE_BITS - 3);
const LOCKS: usize = 64;
const BLOCK: usize = 1 << BLOCK_BITS;
const BLOCK_BITS: u32 = 8;
const BLOCKS: usize = 1 << 16;

/// All objects, by address and by number.
pub struct SyncPlaces {
    chains: [Chains; LOCKS],
    blocks: [AtomicPtr<SyncVar>; BLOCKS],
    /// How many there are.
    count: Locked<usize>,
}

/// The chains of some pages.
#[repr(align(64))]
struct Chains {
    lock: SpinLock,
    /// How often somebody began or ended to take objects out of one: odd while somebody does.
    taken: AtomicU32,
}

impl Chains {
    const fn new() -> Self {
        Chains {
            lock: SpinLock::new(),
            taken: AtomicU32::new(0),
        }
    }
}

/// An address that the shadow can have. The object knows its own.
fn home(addr: usize) -> usize {
    addr & ((1 << ADDRESS_BITS) - 1)
}

impl SyncPlaces {
    pub const fn new() -> Self {
        SyncPlaces {
            chains: [const { Chains::new() }; LOCKS],
            blocks: [const { AtomicPtr::new(core::ptr::null_mut()) }; BLOCKS],
            count: Locked::new(0),
        }
    }

    fn chains_of(&self, addr: usize) -> &Chains {
        &self.chains[(home(addr) >> PAGE_BITS) % LOCKS]
    }

    /// The object with this number, from 1 on.
    #[inline(always)]
    fn var(&self, index: u32) -> &'static SyncVar {
        let index = index as usize - 1;
        let block = self.blocks[index >> BLOCK_BITS].load(Ordering::Acquire);
        // SAFETY: only numbers that `grow` gave are in chains, and blocks are never freed.
        unsafe { &*block.add(index % BLOCK) }
    }

    /// The page's numbers, if it has ever had an object.
    #[inline(always)]
    fn page(shadow: &Shadow, addr: usize) -> Option<&'static SyncPage> {
        let addr = home(addr);
        let cell = shadow.existing(addr)?;
        // SAFETY: the shadow gave the cell for this address.
        let owners = unsafe { Shadow::owners(addr, cell) };
        let page = owners.syncs[addr >> PAGE_BITS & (PAGES - 1)].load(Ordering::Acquire);
        // SAFETY: set once, never freed.
        unsafe { page.as_ref() }
    }

    /// The object at `addr` if there is one.
    #[inline]
    pub fn find(&self, shadow: &Shadow, addr: usize) -> Option<&'static SyncVar> {
        let head = Self::page(shadow, addr)?.head(addr).load(Ordering::Acquire);
        if head == 0 {
            return None;
        }
        let first = self.var(head);
        if first.addr() == addr {
            return Some(first);
        }
        self.find_in_chain(shadow, addr)
    }

    /// What `f` makes, if there was no object at `addr` all the while. (None may be said at any time.)
    #[inline]
    pub fn none_while<R>(&self, shadow: &Shadow, addr: usize, f: impl Fn() -> R) -> Option<R> {
        let Some(page) = Self::page(shadow, addr) else {
            let result = f();
            return Self::page(shadow, addr).is_none().then_some(result);
        };
        let head = page.head(addr);
        let first = head.load(Ordering::Acquire);
        if first == 0 {
            let result = f();
            return (head.load(Ordering::Acquire) == 0).then_some(result);
        }
        if self.var(first).addr() == addr {
            return None;
        }
        // A new object is the first one, unless objects were taken out meanwhile.
        let chains = self.chains_of(addr);
        let before = chains.taken.load(Ordering::Acquire);
        if !before.is_multiple_of(2) || self.walk(page, addr).is_some() {
            return None;
        }
        let result = f();
        let same =
            head.load(Ordering::Acquire) == first && chains.taken.load(Ordering::Acquire) == before;
        same.then_some(result)
    }

    #[inline(never)]
    fn find_in_chain(&self, shadow: &Shadow, addr: usize) -> Option<&'static SyncVar> {
        let page = Self::page(shadow, addr)?;
        let chains = self.chains_of(addr);
        let before = chains.taken.load(Ordering::Acquire);
        let found = self.walk(page, addr);
        let same = before.is_multiple_of(2) && chains.taken.load(Ordering::Acquire) == before;
        if found.is_some() || same {
            return found;
        }
        chains.lock.lock();
        let found = self.walk(page, addr);
        chains.lock.unlock();
        found
    }

    /// Finds what is in the chain if nobody takes out of it meanwhile: it may lead through objects that are used again elsewhere.
    fn walk(&self, page: &SyncPage, addr: usize) -> Option<&'static SyncVar> {
        let mut at = page.head(addr).load(Ordering::Acquire);
        while at != 0 {
            let var = self.var(at);
            if var.addr() == addr {
                return Some(var);
            }
            at = var.next.load(Ordering::Acquire);
        }
        None
    }

    /// The object at `addr`; the one that `make` makes if there is none.
    pub fn find_or_put(
        &self,
        shadow: &Shadow,
        addr: usize,
        make: impl FnOnce() -> &'static SyncVar,
    ) -> &'static SyncVar {
        self.chains_of(addr).lock.lock();
        let page = match Self::page(shadow, addr) {
            Some(page) => page,
            None => Self::new_page(shadow, addr),
        };
        let var = self.walk(page, addr).unwrap_or_else(|| {
            let var = make();
            let head = page.head(addr);
            var.next
                .store(head.load(Ordering::Relaxed), Ordering::Release);
            head.store(var.index, Ordering::Release);
            var
        });
        self.chains_of(addr).lock.unlock();
        var
    }

    #[cold]
    fn new_page(shadow: &Shadow, addr: usize) -> &'static SyncPage {
        let addr = home(addr);
        let Some(cell) = shadow.cell(addr) else {
            sys::die("no memory left for synchronization objects");
        };
        // SAFETY: the shadow gave the cell for this address.
        let owners = unsafe { Shadow::owners(addr, cell) };
        let page: &'static SyncPage = Box::leak(Box::new(SyncPage {
            heads: [const { AtomicU32::new(0) }; CELLS],
        }));
        owners.syncs[addr >> PAGE_BITS & (PAGES - 1)]
            .store(core::ptr::from_ref(page).cast_mut(), Ordering::Release);
        page
    }

    /// An object that was never used.
    pub fn grow(&self, addr: usize) -> &'static SyncVar {
        let mut count = self.count.lock();
        let index = *count;
        let Some(place) = self.blocks.get(index >> BLOCK_BITS) else {
            sys::die("more than 16 million synchronization objects at once");
        };
        if index.is_multiple_of(BLOCK) {
            let block = (index..index + BLOCK).map(|at| SyncVar::new(0, at as u32 + 1));
            let block: Box<[SyncVar]> = block.collect::<Vec<_>>().into_boxed_slice();
            place.store(Box::leak(block).as_mut_ptr(), Ordering::Release);
        }
        *count += 1;
        let var = self.var(index as u32 + 1);
        var.move_to(addr);
        var
    }

    /// Takes every object in `[start, start + len)` out of its chain, and calls `f` with it.
    pub fn take_range(
        &self,
        shadow: &Shadow,
        start: usize,
        len: usize,
        mut f: impl FnMut(&'static SyncVar),
    ) {
        let end = start.saturating_add(len).min(1 << ADDRESS_BITS);
        let mut at = start;
        while at < end {
            let step = match shadow.existing(at) {
                Some(_) => 1 << PAGE_BITS,
                None => REGION,
            };
            let stop = ((at | (step - 1)) + 1).min(end);
            if let Some(page) = Self::page(shadow, at) {
                for cell in at >> 3..=(stop - 1) >> 3 {
                    if page.head(cell << 3).load(Ordering::Acquire) != 0 {
                        self.take_cell(page, cell << 3, start..end, &mut f);
                    }
                }
            }
            at = stop;
        }
    }

    fn take_cell(
        &self,
        page: &SyncPage,
        cell: usize,
        range: core::ops::Range<usize>,
        f: &mut impl FnMut(&'static SyncVar),
    ) {
        let mut taken = Vec::new();
        let chains = self.chains_of(cell);
        chains.lock.lock();
        // Whoever sees a change of the chain, or what becomes of an object that was in it, sees one of these too.
        chains.taken.fetch_add(1, Ordering::AcqRel);
        let mut link = page.head(cell);
        loop {
            let at = link.load(Ordering::Acquire);
            if at == 0 {
                break;
            }
            let var = self.var(at);
            if range.contains(&var.addr()) {
                link.store(var.next.load(Ordering::Acquire), Ordering::Release);
                taken.push(var);
            } else {
                link = &var.next;
            }
        }
        chains.taken.fetch_add(1, Ordering::AcqRel);
        chains.lock.unlock();
        taken.into_iter().for_each(f);
    }

    /// Calls `f` for each object that was ever used.
    pub fn each(&self, mut f: impl FnMut(&'static SyncVar)) {
        let count = *self.count.lock();
        (1..=count as u32).for_each(|index| f(self.var(index)));
    }

    /// Calls `f` for each lock that is held over a fork.
    pub fn each_lock(&self, f: &dyn Fn(&SpinLock)) {
        self.chains.iter().for_each(|chains| f(&chains.lock));
        f(self.count.spin());
    }

    /// # Safety
    /// No other thread may exist.
    pub unsafe fn after_fork(&self) {
        // SAFETY: by the contract.
        unsafe {
            for chains in &self.chains {
                chains.taken.fetch_and(!1, Ordering::Relaxed);
                chains.lock.force_unlock();
            }
            self.count.force_unlock();
        }
    }
}

impl Default for SyncPlaces {
    fn default() -> Self {
        SyncPlaces::new()
    }
}

impl SyncPage {
    #[inline(always)]
    fn head(&self, addr: usize) -> &AtomicU32 {
        &self.heads[addr >> 3 & (CELLS - 1)]
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    const STAYS: usize = 0x14_0000_0000;
    /// In the same cell.
    const COMES_AND_GOES: usize = STAYS + 4;
    const NEVER: usize = STAYS + 2;
    /// In another page.
    const ELSEWHERE: usize = STAYS + (1 << PAGE_BITS) + 64;

    fn fresh_shadow() -> &'static Shadow {
        let shadow: &'static Shadow = Box::leak(Box::new(Shadow::new()));
        assert!(shadow.init(), "no address space for the shadow's table");
        shadow
    }

    /// Puts the object to `addr`, before all others of its cell.
    fn put(places: &SyncPlaces, shadow: &Shadow, addr: usize, var: &'static SyncVar) {
        places.find_or_put(shadow, addr, || {
            var.move_to(addr);
            var
        });
    }

    fn take(places: &SyncPlaces, shadow: &Shadow, addr: usize) {
        places.take_range(shadow, addr, 1, |var| var.move_to(0));
    }

    #[test]
    fn each_object_of_a_cell_is_found_and_no_other() {
        let (places, shadow) = (Box::leak(Box::new(SyncPlaces::new())), fresh_shadow());
        let found = |addr| places.find(shadow, addr).map(SyncVar::addr);
        assert_eq!(found(STAYS), None);
        for addr in [STAYS, COMES_AND_GOES, ELSEWHERE] {
            places.find_or_put(shadow, addr, || places.grow(addr));
        }
        for addr in [STAYS, COMES_AND_GOES, ELSEWHERE] {
            assert_eq!(found(addr), Some(addr));
        }
        assert_eq!(found(NEVER), None);
        take(places, shadow, COMES_AND_GOES);
        assert_eq!((found(STAYS), found(COMES_AND_GOES)), (Some(STAYS), None));
    }

    /// Whatever was there before: no page of objects, one without any, or another object in the same cell.
    #[test]
    fn an_object_that_comes_meanwhile_is_not_overlooked() {
        let (places, shadow) = (Box::leak(Box::new(SyncPlaces::new())), fresh_shadow());
        let places = &*places;
        let make = |addr| places.find_or_put(shadow, addr, || places.grow(addr));
        let quietly = |addr| places.none_while(shadow, addr, || 7);
        let meanwhile = |addr| {
            let made = places.none_while(shadow, addr, || make(addr).addr());
            take(places, shadow, addr);
            made
        };
        for another in [None, Some(ELSEWHERE - 64), Some(STAYS), Some(NEVER)] {
            another.map(make);
            assert_eq!((quietly(ELSEWHERE), meanwhile(ELSEWHERE)), (Some(7), None));
            assert_eq!(quietly(COMES_AND_GOES), Some(7));
            assert_eq!(meanwhile(COMES_AND_GOES), None);
        }
        assert_eq!((quietly(STAYS), quietly(NEVER)), (None, None));
    }

    /// One object goes to and fro between the head of a cell's chain and another page, so whoever follows the chain is led
    /// astray now and then: he must not believe that what stays in the chain is gone.
    #[test]
    fn who_is_led_astray_looks_again() {
        const ROUNDS: u32 = 20_000;
        let (places, shadow) = (Box::leak(Box::new(SyncPlaces::new())), fresh_shadow());
        places.find_or_put(shadow, STAYS, || places.grow(STAYS));
        let wanders = places.grow(0);
        let done = AtomicBool::new(false);
        let (places, done) = (&*places, &done);
        std::thread::scope(|scope| {
            let lookers: Vec<_> = (0..2)
                .map(|_| {
                    scope.spawn(move || {
                        while !done.load(Ordering::Acquire) {
                            assert!(places.find(shadow, STAYS).is_some());
                            assert!(places.find(shadow, NEVER).is_none());
                            assert!(places.none_while(shadow, STAYS, || ()).is_none());
                        }
                    })
                })
                .collect();
            for _ in 0..ROUNDS {
                for addr in [COMES_AND_GOES, ELSEWHERE] {
                    put(places, shadow, addr, wanders);
                    take(places, shadow, addr);
                }
            }
            done.store(true, Ordering::Release);
            for looker in lookers {
                assert!(looker.join().is_ok());
            }
        });
    }
}
