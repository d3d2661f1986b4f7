//! `.ftz`: subnormal single-precision operands and results count as zero.
//!
//! The operations that an instruction was decoded to get others around them that flush; instructions without `.ftz`,
//! which are nearly all, cost nothing.

use crate::ptx::{Instr, Ty};

use super::decode::Decoder;
use super::ops::Un;
use super::program::{Kind, NONE, Op};

impl Decoder<'_> {
    /// Flushes what the operations from `first` on read and write.
    pub(super) fn flush_subnormals(&mut self, first: usize, i: &Instr) {
        let types: Vec<Ty> = i.mods.iter().filter_map(|m| Ty::parse(m)).collect();
        // `cvt.ftz.f16.f32` names the result first; all others name what they read last.
        let (to, from) = match types.as_slice() {
            [one] => (*one, *one),
            [to, .., from] => (*to, *from),
            [] => return,
        };
        let ops: Vec<Op> = self.p.ops.drain(first..).collect();
        for mut op in ops {
            let (sources, writes) = match op.kind {
                Kind::Un(_) | Kind::UnRound(..) | Kind::Cvt(_) => (1, true),
                Kind::Bin(_) | Kind::BinRound(..) | Kind::Set { .. } => (2, true),
                Kind::Ter(_) | Kind::TerRound(..) => (3, true),
                Kind::SetP { .. } => (2, false),
                _ => (0, false),
            };
            if from == Ty::F32 {
                // `slct` only looks at its last operand.
                let first = if i.op == "slct" { 2 } else { 0 };
                let rows = [&mut op.a, &mut op.b, &mut op.c];
                for row in rows.into_iter().take(sources).skip(first) {
                    let flushed = self.temp();
                    self.emit(Kind::Un(Un::FtzF32), op.guard, flushed, *row, NONE, NONE, 0);
                    *row = flushed;
                }
            }
            let (d, guard) = (op.d, op.guard);
            self.p.ops.push(op);
            if writes && to == Ty::F32 && i.op != "slct" {
                self.emit(Kind::Un(Un::FtzF32), guard, d, d, NONE, NONE, 0);
            }
        }
    }
}
