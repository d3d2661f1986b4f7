//! Who knows what inside a block: epochs of warps, advanced by barriers, and of lanes, advanced by `bar.warp.sync`.
//!
//! An access of warp v in its epoch e is ordered before warp w's present if `known[w][v] > e`. A barrier of all warps
//! makes everybody know everything; a named barrier only its participants.

/// Epochs of the warps of one block.
pub struct Clocks {
    warps: usize,
    /// Current epoch of each warp, from 1.
    pub epoch: Vec<u32>,
    known: Vec<u32>,
    lanes: Vec<LaneClock>,
    width: usize,
}

/// Epochs of the lanes of one warp. `full` covers everything before it; `exact` exists once a part of the warp has
/// synchronized on its own.
#[derive(Clone)]
struct LaneClock {
    now: u32,
    full: u32,
    exact: Option<Vec<u32>>,
    /// Lanes that reached a warp barrier whose other members have not.
    pending: u64,
}

impl Clocks {
    pub fn new(warps: usize, width: usize) -> Self {
        Clocks {
            warps,
            epoch: vec![1; warps],
            known: vec![1; warps * warps],
            lanes: vec![
                LaneClock {
                    now: 1,
                    full: 1,
                    exact: None,
                    pending: 0
                };
                warps
            ],
            width,
        }
    }

    /// Is an access of `warp` in `epoch` ordered before what `me` does now?
    #[inline(always)]
    pub fn covers(&self, me: u16, warp: u16, epoch: u32) -> bool {
        self.known[usize::from(me) * self.warps + usize::from(warp)] > epoch
    }

    pub fn row(&self, me: u16) -> &[u32] {
        let k = usize::from(me) * self.warps;
        &self.known[k..k + self.warps]
    }

    /// All of `waited` learn what `waited` and `arrived` knew and did. True if it was everybody.
    pub fn barrier(&mut self, waited: &[u16], arrived: &[u16]) {
        let mut all = vec![0u32; self.warps];
        for &w in waited.iter().chain(arrived) {
            let w = usize::from(w);
            for (k, a) in all.iter_mut().enumerate() {
                *a = (*a).max(self.known[w * self.warps + k]);
            }
        }
        for &w in waited.iter().chain(arrived) {
            let w = usize::from(w);
            self.epoch[w] += 1;
            all[w] = all[w].max(self.epoch[w]);
            let l = &mut self.lanes[w];
            l.now += 1;
            l.full = l.now;
            l.exact = None;
            l.pending = 0;
        }
        for &w in waited {
            let w = usize::from(w);
            self.known[w * self.warps..(w + 1) * self.warps].copy_from_slice(&all);
        }
        for &w in arrived {
            let w = usize::from(w);
            self.known[w * self.warps + w] = self.epoch[w];
        }
    }

    /// The warp's lane time, stored with each access.
    #[inline(always)]
    pub fn lane_time(&self, warp: u16) -> u32 {
        self.lanes[usize::from(warp)].now
    }

    /// Is an access of lane `other` at lane time `t` ordered before lane `me` of the same warp?
    pub fn lane_covers(&self, warp: u16, me: u8, other: u8, t: u32) -> bool {
        let l = &self.lanes[usize::from(warp)];
        me == other
            || t < l.full
            || l.exact
                .as_ref()
                .is_some_and(|e| e[usize::from(me) * self.width + usize::from(other)] > t)
    }

    /// Lanes of `active` reached a warp barrier for `members`; when all members have, they know each other.
    pub fn warp_sync(&mut self, warp: u16, active: u64, members: u64, live: u64) {
        let width = self.width;
        let l = &mut self.lanes[usize::from(warp)];
        l.pending |= active;
        let group = if l.pending & members == members {
            members
        } else {
            return;
        };
        l.pending &= !group;
        l.now += 1;
        if group & live == live {
            l.full = l.now;
            l.exact = None;
            return;
        }
        let full = l.full;
        let now = l.now;
        let e = l.exact.get_or_insert_with(|| vec![full; width * width]);
        let mut all = vec![0u32; width];
        for a in (0..width).filter(|a| group >> a & 1 == 1) {
            for (k, x) in all.iter_mut().enumerate() {
                *x = (*x).max(e[a * width + k]);
            }
        }
        for a in (0..width).filter(|a| group >> a & 1 == 1) {
            all[a] = now;
        }
        for a in (0..width).filter(|a| group >> a & 1 == 1) {
            e[a * width..(a + 1) * width].copy_from_slice(&all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn barriers_order_their_participants_only() {
        let mut c = Clocks::new(3, 32);
        assert!(!c.covers(0, 1, 1));
        c.barrier(&[0, 1], &[]);
        assert!(c.covers(0, 1, 1) && c.covers(1, 0, 1));
        assert!(!c.covers(0, 2, 1) && !c.covers(2, 0, 1));
        c.barrier(&[2], &[1]);
        assert!(c.covers(2, 1, 2) && c.covers(2, 0, 1));
        assert!(!c.covers(1, 2, 1));
    }

    #[test]
    fn warp_barriers_order_lanes() {
        let mut c = Clocks::new(1, 32);
        let all = 0xffff_ffff;
        assert!(!c.lane_covers(0, 0, 1, 1));
        c.warp_sync(0, all, all, all);
        assert!(c.lane_covers(0, 0, 1, 1) && !c.lane_covers(0, 0, 1, 2));
        c.warp_sync(0, 0xf, 0xf, all);
        assert!(c.lane_covers(0, 0, 1, 2) && !c.lane_covers(0, 0, 5, 2));
        // halves that arrive one after the other make one barrier
        let t = c.lane_time(0);
        c.warp_sync(0, 0xffff, all, all);
        assert!(!c.lane_covers(0, 0, 20, t));
        c.warp_sync(0, 0xffff_0000, all, all);
        assert!(c.lane_covers(0, 0, 20, t));
    }
}
