//! Shadow of global memory: pages made when first touched, shared by all blocks.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

/// Bytes of memory per page.
pub const PAGE: u64 = 4096;

/// All pages of a launch.
#[derive(Debug)]
pub struct Pages<P> {
    shards: Vec<RwLock<HashMap<u64, Arc<P>>>>,
}

const SHARDS: u64 = 64;

impl<P> Default for Pages<P> {
    fn default() -> Self {
        Pages {
            shards: (0..SHARDS).map(|_| RwLock::new(HashMap::new())).collect(),
        }
    }
}

impl<P> Pages<P> {
    fn page(&self, number: u64, make: impl FnOnce() -> P) -> Option<Arc<P>> {
        let s = &self.shards[(number % SHARDS) as usize];
        if let Some(p) = s.read().ok()?.get(&number) {
            return Some(Arc::clone(p));
        }
        let new = Arc::new(make());
        Some(Arc::clone(
            s.write().ok()?.entry(number).or_insert_with(|| new),
        ))
    }

    /// Bytes of all pages.
    pub fn bytes(&self, of: impl Fn(&P) -> usize) -> u64 {
        let of = &of;
        self.shards
            .iter()
            .filter_map(|s| s.read().ok())
            .map(|m| m.values().map(|p| of(p) as u64).sum::<u64>())
            .sum()
    }
}

/// The last pages a core used.
#[derive(Debug)]
pub struct PageCache<P> {
    slots: Vec<(u64, Option<Arc<P>>)>,
}

const CACHED: u64 = 256;

impl<P> Default for PageCache<P> {
    fn default() -> Self {
        PageCache { slots: Vec::new() }
    }
}

impl<P> PageCache<P> {
    #[inline(always)]
    pub fn get(&mut self, pages: &Pages<P>, number: u64, make: impl FnOnce() -> P) -> Option<&P> {
        let k = (number % CACHED) as usize;
        if self.slots.get(k).is_none_or(|s| s.0 != number) {
            self.miss(pages, number, make)?;
        }
        self.slots[k].1.as_deref()
    }

    #[cold]
    fn miss(&mut self, pages: &Pages<P>, number: u64, make: impl FnOnce() -> P) -> Option<()> {
        if self.slots.is_empty() {
            // No page has this number, which is beyond the addresses of a machine.
            self.slots = (0..CACHED).map(|_| (u64::MAX, None)).collect();
        }
        self.slots[(number % CACHED) as usize] = (number, Some(pages.page(number, make)?));
        Some(())
    }
}
