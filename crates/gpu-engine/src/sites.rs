//! Where and how accesses were made, by numbers that the kernels remember.
//!
//! When there are many, the device says which numbers its cells have, and the others are used again: but for those of batches that
//! were laid out since, whose accesses may come to be remembered.

use std::collections::HashMap;

use deadheat_pipeline::found::Info;

use crate::layout::{NONE, has_bit};

/// Those that were numbered lately; a power of two.
const NEAR: usize = 1 << 10;
/// Fewer are not worth looking for those that nobody has.
pub const FEW: usize = 1 << 18;

/// All that are remembered.
#[derive(Debug)]
pub struct Sites {
    all: Vec<Info>,
    /// By number: the last batch that has it.
    batches: Vec<u64>,
    free: Vec<u32>,
    numbers: HashMap<Info, u32>,
    // invariant: each is what has its number, or the number is `NONE`
    near: Vec<(Info, u32)>,
    /// So many make it due to look for those that nobody has; at least `few`.
    most: usize,
    few: usize,
}

impl Sites {
    /// The first so many are not worth looking for those that nobody has.
    pub fn new(few: usize) -> Sites {
        Sites {
            all: Vec::new(),
            batches: Vec::new(),
            free: Vec::new(),
            numbers: HashMap::new(),
            near: vec![(Info::default(), NONE); NEAR],
            most: few,
            few,
        }
    }

    /// The number of this, which a batch has.
    #[inline]
    pub fn number(&mut self, info: Info, batch: u64) -> u32 {
        let near = (info.spot.0 ^ u64::from(info.caller.0) << 7 ^ u64::from(info.locks.0) << 3)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            >> 54;
        let (known, mut number) = self.near[near as usize];
        if known != info || number == NONE {
            number = self.find(info);
            self.near[near as usize] = (info, number);
        }
        self.batches[number as usize] = batch;
        number
    }

    fn find(&mut self, info: Info) -> u32 {
        if let Some(&number) = self.numbers.get(&info) {
            return number;
        }
        let number = match self.free.pop() {
            Some(number) => {
                self.all[number as usize] = info;
                number
            }
            None => {
                self.all.push(info);
                self.batches.push(0);
                (self.all.len() - 1) as u32
            }
        };
        self.numbers.insert(info, number);
        number
    }

    /// What has this number.
    pub fn of(&self, number: u32) -> Info {
        self.all.get(number as usize).copied().unwrap_or_default()
    }

    /// Those that are remembered.
    pub fn iter(&self) -> impl Iterator<Item = &Info> {
        self.numbers.keys()
    }

    /// How many are remembered.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Numbers that were ever given.
    pub fn numbers(&self) -> usize {
        self.all.len()
    }

    /// Whether there are so many that it should be looked for those that nobody has.
    pub fn is_due(&self) -> bool {
        self.len() >= self.most
    }

    /// After that batch the device had those whose bits are set.
    pub fn collect(&mut self, batch: u64, marks: &[u32]) {
        let Sites {
            batches,
            free,
            numbers,
            near,
            ..
        } = self;
        numbers.retain(|_, &mut number| {
            let stays = has_bit(marks, number) || batches[number as usize] > batch;
            if !stays {
                free.push(number);
            }
            stays
        });
        near.fill((Info::default(), NONE));
        self.most = self.few.max(2 * self.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadheat_pipeline::batch::LocksId;
    use deadheat_trace::wire::{Spot, StackNode};

    fn info(n: u64) -> Info {
        Info {
            spot: Spot(n * 7 + 1),
            caller: StackNode(n as u32 % 50),
            locks: LocksId(n as u32 % 3),
        }
    }

    #[test]
    fn what_the_device_or_a_later_batch_has_keeps_its_number() {
        let mut sites = Sites::new(1000);
        let mut last: Vec<(u64, u32)> = Vec::new();
        for batch in 1..40 {
            let from = batch * 700;
            let now: Vec<(u64, u32)> = (from..from + 1400)
                .map(|n| (n, sites.number(info(n), batch)))
                .collect();
            assert!(now.iter().all(|&(n, number)| sites.of(number) == info(n)));
            assert!(batch > 1 || sites.is_due());
            // The device has answered for the batch before, and has every third one of it.
            let mut marks = vec![0; sites.numbers().div_ceil(32)];
            last.retain(|(n, _)| n % 3 == 0);
            for (_, number) in &last {
                marks[*number as usize / 32] |= 1 << (number % 32);
            }
            sites.collect(batch - 1, &marks);
            let kept = last.iter().chain(&now);
            assert!(kept.clone().all(|&(n, number)| sites.of(number) == info(n)));
            assert!(
                kept.clone()
                    .all(|&(n, number)| sites.number(info(n), batch) == number)
            );
            assert!(sites.len() < 2400, "{} are kept", sites.len());
            last = now;
        }
        assert!(sites.numbers() < 4000, "{} were given", sites.numbers());
    }
}
