//! Decoding of what works on more than a lane's registers: barriers in memory, textures and surfaces, matrices.

use crate::ptx::{Base, Instr, Operand, PtxError, Space, Ty};

use super::decode::Decoder;
use super::flight::Until;
use super::mbarrier::MbarOp;
use super::program::{Kind, NONE};
use super::texture::{Edge, Geometry, SurfOp, TexOp};

const MISSING: &str = "the machine does not have this instruction";

impl Decoder<'_> {
    /// `cp.async` and what belongs to it.
    pub(super) fn async_copy(&mut self, i: &Instr) -> Result<(), PtxError> {
        let g = self.guard(i);
        if !i.has("async") || i.has("bulk") {
            return self.fail(i, MISSING);
        }
        if i.has("mbarrier") {
            return self.mbarrier(i);
        }
        if let Some(k) = self.copy_group(i)? {
            self.emit(k, g, NONE, NONE, NONE, NONE, 0);
            return Ok(());
        }
        if i.args.len() < 3 {
            return self.fail(i, "operands are missing");
        }
        let (mut s, mut t) = (Space::Shared, Space::Global);
        let (mut a, to) = self.address(i, &i.args[0], &mut s)?;
        let (mut b, from) = self.address(i, &i.args[1], &mut t)?;
        for (row, off) in [(&mut a, to), (&mut b, from)] {
            if off != 0 {
                let (sum, off) = (self.temp(), self.constant(off as u64));
                self.emit(
                    Kind::Bin(super::ops::Bin::Add64),
                    g,
                    sum,
                    *row,
                    off,
                    NONE,
                    0,
                );
                *row = sum;
            }
        }
        let c = match i.args.get(3) {
            Some(o) => self.src(i, o, Ty::U32)?,
            None => NONE,
        };
        let n = self.copy_size(i)?;
        self.emit(Kind::CpAsync, g, NONE, a, b, c, n);
        Ok(())
    }

    /// The instructions about groups of asynchronous copies.
    fn copy_group(&self, i: &Instr) -> Result<Option<Kind>, PtxError> {
        Ok(if i.has("commit_group") {
            Some(Kind::CpCommit)
        } else if i.has("wait_all") {
            Some(Kind::CpWait(Until::All))
        } else if i.has("wait_group") {
            match i.args.first() {
                Some(Operand::Imm(n)) if (0..=i64::from(u16::MAX)).contains(n) => {
                    Some(Kind::CpWait(Until::Groups(*n as u32)))
                }
                _ => return self.fail(i, "expected a number of groups"),
            }
        } else {
            None
        })
    }

    fn copy_size(&self, i: &Instr) -> Result<i64, PtxError> {
        match i.args.get(2) {
            Some(Operand::Imm(n @ (4 | 8 | 16))) => Ok(*n),
            _ => self.fail(i, "copies are of 4, 8 or 16 bytes"),
        }
    }

    /// `mbarrier` and `cp.async.mbarrier`.
    pub(super) fn mbarrier(&mut self, i: &Instr) -> Result<(), PtxError> {
        let g = self.guard(i);
        if i.has("pending_count") {
            let (Some(d), Some(s)) = (i.args.first(), i.args.get(1)) else {
                return self.fail(i, "operands are missing");
            };
            let d = self.dest(i, d)?;
            let a = self.src(i, s, Ty::B64)?;
            let b = self.constant((1 << 20) - 1);
            self.emit(Kind::Bin(super::ops::Bin::And), g, d, a, b, NONE, 0);
            return Ok(());
        }
        let mem = i.args.iter().position(|o| matches!(o, Operand::Mem(..)));
        let Some(k) = mem else {
            return self.fail(i, "expected an address in [ ]");
        };
        let mut s = Space::Shared;
        let (a, off) = self.address(i, &i.args[k], &mut s)?;
        if s != Space::Shared {
            return self.fail(i, "an mbarrier must lie in shared memory");
        }
        let drop = i.has("arrive_drop");
        let expect = i.has("expect_tx");
        let op = if i.op == "cp" {
            MbarOp::CopyArrive {
                counted: i.has("noinc"),
            }
        } else if i.has("init") {
            MbarOp::Init
        } else if i.has("inval") {
            MbarOp::Inval
        } else if drop || i.has("arrive") {
            MbarOp::Arrive { drop, expect }
        } else if expect || i.has("complete_tx") {
            MbarOp::Tx { complete: !expect }
        } else if i.has("test_wait") || i.has("try_wait") {
            MbarOp::Test {
                parity: i.has("parity"),
            }
        } else {
            return self.fail(i, MISSING);
        };
        let d = match (op, k) {
            (_, 0) => NONE,
            (MbarOp::Test { .. }, _) => self.pred(i, &i.args[0])?.0,
            (MbarOp::Arrive { .. }, _) => self.dest(i, &i.args[0])?,
            _ => return self.fail(i, "this has no result"),
        };
        let b = match (op, i.args.get(k + 1)) {
            (MbarOp::CopyArrive { .. }, _) => NONE,
            (MbarOp::Test { parity: false }, Some(o)) => self.src(i, o, Ty::B64)?,
            (_, Some(o)) => self.src(i, o, Ty::U32)?,
            (MbarOp::Init | MbarOp::Test { .. } | MbarOp::Tx { .. }, None) => {
                return self.fail(i, "operands are missing");
            }
            (_, None) => NONE,
        };
        self.emit(Kind::Mbarrier(op), g, d, a, b, NONE, off);
        Ok(())
    }

    /// The object and the rows of its coordinates.
    fn object(
        &mut self,
        i: &Instr,
        o: Option<&Operand>,
        ty: Ty,
        wanted: usize,
    ) -> Result<(u32, u32), PtxError> {
        let Some(Operand::Tex(base, coords)) = o else {
            return self.fail(i, "expected an object and coordinates in [ ]");
        };
        let Base::Reg(r) = base else {
            return self.fail(
                i,
                "texture references are not supported; use texture objects (cudaCreateTextureObject)",
            );
        };
        if coords.len() < wanted {
            return self.fail(i, format!("{} coordinates, {wanted} wanted", coords.len()));
        }
        let a = self.src(i, &Operand::Reg(*r), Ty::B64)?;
        let rows = coords[..wanted]
            .iter()
            .map(|c| self.src(i, c, ty))
            .collect::<Result<Vec<_>, _>>()?;
        let at = self.p.vecs.len() as u32;
        self.p.vecs.extend(rows);
        Ok((a, at))
    }

    fn geometry(&self, i: &Instr) -> Result<Geometry, PtxError> {
        let found = i.mods.iter().find_map(|m| {
            Some(match m.as_str() {
                "1d" => (1, false),
                "2d" => (2, false),
                "3d" => (3, false),
                "a1d" => (1, true),
                "a2d" => (2, true),
                _ => return None,
            })
        });
        match found {
            Some((dims, layered)) => Ok(Geometry { dims, layered }),
            None => self.fail(i, MISSING),
        }
    }

    /// `tex` and `tld4`. There is one level: `.level` and `.grad` read it whatever they ask for.
    pub(super) fn texture(&mut self, i: &Instr) -> Result<(), PtxError> {
        let g = self.guard(i);
        let geometry = self.geometry(i)?;
        let types: Vec<Ty> = i.mods.iter().filter_map(|m| Ty::parse(m)).collect();
        let ([dst, coord], true) = (&types[..], i.has("v4")) else {
            return self.fail(i, MISSING);
        };
        let gather = match i.mods.first().map(String::as_str) {
            _ if i.op != "tld4" => None,
            Some("r") => Some(0),
            Some("g") => Some(1),
            Some("b") => Some(2),
            Some("a") => Some(3),
            _ => return self.fail(i, MISSING),
        };
        let dest = match i.args.first() {
            Some(Operand::Pair(d, _)) => return self.fail(i, format!("{MISSING} with {d:?}")),
            Some(o @ Operand::Vec(v)) if v.len() == 4 => o,
            _ => return self.fail(i, "expected four registers"),
        };
        let (d, _) = self.vector(i, dest, *dst, true)?;
        let wanted = usize::from(geometry.dims) + usize::from(geometry.layered);
        let (a, b) = self.object(i, i.args.get(1), Ty::B32, wanted)?;
        let op = TexOp {
            geometry,
            float_coords: *coord == Ty::F32,
            dst: *dst,
            gather,
        };
        self.p.grain = 1;
        self.emit(Kind::Tex(op), g, d, a, b, NONE, 0);
        Ok(())
    }

    /// `suld.b` and `sust.b`.
    pub(super) fn surface(&mut self, i: &Instr) -> Result<(), PtxError> {
        let g = self.guard(i);
        let geometry = self.geometry(i)?;
        let Some(ty) = i.ty().filter(|_| i.has("b")) else {
            return self.fail(i, MISSING);
        };
        let edge = if i.has("clamp") {
            Edge::Clamp
        } else if i.has("zero") {
            Edge::Zero
        } else {
            Edge::Trap
        };
        let store = i.op == "sust";
        let (Some(x), Some(y)) = (i.args.first(), i.args.get(1)) else {
            return self.fail(i, "operands are missing");
        };
        let (object, data) = if store { (x, y) } else { (y, x) };
        let (rows, n) = self.vector(i, data, ty, !store)?;
        if ty.bytes() > 8 || !n.is_power_of_two() || ty.bytes() * u32::from(n) > 16 {
            return self.fail(i, MISSING);
        }
        let wanted = usize::from(geometry.dims) + usize::from(geometry.layered);
        let (a, b) = self.object(i, Some(object), Ty::B32, wanted)?;
        let op = SurfOp {
            geometry,
            store,
            ty,
            n,
            edge,
        };
        self.p.grain = self.p.grain.min(ty.bytes());
        let (d, c) = if store { (NONE, rows) } else { (rows, NONE) };
        self.emit(Kind::Surf(op), g, d, a, b, c, 0);
        Ok(())
    }

    /// `txq` and `suq`, for sizes.
    pub(super) fn texture_query(&mut self, i: &Instr) -> Result<(), PtxError> {
        let g = self.guard(i);
        let which = match i.mods.first().map(String::as_str) {
            Some("width") => 0,
            Some("height") => 1,
            Some("depth" | "array_size") => 2,
            _ => return self.fail(i, MISSING),
        };
        let (Some(d), Some(Operand::Mem(Base::Reg(r), 0))) = (i.args.first(), i.args.get(1)) else {
            return self.fail(i, "expected an object in [ ]");
        };
        let d = self.dest(i, d)?;
        let a = self.src(i, &Operand::Reg(*r), Ty::B64)?;
        self.emit(Kind::TexQuery, g, d, a, NONE, NONE, which);
        Ok(())
    }
}
