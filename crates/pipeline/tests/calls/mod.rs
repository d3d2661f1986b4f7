//! Random executions with call stacks.

use std::collections::HashMap;

use deadheat_trace::generate::Rng;
use deadheat_trace::wire::{Act, Item, Memory, StackNode, Touched, Writer, touch_of};
use deadheat_trace::{Strand, Trace};

/// The streams of a trace whose strands call and return all the time: few places in the code, ever new ways to them.
pub fn with_calls(trace: &Trace, rng: &mut Rng) -> Memory {
    let mut memory = Memory::default();
    let mut writers: HashMap<Strand, (Writer, Vec<u64>, Vec<StackNode>)> = HashMap::new();
    let mut number = 0;
    for event in &trace.events {
        let (writer, words, calls) = writers.entry(event.strand).or_default();
        for _ in 0..rng.below(4) {
            if rng.below(2) == 0 {
                calls.pop();
            } else if calls.len() < 6 {
                let caller = calls.last().copied().unwrap_or_default();
                calls.push(memory.add_node(caller, 100 + rng.below(3)));
            }
        }
        let caller = calls.last().copied().unwrap_or_default();
        let item = match touch_of(event.action) {
            Some((touch, range)) => Item::Touch(Touched {
                range,
                touch,
                pc: 1 + rng.below(4),
                caller,
            }),
            None => {
                let at = memory.add_node(caller, 50 + rng.below(4));
                number += 1;
                Item::Act(Act::new(number - 1, event.action, at))
            }
        };
        writer.write(&item, words);
    }
    for (strand, (_, words, _)) in writers {
        memory.set_stream(strand, words);
    }
    memory.portion = 4;
    memory
}
