//! Which detectors there are, what each needs to be told, and the clocks that a checker keeps for them.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use deadheat_trace::Strand;

use crate::batch::{Named, News, Slot};

/// A detector by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum DetectorKind {
    FastTrack,
    Djit,
    Goldilocks,
    Eraser,
}

impl DetectorKind {
    pub const ALL: [DetectorKind; 4] = [
        DetectorKind::FastTrack,
        DetectorKind::Djit,
        DetectorKind::Goldilocks,
        DetectorKind::Eraser,
    ];

    pub fn name(self) -> &'static str {
        match self {
            DetectorKind::FastTrack => "fasttrack",
            DetectorKind::Djit => "djit",
            DetectorKind::Goldilocks => "goldilocks",
            DetectorKind::Eraser => "eraser",
        }
    }

    /// Whether it finds races and nothing else.
    pub fn exact(self) -> bool {
        self != DetectorKind::Eraser
    }

    /// Reads a list such as `fasttrack,eraser`, or `all`.
    pub fn list(text: &str) -> Result<Vec<DetectorKind>, UnknownDetector> {
        if text == "all" {
            return Ok(DetectorKind::ALL.to_vec());
        }
        let mut kinds: Vec<DetectorKind> =
            text.split(',').map(str::parse).collect::<Result<_, _>>()?;
        kinds.sort();
        kinds.dedup();
        Ok(kinds)
    }
}

impl fmt::Display for DetectorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No detector is called so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownDetector(pub String);

impl fmt::Display for UnknownDetector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = DetectorKind::ALL.map(DetectorKind::name).join(", ");
        write!(
            f,
            "there is no detector `{}`; there are {names}, and all",
            self.0
        )
    }
}

impl std::error::Error for UnknownDetector {}

impl FromStr for DetectorKind {
    type Err = UnknownDetector;

    fn from_str(word: &str) -> Result<DetectorKind, UnknownDetector> {
        DetectorKind::ALL
            .into_iter()
            .find(|kind| kind.name() == word.trim())
            .ok_or_else(|| UnknownDetector(word.to_owned()))
    }
}

/// What some detectors must be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    pub clocks: bool,
    pub transfers: bool,
    pub locks: bool,
    /// What holders knew at the beginning of each batch.
    pub starts: bool,
    /// Whether they can be told of [`News::Sweep`].
    pub sweeps: bool,
    /// Whether accesses to neighbouring parts of a cell must come one by one.
    pub parts: bool,
}

impl Needs {
    pub fn of(kinds: &[DetectorKind]) -> Needs {
        let any = |wanted: &[DetectorKind]| kinds.iter().any(|kind| wanted.contains(kind));
        Needs {
            clocks: any(&[DetectorKind::FastTrack, DetectorKind::Djit]),
            transfers: any(&[DetectorKind::Goldilocks]),
            locks: any(&[DetectorKind::Eraser]),
            starts: false,
            sweeps: true,
            // The others count what clashes by the access; FastTrack makes one entry of such parts anyway.
            parts: kinds != [DetectorKind::FastTrack],
        }
    }
}

/// The clocks of all strands, as the news has them, and whose each slot was.
#[derive(Clone, Debug, Default)]
pub struct Clocks {
    clocks: Vec<Vec<u64>>,
    /// From which time on a slot belongs to which strand, oldest first.
    owners: Vec<Vec<(u64, Strand)>>,
    /// What every strand that is left knows, as the news said last.
    floor: Arc<[u64]>,
}

impl Clocks {
    /// Takes account of the news.
    #[inline]
    pub fn news(&mut self, news: &News) {
        match *news {
            News::Clock { slot, of, time } => {
                let clock = &mut self.clocks[slot.0 as usize];
                if clock.len() <= of.0 as usize {
                    clock.resize(of.0 as usize + 1, 0);
                }
                clock[of.0 as usize] = time;
            }
            News::Slot { slot, strand, from } => {
                let at = slot.0 as usize;
                if self.clocks.len() <= at {
                    self.clocks.resize(at + 1, Vec::new());
                    self.owners.resize(at + 1, Vec::new());
                }
                self.clocks[at].clear();
                self.clocks[at].resize(at + 1, 0);
                self.clocks[at][at] = from;
                self.owners[at].push((from, strand));
            }
            News::Known { ref times, .. } => {
                self.forget_owners(times);
                self.floor = Arc::clone(times);
            }
            News::Transfer(_)
            | News::Took(..)
            | News::Gave(..)
            | News::Ended(_)
            | News::Sweep { .. }
            | News::Frame => {}
        }
    }

    /// What every strand that is left knows, by slot: nobody can race with it any more.
    pub fn floor(&self) -> &[u64] {
        &self.floor
    }

    /// The clock of the strand that has the slot now.
    pub fn of(&self, slot: Slot) -> &[u64] {
        self.clocks
            .get(slot.0 as usize)
            .map_or(&[], |clock| clock.as_slice())
    }

    /// Who had the slot at that time.
    pub fn owner(&self, slot: u16, time: u64) -> Strand {
        if slot == Slot::BURIED.0 {
            return Strand(time.saturating_sub(1) as u32);
        }
        let owners = self.owners.get(slot as usize);
        owners
            .and_then(|owners| owners.iter().rev().find(|(from, _)| *from <= time))
            .map_or(Strand(0), |&(_, strand)| strand)
    }

    /// Nobody asks who had slots that are in no entry any more.
    pub fn forget_unnamed(&mut self, named: &Named) {
        for (slot, owners) in self.owners.iter_mut().enumerate() {
            if !named.has(Slot(slot as u16)) {
                owners.drain(..owners.len().saturating_sub(1));
            }
        }
    }

    /// What is known to all is in no entry any more, so nobody asks for it.
    fn forget_owners(&mut self, known: &[u64]) {
        for (owners, &time) in self.owners.iter_mut().zip(known) {
            // The last one that began by then may have made entries later.
            let passed = owners.iter().filter(|(from, _)| *from <= time).count();
            owners.drain(..passed.saturating_sub(1));
        }
    }
}
