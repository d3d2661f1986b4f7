//! Decoding of matrix instructions.

use crate::ptx::{Instr, Operand, PtxError, Space, Ty};

use super::decode::Decoder;
use super::decode_mem::space;
use super::matrix::{Elem, Fragment, Places, TileOp, register};
use super::program::{Kind, NONE};

const MISSING: &str = "the machine does not have this instruction";

/// `m16n8k16`: rows, columns, and what is summed over.
fn shape(i: &Instr) -> Option<[usize; 3]> {
    i.mods.iter().find_map(|m| {
        let (a, rest) = m.strip_prefix('m')?.split_once('n')?;
        let (b, c) = rest.split_once('k')?;
        let n = |s: &str| s.parse::<u16>().ok().map(usize::from);
        Some([n(a)?, n(b)?, n(c)?])
    })
}

impl Decoder<'_> {
    fn fragment(
        &mut self,
        i: &Instr,
        o: Option<&Operand>,
        (rows, cols): (usize, usize),
        elem: Elem,
        places: Places,
        dest: bool,
    ) -> Result<Fragment, PtxError> {
        let Some(o) = o else {
            return self.fail(i, "operands are missing");
        };
        let (at, regs) = self.vector(i, o, register(elem), dest)?;
        let held = usize::from(regs) * (4 / elem.bytes()).max(1) as usize;
        let each = rows * cols / 32;
        let fits = match places {
            Places::Flat => held >= each && held.is_multiple_of(each.max(1)),
            _ => held == each,
        };
        if !fits || each == 0 {
            return self.fail(
                i,
                format!("{regs} registers cannot be this part of a matrix"),
            );
        }
        Ok(Fragment {
            rows,
            cols,
            elem,
            places,
            at,
            regs,
        })
    }

    /// `wmma.mma` and `mma`.
    pub(super) fn multiply(&mut self, i: &Instr) -> Result<(), PtxError> {
        let g = self.guard(i);
        let wmma = i.op == "wmma";
        let Some([m, n, k]) = shape(i) else {
            return self.fail(i, MISSING);
        };
        let types: Vec<Elem> = i.mods.iter().filter_map(|t| Elem::parse(t)).collect();
        let (d, a, b, c) = match types[..] {
            [d, c] if wmma => (d, Elem::F16, Elem::F16, c),
            [d, a, b, c] => (d, a, b, c),
            _ => return self.fail(i, MISSING),
        };
        let known = wmma
            || (matches!((m, n), (16 | 8, 8)) && i.has("row") && i.has("col"))
                && (m == 16 || matches!(a, Elem::S8 | Elem::U8 | Elem::F64));
        let odd = ["sp", "sp::ordered_metadata", "xor", "and", "block_scale"];
        if !known || odd.iter().any(|o| i.has(o)) || i.args.len() < 4 {
            return self.fail(i, MISSING);
        }
        let [left, right, sum] = if wmma {
            [Places::Flat; 3]
        } else {
            [Places::Left, Places::Right, Places::Sum]
        };
        let op = TileOp::Multiply {
            a: self.fragment(i, i.args.get(1), (m, k), a, left, false)?,
            b: self.fragment(i, i.args.get(2), (k, n), b, right, false)?,
            c: self.fragment(i, i.args.get(3), (m, n), c, sum, false)?,
            d: self.fragment(i, i.args.first(), (m, n), d, sum, true)?,
            saturate: i.has("satfinite"),
        };
        self.emit_tile(op, g, NONE, NONE, NONE, 0);
        Ok(())
    }

    fn emit_tile(&mut self, op: TileOp, g: u32, d: u32, a: u32, b: u32, off: i64) {
        let k = self.p.tiles.len() as u32;
        self.p.tiles.push(op);
        self.emit(Kind::Tile(k), g, d, a, b, NONE, off);
    }

    /// `wmma.load` and `wmma.store`.
    pub(super) fn move_tile(&mut self, i: &Instr) -> Result<(), PtxError> {
        let g = self.guard(i);
        let store = i.has("store");
        let (Some([m, n, k]), true) = (shape(i), store || i.has("load")) else {
            return self.fail(i, MISSING);
        };
        let elem = i.mods.iter().rev().find_map(|t| Elem::parse(t));
        let size = match i.mods.get(1).map(String::as_str) {
            Some("a") => (m, k),
            Some("b") => (k, n),
            Some("c" | "d") => (m, n),
            _ => return self.fail(i, MISSING),
        };
        let (Some(elem), Some(x), Some(y)) = (elem, i.args.first(), i.args.get(1)) else {
            return self.fail(i, MISSING);
        };
        let (regs, memory) = if store { (y, x) } else { (x, y) };
        let mut sp = space(i);
        let (a, off) = self.address(i, memory, &mut sp)?;
        if !matches!(sp, Space::Shared | Space::Global | Space::Generic) {
            return self.fail(i, MISSING);
        }
        let f = self.fragment(i, Some(regs), size, elem, Places::Flat, !store)?;
        let b = match i.args.get(2) {
            Some(o) => self.src(i, o, Ty::U32)?,
            None => NONE,
        };
        self.p.grain = self.p.grain.min(elem.bytes());
        let op = TileOp::Move {
            f,
            by_rows: i.has("row"),
            space: sp,
            store,
        };
        self.emit_tile(op, g, NONE, a, b, off);
        Ok(())
    }

    pub(super) fn load_matrix(&mut self, i: &Instr) -> Result<(), PtxError> {
        let g = self.guard(i);
        let (Some(x), Some(y), true) =
            (i.args.first(), i.args.get(1), i.has("m8n8") && i.has("b16"))
        else {
            return self.fail(i, MISSING);
        };
        let mut sp = Space::Shared;
        let (d, count) = self.vector(i, x, Ty::B32, true)?;
        let (a, off) = self.address(i, y, &mut sp)?;
        let wanted = if i.has("x4") {
            4
        } else if i.has("x2") {
            2
        } else {
            1
        };
        if sp != Space::Shared || count != wanted {
            return self.fail(i, MISSING);
        }
        let turned = i.has("trans");
        self.emit_tile(TileOp::Load8 { count, turned }, g, d, a, NONE, off);
        Ok(())
    }
}
