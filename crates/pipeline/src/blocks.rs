//! What memory is, for the descriptions in reports: blocks of the heap, stacks, mappings.

use std::collections::BTreeMap;

use deadheat_trace::wire::{MemoryKind, StackNode, StackSet};

use crate::batch::Block;
use crate::found::Described;

/// What memory is now, and what freed memory was.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// By kind, then by start. Those of one kind never overlap.
    maps: BTreeMap<MemoryKind, BTreeMap<u64, Described>>,
}

impl Blocks {
    /// A description without a stack (a block that has grown in its place) keeps that of the newest part, which is its end.
    pub fn born(&mut self, mut block: Block) {
        let map = self.maps.entry(block.kind).or_default();
        let (start, end) = block.range.bounds();
        // Most blocks were blocks before. Nothing can overlap with such a one.
        if let Some(old) = map.get_mut(&start)
            && old.block.range == block.range
        {
            if block.stack == StackNode(0) {
                block.stack = old.block.stack;
            }
            *old = Described { block, freed: None };
            return;
        }
        let mut last = None;
        if let Some((&before, old)) = map.range(..start).next_back()
            && old.block.range.bounds().1 > start
        {
            last = map.remove(&before);
        }
        while let Some((&inside, _)) = map.range(start..end).next() {
            last = map.remove(&inside);
        }
        if block.stack == StackNode(0)
            && let Some(last) = last
        {
            block.stack = last.block.stack;
        }
        map.insert(start, Described { block, freed: None });
    }

    pub fn freed(&mut self, by: Block) {
        let start = by.range.bounds().0;
        for map in self.maps.values_mut() {
            if let Some(block) = map.get_mut(&start) {
                block.freed = Some((by.strand, by.stack));
            }
        }
    }

    pub fn describe(&self, byte: u64) -> Option<Described> {
        let order = [
            MemoryKind::Heap,
            // On the same mapping as the stack, which counts it in.
            MemoryKind::ThreadLocal,
            MemoryKind::Stack,
            MemoryKind::Mapping,
        ];
        order.into_iter().find_map(|kind| {
            let (_, found) = self.maps.get(&kind)?.range(..=byte).next_back()?;
            (byte < found.block.range.bounds().1).then_some(*found)
        })
    }

    /// Adds the call stacks of all that is known.
    pub fn stacks(&self, used: &mut StackSet) {
        for described in self.maps.values().flat_map(BTreeMap::values) {
            described.stacks(used);
        }
    }
}
