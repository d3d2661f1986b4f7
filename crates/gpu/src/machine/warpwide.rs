//! Instructions in which the lanes of a warp see each other: shuffles, votes, matches, reductions, warp barriers.

use super::access::lanes;
use super::block::Env;
use super::observe::Observer;
use super::ops::full;
use super::program::{AtomOp, Kind, NONE, Op, ShflMode, VoteMode};
use super::warp::Warp;

impl<const W: usize, O: Observer<W>> Env<'_, W, O> {
    pub(super) fn warp_wide(&mut self, w: &mut Warp<W>, op: &Op, mask: u64) {
        match op.kind {
            Kind::Fence(scope) => {
                if O::ON {
                    self.obs.fence(w.id, w.steps, mask, scope);
                }
            }
            Kind::BarWarp => {
                if O::ON {
                    let named = w.row(&self.ctx.consts, op.a)[mask.trailing_zeros() as usize];
                    // A 32-bit mask on a machine with wider warps means the whole warp when all its bits are set.
                    let named = if W == 64 && named == 0xffff_ffff {
                        u64::MAX
                    } else {
                        named
                    };
                    self.obs
                        .warp_sync(w.id, mask, named & w.all_live(), w.all_live());
                }
            }
            Kind::Shfl { mode, .. } => self.shuffle(w, op, mask, mode),
            Kind::Vote { mode, negate, .. } => {
                let members = if op.b == NONE {
                    mask
                } else {
                    let named = w.row(&self.ctx.consts, op.b)[mask.trailing_zeros() as usize];
                    if W == 64 && named == 0xffff_ffff {
                        mask
                    } else {
                        mask & named
                    }
                };
                let p = w.pred(op.a);
                let p = (if negate { !p } else { p }) & members;
                match mode {
                    VoteMode::Ballot => w.put(op.d, &[p & full::<W>(); W], mask),
                    VoteMode::All => {
                        w.put_pred(op.d, if p == members { u64::MAX } else { 0 }, mask)
                    }
                    VoteMode::Any => w.put_pred(op.d, if p != 0 { u64::MAX } else { 0 }, mask),
                    VoteMode::Uni => {
                        w.put_pred(
                            op.d,
                            if p == members || p == 0 { u64::MAX } else { 0 },
                            mask,
                        );
                    }
                }
            }
            Kind::Match { all, .. } => {
                let v = *w.row(&self.ctx.consts, op.a);
                let mut out = [0u64; W];
                let mut same_everywhere = 0u64;
                for l in lanes(mask) {
                    out[l] = lanes(mask).fold(0u64, |m, k| m | u64::from(v[k] == v[l]) << k);
                    if out[l] == mask {
                        same_everywhere |= 1 << l;
                    }
                }
                if all {
                    out.fill(if same_everywhere == mask { mask } else { 0 });
                    w.put_pred(
                        op.c,
                        if same_everywhere == mask { u64::MAX } else { 0 },
                        mask,
                    );
                }
                w.put(op.d, &out, mask);
            }
            Kind::Redux { op: o, signed } => {
                let v = *w.row(&self.ctx.consts, op.a);
                let ty = if signed {
                    crate::ptx::Ty::S32
                } else {
                    crate::ptx::Ty::U32
                };
                let mut it = lanes(mask);
                let first = it.next().map_or(0, |l| v[l]);
                let r = it.fold(first, |x, l| super::atomics::apply(o, ty, x, v[l], 0));
                debug_assert!(!matches!(o, AtomOp::Cas | AtomOp::Exch));
                w.put(op.d, &[r; W], mask);
            }
            // Every other kind was handled before; nothing is skipped silently in debug builds.
            other => debug_assert!(false, "no execution for {other:?}"),
        }
    }

    fn shuffle(&mut self, w: &mut Warp<W>, op: &Op, mask: u64, mode: ShflMode) {
        let consts = &self.ctx.consts;
        let a = *w.row(consts, op.a);
        let b = *w.row(consts, op.b);
        let c = *w.row(consts, op.c);
        let mut out = a;
        let mut valid = 0u64;
        let top = W as u64 - 1;
        for l in lanes(mask) {
            let lane = l as u64;
            // On 64-lane warps the 5-bit fields address within each half.
            let half = lane & !31;
            let within = lane & 31;
            let bval = b[l] & 0x1f;
            let cval = c[l] & 0x1f;
            let seg = (c[l] >> 8) & 0x1f;
            let max = (within & seg) | (cval & !seg);
            let min = within & seg;
            let (j, ok) = match mode {
                ShflMode::Up => (
                    within as i64 - bval as i64,
                    within as i64 - bval as i64 >= max as i64,
                ),
                ShflMode::Down => ((within + bval) as i64, within + bval <= max),
                ShflMode::Bfly => ((within ^ bval) as i64, within ^ bval <= max),
                ShflMode::Idx => ((min | (bval & !seg)) as i64, min | (bval & !seg) <= max),
            };
            let from = if ok { half + j as u64 } else { lane };
            valid |= u64::from(ok) << l;
            if from <= top {
                out[l] = a[from as usize];
            }
        }
        w.put(op.d, &out, mask);
        let p = op.imm & 0xffff_ffff;
        if p > 0 {
            w.put_pred(p as u32 - 1, valid, mask);
        }
    }
}
