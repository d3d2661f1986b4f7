//! Atomics: accesses that read and write in one instruction.

use crate::ptx::{Space, Ty};

use super::access::{bytes_at, lanes, put_at};
use super::block::Env;
use super::memory;
use super::observe::{Observer, What};
use super::program::{AtomOp, LOCAL_WINDOW, NONE, Op, SHARED_WINDOW, Strength};
use super::reach::Class;
use super::survey::Survey;
use super::warp::Warp;

impl<const W: usize, O: Observer<W>> Env<'_, W, O> {
    #[allow(clippy::too_many_arguments)]
    pub(super) fn atomic(
        &mut self,
        w: &mut Warp<W>,
        op: &Op,
        mask: u64,
        o: AtomOp,
        space: Space,
        ty: Ty,
        strength: Strength,
    ) {
        let bytes = ty.bytes();
        let (addrs, survey) = self.addresses(w, op.a, op.imm, space, mask, bytes);
        let b = *w.row(&self.ctx.consts, op.b);
        let c3 = if op.c == NONE {
            [0; W]
        } else {
            *w.row(&self.ctx.consts, op.c)
        };
        let mut old = [0u64; W];
        let whole = self.reach(w, &survey, bytes);
        let mut one = |env: &mut Self, w: &mut Warp<W>, c: Class, m: u64, s: &Survey| {
            if O::ON && c == Class::Shared {
                env.uninitialized(w, m, &addrs, s, bytes);
            }
            env.tell(w, c, m, &addrs, s, bytes, What::Atomic, strength, &[b]);
            for l in lanes(m) {
                let f = |x: u64| super::atomics::apply(o, ty, x, b[l], c3[l]);
                old[l] = match c {
                    Class::Global => {
                        // SAFETY: `reach` or `groups` found the whole access inside a live allocation and aligned.
                        unsafe { memory::update(addrs[l], bytes, f) }
                    }
                    Class::Shared => {
                        let at = (addrs[l] & !SHARED_WINDOW) as usize;
                        let x = bytes_at(&env.shared, at, bytes);
                        put_at(&mut env.shared, at, bytes, f(x));
                        x
                    }
                    Class::Local => {
                        let at = (addrs[l] & !LOCAL_WINDOW) as usize;
                        let x = bytes_at(&w.local[l], at, bytes);
                        put_at(&mut w.local[l], at, bytes, f(x));
                        x
                    }
                    _ => 0,
                };
            }
            if O::ON && c == Class::Shared {
                env.initialized(m, &addrs, s, bytes);
            }
            if O::ON && matches!(c, Class::Shared | Class::Global) {
                env.obs.acquired(w.id, m, &addrs);
            }
        };
        match whole {
            Some(c) => one(self, w, c, mask, &survey),
            None => {
                let some = survey.apart();
                self.groups(w, mask, &addrs, bytes, |env, w, c, m| {
                    one(env, w, c, m, &some);
                });
            }
        }
        w.put(op.d, &old, mask);
    }
}
