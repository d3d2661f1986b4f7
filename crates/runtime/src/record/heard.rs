//! Acquire loads that teach nothing: of an object that was told nothing since the strand last acquired from it.
//!
//! A strand that walks a structure of atomic pointers acquires the same few again and again. The first time it learns all
//! that the object was told; as long as nobody tells the object more, that is all there is. Such a load needs no number and
//! ends no step; it is an access as any other, once in a step.
//!
//! What an object was told last has a mark that no two tellings share ([`crate::syncvar::State::told`]), also not those of
//! different objects that lay at one address one after the other. Marks are compared under the object's lock.

use crate::record::Recorder;
use crate::strand::Strand;

/// Loads that are remembered: a tree that is read without locks has tens of thousands of pointers. With 2^10 of them such a one took a
/// tenth more time, of program and checker together. What is not used takes no memory.
pub const HEARD: usize = 1 << 14;

/// An acquire load that was recorded; zeroes are none.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Heard {
    addr: u64,
    /// The mark of what was heard.
    told: u64,
    /// The step that has the access last, and its size.
    step: u64,
    size: u64,
}

impl Heard {
    pub const NONE: Heard = Heard {
        addr: 0,
        told: 0,
        step: 0,
        size: 0,
    };
}

/// What a load has to record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// It may learn something.
    All,
    /// It learns nothing, but the step has not read there.
    Access,
    /// Nothing: the step has read there, too.
    Nothing,
}

impl Recorder {
    fn heard(&mut self, addr: usize) -> (&mut Heard, u64) {
        let place = (addr as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48;
        let step = self.step.wrapping_add(self.renewed);
        (&mut self.heard[place as usize % HEARD], step)
    }
}

/// What a load of an object that was told this last has to record.
pub fn news(s: &mut Strand, addr: usize, size: usize, told: u64) -> News {
    let Some(recorder) = s.recorder() else {
        return News::All;
    };
    let (heard, step) = recorder.heard(addr);
    if told == 0 || (heard.addr, heard.told, heard.size) != (addr as u64, told, size as u64) {
        News::All
    } else if heard.step == step {
        News::Nothing
    } else {
        News::Access
    }
}

/// The strand has acquired all that the object was told. The access is of the step before, which the load ended.
pub fn heard(s: &mut Strand, addr: usize, size: usize, told: u64) {
    if let Some(recorder) = s.recorder() {
        let (heard, _) = recorder.heard(addr);
        *heard = Heard {
            addr: addr as u64,
            told,
            step: 0,
            size: size as u64,
        };
    }
}

/// The step has the access now, unless it was ignored or dropped.
pub fn accessed(s: &mut Strand, addr: usize) {
    let ignored = s.ignore_reads > 0;
    if let Some(recorder) = s.recorder()
        && !ignored
        && recorder.lost == 0
    {
        let (heard, step) = recorder.heard(addr);
        if heard.addr == addr as u64 {
            heard.step = step;
        }
    }
}
