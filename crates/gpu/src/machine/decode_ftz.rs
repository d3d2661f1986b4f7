//! `.ftz`: subnormal operands and results of single and half precision count as zero.
//!
//! The operations that an instruction was decoded to get others around them that flush; instructions without `.ftz`,
//! which are nearly all, cost nothing.

use crate::ptx::{Instr, Ty};

use super::decode::Decoder;
use super::ops::Un;
use super::program::{Kind, NONE, Op};

/// What flushes a value of this type.
fn flush(ty: Ty) -> Option<Un> {
    match ty {
        Ty::F32 => Some(Un::FtzF32),
        Ty::F16 => Some(Un::FtzF16),
        Ty::F16x2 => Some(Un::FtzF16x2),
        _ => None,
    }
}

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
            if let Some(un) = flush(from) {
                // `slct` only looks at its last operand.
                let first = if i.op == "slct" { 2 } else { 0 };
                let rows = [&mut op.a, &mut op.b, &mut op.c];
                for row in rows.into_iter().take(sources).skip(first) {
                    let flushed = self.temp();
                    self.emit(Kind::Un(un), op.guard, flushed, *row, NONE, NONE, 0);
                    *row = flushed;
                }
            }
            let (d, guard) = (op.d, op.guard);
            self.p.ops.push(op);
            // A conversion flushes only on the single-precision side.
            let result = flush(to).filter(|_| i.op != "cvt" || to == Ty::F32);
            if let Some(un) = result.filter(|_| writes && i.op != "slct") {
                self.emit(Kind::Un(un), guard, d, d, NONE, NONE, 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::check::{self, Options, Scheme};
    use crate::machine::{Launch, Loaded, Memory};

    #[test]
    fn subnormal_numbers_are_zero_only_where_asked() {
        let text = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n\
            .reg .f32 %f<9>; .reg .b64 %rd<3>; .reg .pred %p<2>; .reg .b32 %r<9>; .reg .b16 %h<5>;\n\
            ld.param.u64 %rd1, [out];\n\
            mov.f32 %f1, 0f00400000;\n\
            add.f32 %f2, %f1, %f1;\n\
            add.ftz.f32 %f3, %f1, %f1;\n\
            mov.f32 %f4, 0f80800000;\n\
            mov.f32 %f5, 0f3F000000;\n\
            mul.ftz.f32 %f6, %f4, %f5;\n\
            mul.f32 %f7, %f4, %f5;\n\
            setp.eq.ftz.f32 %p1, %f1, 0f00000000;\n\
            selp.u32 %r1, 1, 0, %p1;\n\
            st.global.f32 [%rd1], %f2;\n\
            st.global.f32 [%rd1+4], %f3;\n\
            st.global.f32 [%rd1+8], %f6;\n\
            st.global.f32 [%rd1+12], %f7;\n\
            st.global.u32 [%rd1+16], %r1;\n\
            mov.b16 %h1, 0x0200;\n\
            mov.b16 %h2, 0x3C00;\n\
            mul.ftz.f16 %h3, %h1, %h2;\n\
            mul.f16 %h4, %h1, %h2;\n\
            mov.b32 %r2, {%h3, %h4};\n\
            mov.b32 %r3, 0x02003C00;\n\
            add.ftz.f16x2 %r4, %r3, %r3;\n\
            cvt.rna.tf32.f32 %r5, 0f3F801000;\n\
            st.global.u32 [%rd1+20], %r2;\n\
            st.global.u32 [%rd1+24], %r4;\n\
            st.global.u32 [%rd1+28], %r5;\n\
            ret;\n}\n";
        let memory = Memory::new();
        let loaded = Loaded::new(text, &memory).expect("loads");
        let program = loaded.program("k").expect("decodes");
        let out = memory.alloc("out", 32, false).expect("memory");
        let launch = Launch {
            grid: [1; 3],
            block: [1; 3],
            dynamic_shared: 0,
            params: out.to_le_bytes().to_vec(),
            workers: 1,
            step_limit: 1 << 20,
            independent: false,
            grid_id: 1,
        };
        let off = Options {
            scheme: Scheme::Off,
            ..Options::default()
        };
        check::run(&program, &memory, &launch, off, Vec::new(), &|_| {}).expect("runs");
        let bytes = memory.read(out, 32).expect("result");
        let words: Vec<u32> = bytes
            .chunks(4)
            .map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]))
            .collect();
        assert_eq!(
            words,
            [
                0x0080_0000,
                0,
                0x8000_0000,
                0x8040_0000,
                1,
                0x0200_0000,
                0x0000_4000,
                0x3f80_2000
            ]
        );
    }
}
