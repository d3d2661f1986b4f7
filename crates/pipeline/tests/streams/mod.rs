//! Streams of events that a test writes itself.

use deadheat_trace::wire::{Act, Item, Memory, MemoryKind, StackNode, Touch, Touched, Writer};
use deadheat_trace::{Action, Addr, Mutex, Range, Strand};

/// Streams made item by item.
#[derive(Clone, Default)]
pub struct Maker {
    number: u64,
    streams: std::collections::BTreeMap<u32, (Writer, Vec<u64>)>,
}

impl Maker {
    pub fn put(&mut self, strand: u32, item: Item) {
        let (writer, words) = self.streams.entry(strand).or_default();
        writer.write(&item, words);
    }

    pub fn act(&mut self, strand: u32, action: Action) {
        let mut act = Act::new(self.number, action, StackNode(0));
        act.memory = MemoryKind::Heap;
        self.number += 1;
        self.put(strand, Item::Act(act));
    }

    pub fn write(&mut self, strand: u32, addr: u64, pc: u64) {
        let touched = Touched {
            range: Range::new(Addr(addr), 8).expect("a range"),
            touch: Touch::Write,
            pc,
            caller: StackNode(0),
        };
        self.put(strand, Item::Touch(touched));
    }

    pub fn finish(self) -> Memory {
        let mut memory = Memory::default();
        for (strand, (_, words)) in self.streams {
            memory.set_stream(Strand(strand), words);
        }
        memory.portion = 512;
        memory
    }
}

/// An access of 8 bytes.
pub fn touch(touch: Touch, addr: u64, pc: u64) -> Item {
    Item::Touch(Touched {
        range: Range::new(Addr(addr), 8).expect("a range"),
        touch,
        pc,
        caller: StackNode(0),
    })
}

/// So many threads that nobody joins. Each does something before it hears of the others, and something after it last told them
/// anything.
pub fn detached(count: u64) -> Maker {
    let mut maker = Maker::default();
    for n in 1..=count {
        let strand = n as u32;
        maker.act(0, Action::Fork(Strand(strand)));
        maker.act(0, Action::Detach(Strand(strand)));
        maker.act(strand, Action::Begin);
        maker.put(strand, touch(Touch::AtomicRead, 0x10_0000, 1));
        maker.act(strand, Action::Lock(Mutex(1)));
        maker.write(strand, 0x10_0040, 2);
        maker.act(strand, Action::Unlock(Mutex(1)));
        maker.put(strand, touch(Touch::AtomicWrite, 0x10_0080, 3));
        maker.act(strand, Action::End);
    }
    maker
}
