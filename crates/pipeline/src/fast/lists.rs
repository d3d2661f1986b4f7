//! Lists of entries for those cells that have more than two.

use super::ahead::fetch;
use super::sites::Site;

/// Entries that a list has room for without memory of its own.
const NEAR: usize = 9;

/// One cell's entries beyond the first, in no order.
#[derive(Clone, Debug, Default)]
#[repr(C, align(128))]
pub struct List {
    count: u32,
    // invariant: none unless `count` is NEAR, and never empty
    far: Option<Box<Far>>,
    words: [u64; NEAR],
    sites: [Site; NEAR],
}

/// The entries that have no room; boxed, so that a list is two lines of the cache that are fetched together.
type Far = Vec<(u64, Site)>;

const _: () = assert!(size_of::<List>() == 128);

impl List {
    pub fn len(&self) -> usize {
        self.count as usize + self.far.as_ref().map_or(0, |far| far.len())
    }

    #[inline(always)]
    pub fn push(&mut self, word: u64, site: Site) {
        let at = self.count as usize;
        if at < NEAR {
            (self.words[at], self.sites[at]) = (word, site);
            self.count += 1;
        } else {
            self.far.get_or_insert_default().push((word, site));
        }
    }

    #[inline(always)]
    pub fn pop(&mut self) -> Option<(u64, Site)> {
        if self.far.is_some() {
            return self.pop_far();
        }
        self.count = self.count.checked_sub(1)?;
        let at = self.count as usize;
        Some((self.words[at], self.sites[at]))
    }

    fn pop_far(&mut self) -> Option<(u64, Site)> {
        let far = self.far.as_mut()?;
        let last = far.pop();
        if far.is_empty() {
            self.far = None;
        }
        last
    }

    /// Swaps the first entry that `is_it` with the one given; false if there is none.
    #[inline(always)]
    pub fn swap(
        &mut self,
        word: &mut u64,
        site: &mut Site,
        is_it: impl Fn(u64) -> bool + Copy,
    ) -> bool {
        let near = &mut self.words[..self.count as usize];
        if let Some(at) = near.iter().position(|&word| is_it(word)) {
            std::mem::swap(word, &mut near[at]);
            std::mem::swap(site, &mut self.sites[at]);
            return true;
        }
        if let Some(far) = &mut self.far
            && let Some(found) = far.iter_mut().find(|(word, _)| is_it(*word))
        {
            std::mem::swap(word, &mut found.0);
            std::mem::swap(site, &mut found.1);
            return true;
        }
        false
    }

    /// Keeps the entries that `stays` says, which may also change them.
    #[inline(always)]
    pub fn retain(&mut self, mut stays: impl FnMut(&mut u64, &Site) -> bool) {
        let mut kept = 0;
        for at in 0..self.count as usize {
            if stays(&mut self.words[at], &self.sites[at]) {
                if kept != at {
                    (self.words[kept], self.sites[kept]) = (self.words[at], self.sites[at]);
                }
                kept += 1;
            }
        }
        self.count = kept as u32;
        if self.far.is_some() {
            self.retain_far(&mut stays);
        }
    }

    #[inline(never)]
    fn retain_far(&mut self, stays: &mut impl FnMut(&mut u64, &Site) -> bool) {
        let Some(mut far) = self.far.take() else {
            return;
        };
        far.retain_mut(|(word, site)| stays(word, site));
        while (self.count as usize) < NEAR
            && let Some((word, site)) = far.pop()
        {
            self.push(word, site);
        }
        self.far = (!far.is_empty()).then_some(far);
    }

    /// Whether `is_so` for all words.
    pub fn all(&self, is_so: impl FnMut(u64) -> bool) -> bool {
        let near = self.words[..self.count as usize].iter();
        let far = self.far.iter().flat_map(|far| far.iter());
        near.chain(far.map(|(word, _)| word)).copied().all(is_so)
    }

    fn clear(&mut self) {
        self.count = 0;
        self.far = None;
    }
}

/// The lists of all cells.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    lists: Vec<List>,
    free: Vec<u32>,
}

impl Lists {
    /// Whether no cell has a list.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.lists.len() == self.free.len()
    }

    #[inline(always)]
    pub fn of(&mut self, index: u32) -> &mut List {
        &mut self.lists[index as usize]
    }

    /// Calls `visit` with what is behind each entry of a list.
    pub fn sites(&self, index: u32, visit: &mut dyn FnMut(Site)) {
        let list = &self.lists[index as usize];
        list.sites[..list.count as usize]
            .iter()
            .for_each(|&site| visit(site));
        let far = list.far.iter().flat_map(|far| far.iter());
        far.for_each(|&(_, site)| visit(site));
    }

    /// The list will be needed.
    #[inline(always)]
    pub fn fetch(&self, index: u32) {
        if let Some(list) = self.lists.get(index as usize) {
            fetch(list);
        }
    }

    /// A list with two entries.
    pub fn new_list(&mut self, entries: [(u64, Site); 2]) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.lists.push(List::default());
            (self.lists.len() - 1) as u32
        });
        let list = self.of(index);
        entries
            .into_iter()
            .for_each(|(word, site)| list.push(word, site));
        index
    }

    /// The list is needed no more.
    pub fn give_up(&mut self, index: u32) {
        self.of(index).clear();
        self.free.push(index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(word: u64) -> Site {
        Site(word as u32 * 3)
    }

    /// What a list holds, sorted.
    fn all(list: &mut List) -> Vec<u64> {
        let mut words = Vec::new();
        list.retain(|word, behind| {
            assert_eq!(*behind, site(*word));
            words.push(*word);
            true
        });
        words.sort_unstable();
        words
    }

    #[test]
    fn a_list_holds_what_a_naive_one_does() {
        let (mut list, mut naive) = (List::default(), Vec::<u64>::new());
        let mut seed = 1u64;
        for n in 1..20_000u64 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1);
            match seed >> 61 {
                0 => {
                    let last = list.pop();
                    assert_eq!(last.is_none(), naive.is_empty());
                    naive.retain(|&word| Some(word) != last.map(|(word, _)| word));
                }
                1 => {
                    let divisor = 2 + (seed >> 40) % 4;
                    list.retain(|word, _| *word % divisor != 0);
                    naive.retain(|word| word % divisor != 0);
                }
                2 => {
                    let wanted = naive.get((seed >> 40) as usize % 7).copied();
                    let (mut word, mut behind) = (n, site(n));
                    let found = list.swap(&mut word, &mut behind, |word| Some(word) == wanted);
                    assert_eq!((found, found.then_some(word)), (wanted.is_some(), wanted));
                    if found {
                        naive.retain(|&word| Some(word) != wanted);
                        naive.push(n);
                    }
                }
                _ => {
                    list.push(n, site(n));
                    naive.push(n);
                }
            }
            assert_eq!(list.len(), naive.len());
            naive.sort_unstable();
            assert_eq!(all(&mut list), naive);
            if naive.len() > 12 {
                list.retain(|word, _| *word % 3 == 0);
                naive.retain(|word| word % 3 == 0);
            }
        }
    }
}
