//! Shadow of global memory: pages of cells, made when first touched, shared by all blocks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, RwLock};

use super::cell::Cell;

/// Bytes of memory per page.
pub const PAGE: u64 = 1024;

pub type Page = Arc<Mutex<Vec<Cell>>>;

/// All pages of a launch.
#[derive(Debug)]
pub struct Pages {
    shards: Vec<RwLock<HashMap<u64, Page>>>,
    grain: u32,
}

const SHARDS: u64 = 64;

impl Pages {
    pub fn new(grain: u32) -> Self {
        Pages {
            shards: (0..SHARDS).map(|_| RwLock::new(HashMap::new())).collect(),
            grain,
        }
    }

    pub fn page(&self, number: u64) -> Option<Page> {
        let s = &self.shards[(number % SHARDS) as usize];
        if let Some(p) = s.read().ok()?.get(&number) {
            return Some(Arc::clone(p));
        }
        let cells = vec![Cell::default(); (PAGE / u64::from(self.grain)) as usize];
        Some(Arc::clone(
            s.write()
                .ok()?
                .entry(number)
                .or_insert_with(|| Arc::new(Mutex::new(cells))),
        ))
    }

    /// Bytes of shadow.
    pub fn bytes(&self) -> u64 {
        let pages: usize = self
            .shards
            .iter()
            .map(|s| s.read().map_or(0, |m| m.len()))
            .sum();
        pages as u64 * (PAGE / u64::from(self.grain)) * size_of::<Cell>() as u64
    }
}

/// The last pages a block used.
#[derive(Debug, Default)]
pub struct PageCache {
    slots: Vec<Option<(u64, Page)>>,
}

impl PageCache {
    pub fn get(&mut self, pages: &Pages, number: u64) -> Option<&Page> {
        if self.slots.is_empty() {
            self.slots.resize(64, None);
        }
        let k = (number % 64) as usize;
        if !matches!(&self.slots[k], Some((n, _)) if *n == number) {
            self.slots[k] = Some((number, pages.page(number)?));
        }
        self.slots[k].as_ref().map(|s| &s.1)
    }
}
