//! Where and how memory was touched: one word.

/// How memory was touched, for the report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Touch {
    /// No access: a number used up by learning something from another strand.
    Learned = 0,
    Read = 1,
    Write = 2,
    AtomicRead = 3,
    AtomicWrite = 4,
    AtomicReadWrite = 5,
    Free = 6,
    VptrWrite = 7,
    Destroy = 8,
    Alloc = 9,
    /// Two earlier numbers of the same step, for different bytes ([`Place::both`]).
    Both = 10,
}

impl Touch {
    /// Does its record tell a program counter?
    pub fn is_access(self) -> bool {
        !matches!(self, Touch::Learned | Touch::Both)
    }

    fn from_bits(bits: u64) -> Touch {
        match bits {
            1 => Touch::Read,
            2 => Touch::Write,
            3 => Touch::AtomicRead,
            4 => Touch::AtomicWrite,
            5 => Touch::AtomicReadWrite,
            6 => Touch::Free,
            7 => Touch::VptrWrite,
            8 => Touch::Destroy,
            9 => Touch::Alloc,
            10 => Touch::Both,
            _ => Touch::Learned,
        }
    }
}

const PC_BITS: u32 = 48;
pub const SIZE_SHIFT: u32 = 52;
/// How far numbers can be apart that one number stands for.
pub const BOTH_REACH: u64 = 1 << BOTH_BITS;
const BOTH_BITS: u32 = PC_BITS / 2;
/// Sizes up to this are exact; larger ones are stored as it.
pub const LARGEST_SIZE: u64 = (1 << (64 - SIZE_SHIFT)) - 1;

/// The place of an access: program counter, how, how many bytes; one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Place(pub u64);

impl Place {
    #[inline(always)]
    pub const fn new(pc: u64, touch: Touch, size: u64) -> Place {
        let size = if size > LARGEST_SIZE {
            LARGEST_SIZE
        } else {
            size
        };
        Place(pc & ((1 << PC_BITS) - 1) | (touch as u64) << PC_BITS | size << SIZE_SHIFT)
    }

    /// The place of a number that stands for two earlier ones of its slot, less than [`BOTH_REACH`] before it: the first
    /// for `bytes`, the second for all others.
    #[inline(always)]
    pub const fn both(first: u64, bytes: u8, second: u64) -> Place {
        let (low, high) = (first % BOTH_REACH, second % BOTH_REACH);
        let touch = (Touch::Both as u64) << PC_BITS;
        Place(low | high << BOTH_BITS | touch | (bytes as u64) << SIZE_SHIFT)
    }

    /// The two numbers, and the bytes of the first, if this is the place of `seq` and made by [`Self::both`].
    pub fn two(self, seq: u64) -> Option<(u64, u8, u64)> {
        let before = |low: u64| seq - (seq.wrapping_sub(low) % BOTH_REACH);
        (self.touch() == Touch::Both).then(|| {
            let (low, high) = (self.0 % BOTH_REACH, self.0 >> BOTH_BITS & (BOTH_REACH - 1));
            (before(low), self.size() as u8, before(high))
        })
    }

    pub fn pc(self) -> u64 {
        self.0 & ((1 << PC_BITS) - 1)
    }
    pub fn touch(self) -> Touch {
        Touch::from_bits(self.0 >> PC_BITS & 0xf)
    }
    pub fn size(self) -> u64 {
        self.0 >> SIZE_SHIFT
    }
}
