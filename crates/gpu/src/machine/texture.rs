//! Textures and surfaces: memory that kernels reach through an object, by coordinates.
//!
//! The texels lie in ordinary memory, row by row, so every fetch is an access like any other for the watcher. Filtering
//! follows the formulas of NVIDIA's programming guide, with weights of eight bits as the hardware has them.

use std::sync::Arc;

use crate::ptx::Ty;

use super::access::lanes;
use super::block::Env;
use super::float::{Round, f16_to_f32, f64_to_f16};
use super::memory;
use super::observe::{FaultKind, Observer, What};
use super::ops::Row;
use super::program::{Op, Strength};
use super::warp::Warp;

/// What a coordinate outside the texture means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outside {
    Wrap,
    #[default]
    Clamp,
    Mirror,
    Border,
}

/// What a channel holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Channel {
    #[default]
    Signed,
    Unsigned,
    Float,
}

/// Texels in memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Texels {
    pub base: u64,
    /// Texels in each direction, at least one; layers count as depth.
    pub size: [u32; 3],
    /// Bytes from row to row, and from slice to slice.
    pub pitch: u64,
    pub slice: u64,
    /// Bits of each channel; those that are not there have none.
    pub bits: [u32; 4],
    pub channel: Channel,
}

impl Texels {
    pub fn bytes(&self) -> u32 {
        self.bits.iter().sum::<u32>() / 8
    }

    fn address(&self, at: [u32; 3]) -> u64 {
        self.base
            + u64::from(at[2]) * self.slice
            + u64::from(at[1]) * self.pitch
            + u64::from(at[0]) * u64::from(self.bytes())
    }
}

/// A texture or surface object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Texture {
    pub texels: Texels,
    pub outside: [Outside; 3],
    pub linear: bool,
    /// Integers are read as numbers from 0 to 1, or -1 to 1.
    pub scaled: bool,
    /// Coordinates run from 0 to 1.
    pub normalized: bool,
    pub border: [f32; 4],
}

/// How coordinates are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// 1 to 3.
    pub dims: u8,
    pub layered: bool,
}

/// How a texture is read: d: four rows of `vecs`, a: the object, b: coordinates in `vecs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TexOp {
    pub geometry: Geometry,
    pub float_coords: bool,
    /// What the registers get.
    pub dst: Ty,
    /// `tld4`: one component of the four texels that a filter would use.
    pub gather: Option<u8>,
}

/// What a surface instruction does with coordinates outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    Trap,
    Clamp,
    Zero,
}

/// `suld.b` and `sust.b`: d or c: rows in `vecs`, a: the object, b: coordinates in `vecs`, x in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SurfOp {
    pub geometry: Geometry,
    pub store: bool,
    pub ty: Ty,
    pub n: u8,
    pub edge: Edge,
}

/// A texel's place along one direction, if it has one.
fn along(x: i64, n: u32, mode: Outside) -> Option<u32> {
    let n = i64::from(n);
    let k = match mode {
        Outside::Clamp => x.clamp(0, n - 1),
        Outside::Wrap => x.rem_euclid(n),
        Outside::Mirror => {
            let k = x.rem_euclid(2 * n);
            if k < n { k } else { 2 * n - 1 - k }
        }
        Outside::Border if (0..n).contains(&x) => x,
        Outside::Border => return None,
    };
    Some(k as u32)
}

/// One texel to be read, with its weight.
#[derive(Clone, Copy, Default)]
struct Tap {
    at: Option<[u32; 3]>,
    weight: f32,
}

impl Texture {
    fn mode(&self, k: usize) -> Outside {
        match self.outside[k] {
            // These two mean something for coordinates from 0 to 1 only.
            Outside::Wrap | Outside::Mirror if !self.normalized => Outside::Clamp,
            m => m,
        }
    }

    fn texel(&self, dims: usize, at: [i64; 3], layer: u32) -> Option<[u32; 3]> {
        let mut out = [0, 0, layer];
        for k in 0..dims {
            out[k] = along(at[k], self.texels.size[k], self.mode(k))?;
        }
        Some(out)
    }

    /// The texels that a fetch reads: one, or two for each direction.
    fn taps(&self, g: Geometry, c: [f32; 3], layer: u32, corners: bool) -> Vec<Tap> {
        let dims = usize::from(g.dims);
        let mut low = [0i64; 3];
        let mut part = [0f32; 3];
        for k in 0..dims {
            let x = if self.normalized {
                c[k] * self.texels.size[k] as f32
            } else {
                c[k]
            };
            // Far outside is far outside.
            let x = if x.is_nan() { 0.0 } else { x.clamp(-1e9, 1e9) };
            if self.linear || corners {
                let x = x - 0.5;
                low[k] = x.floor() as i64;
                part[k] = ((x - x.floor()) * 256.0).round() / 256.0;
            } else {
                low[k] = x.floor() as i64;
            }
        }
        if !self.linear && !corners {
            return vec![Tap {
                at: self.texel(dims, low, layer),
                weight: 1.0,
            }];
        }
        (0..1usize << dims)
            .map(|n| {
                let (mut at, mut weight) = (low, 1.0);
                for k in 0..dims {
                    let far = n >> k & 1;
                    at[k] += far as i64;
                    weight *= if far == 1 { part[k] } else { 1.0 - part[k] };
                }
                Tap {
                    at: self.texel(dims, at, layer),
                    weight,
                }
            })
            .collect()
    }

    /// The four channels of a texel as registers hold them: bits of an integer, or of a float.
    fn decode(&self, raw: [u64; 4]) -> [f64; 4] {
        let mut out = [0f64; 4];
        for k in 0..4 {
            let n = self.texels.bits[k];
            if n == 0 {
                // Channels that are not there read as zero, the last one as one.
                out[k] = 0.0;
                continue;
            }
            let sh = 64 - n;
            let signed = ((raw[k] << sh) as i64) >> sh;
            out[k] = match (self.texels.channel, n) {
                (Channel::Float, 16) => f64::from(f16_to_f32(raw[k] as u16)),
                (Channel::Float, _) => f64::from(f32::from_bits(raw[k] as u32)),
                (Channel::Signed, n) if self.scaled => {
                    (signed as f64 / ((1u64 << (n - 1)) - 1) as f64).max(-1.0)
                }
                (Channel::Unsigned, n) if self.scaled => raw[k] as f64 / ((1u64 << n) - 1) as f64,
                (Channel::Signed, _) => signed as f64,
                (Channel::Unsigned, _) => raw[k] as f64,
            };
        }
        out
    }

    /// Does a fetch give floating point numbers?
    fn floats(&self) -> bool {
        self.scaled || self.texels.channel == Channel::Float
    }
}

impl<const W: usize, O: Observer<W>> Env<'_, W, O> {
    /// The object that a handle names, which lanes may differ in.
    fn object(&mut self, w: &Warp<W>, handle: u64, lane: usize) -> Option<Arc<Texture>> {
        let t = self.ctx.memory.texture(handle);
        if t.is_none() {
            self.fault(FaultKind::OutOfBounds, w.pc, w, 1 << lane, || {
                format!("{handle:#x} is no texture or surface object (or one that was destroyed)")
            });
        }
        t
    }

    /// Tells of lanes that touch a texel, and which of them may.
    fn touch_texels(
        &mut self,
        w: &mut Warp<W>,
        mask: u64,
        addrs: &Row<W>,
        size: u32,
        what: What,
    ) -> u64 {
        let mut good = 0;
        // An element of three channels has no size that shadows know; its parts have.
        let unit = 1 << size.trailing_zeros();
        for k in 0..size / unit {
            let mut part = *addrs;
            part.iter_mut().for_each(|a| *a += u64::from(k * unit));
            self.groups(w, mask, &part, unit, |env, w, class, m| {
                good |= m;
                let s = env.survey_of(&part, m, unit);
                env.tell(w, class, m, &part, &s, unit, what, Strength::Weak, &[]);
            });
        }
        good
    }

    /// `tex` and `tld4`.
    pub(super) fn texture(&mut self, w: &mut Warp<W>, op: &Op, mask: u64, t: TexOp) {
        let program = self.ctx.program;
        let handles = *w.row(&self.ctx.consts, op.a);
        let dims = usize::from(t.geometry.dims);
        let coords: Vec<Row<W>> = program.vecs[op.b as usize..]
            [..dims + usize::from(t.geometry.layered)]
            .iter()
            .map(|r| *w.row(&self.ctx.consts, *r))
            .collect();
        let mut objects: Vec<Option<Arc<Texture>>> = vec![None; W];
        let mut taps: Vec<Vec<Tap>> = vec![Vec::new(); W];
        let mut last: Option<(u64, Arc<Texture>)> = None;
        for l in lanes(mask) {
            let x = match &last {
                Some((h, x)) if *h == handles[l] => Some(Arc::clone(x)),
                _ => self.object(w, handles[l], l),
            };
            let Some(x) = x else { continue };
            // The layer comes first.
            let first = usize::from(t.geometry.layered);
            let layer = if t.geometry.layered {
                (coords[0][l] as u32).min(x.texels.size[2] - 1)
            } else {
                0
            };
            if t.float_coords {
                let mut c = [0f32; 3];
                for k in 0..dims {
                    c[k] = f32::from_bits(coords[first + k][l] as u32);
                }
                taps[l] = x.taps(t.geometry, c, layer, t.gather.is_some());
            } else {
                let mut c = [0i64; 3];
                for k in 0..dims {
                    c[k] = i64::from(coords[first + k][l] as i32);
                }
                let inside = (0..dims).all(|k| (0..i64::from(x.texels.size[k])).contains(&c[k]));
                // Fetches by index have no mode: what lies outside is zero.
                let at = if inside {
                    x.texel(dims, c, layer)
                } else {
                    None
                };
                taps[l] = vec![Tap { at, weight: 1.0 }];
            }
            last = Some((handles[l], Arc::clone(&x)));
            objects[l] = Some(x);
        }
        let mut sums = vec![[0f64; 4]; W];
        let mut raws = vec![[0u64; 4]; W];
        let mut corners = vec![[0f64; 4]; W];
        for n in 0..8 {
            self.read_tap(w, mask, &objects, &taps, n, &mut |l, weight, texel, raw| {
                for k in 0..4 {
                    sums[l][k] += texel[k] * f64::from(weight);
                }
                raws[l] = raw;
                if let Some(c) = t.gather
                    && n < 4
                {
                    // From the lower left against the clock, as `tld4` has them.
                    corners[l][[3, 2, 0, 1][n]] = texel[usize::from(c)];
                }
            });
        }
        for k in 0..4 {
            let mut row = [0u64; W];
            for l in lanes(mask) {
                let Some(x) = &objects[l] else { continue };
                let v = if t.gather.is_some() {
                    corners[l][k]
                } else {
                    sums[l][k]
                };
                row[l] = match t.dst {
                    Ty::F32 => u64::from((v as f32).to_bits()),
                    Ty::F16 => u64::from(f64_to_f16(v, Round::Nearest)),
                    _ if x.floats() => u64::from((v as f32).to_bits()),
                    _ if t.gather.is_some() => v as i64 as u64 & 0xffff_ffff,
                    _ => {
                        // Integers come whole, extended as their type says.
                        let n = x.texels.bits[k];
                        match (n, x.texels.channel) {
                            (0, _) => 0,
                            (n, Channel::Signed) => {
                                let sh = 64 - n;
                                ((((raws[l][k] << sh) as i64) >> sh) as u64) & 0xffff_ffff
                            }
                            _ => raws[l][k],
                        }
                    }
                };
            }
            w.put(program.vecs[op.d as usize + k], &row, mask);
        }
    }

    /// Reads the `n`th texel of every lane that has one.
    fn read_tap(
        &mut self,
        w: &mut Warp<W>,
        mask: u64,
        objects: &[Option<Arc<Texture>>],
        taps: &[Vec<Tap>],
        n: usize,
        each: &mut impl FnMut(usize, f32, [f64; 4], [u64; 4]),
    ) {
        let (mut addrs, mut reads, mut size) = ([0u64; W], 0u64, 0u32);
        for l in lanes(mask) {
            let (Some(x), Some(tap)) = (&objects[l], taps[l].get(n)) else {
                continue;
            };
            match tap.at {
                Some(at) => {
                    addrs[l] = x.texels.address(at);
                    size = x.texels.bytes();
                    reads |= 1 << l;
                }
                None => each(l, tap.weight, x.border.map(f64::from), [0; 4]),
            }
        }
        if reads == 0 {
            return;
        }
        let good = self.touch_texels(w, reads, &addrs, size, What::Read);
        for l in lanes(good) {
            let (Some(x), Some(tap)) = (&objects[l], taps[l].get(n)) else {
                continue;
            };
            let (mut raw, mut at) = ([0u64; 4], addrs[l]);
            for (r, bits) in raw.iter_mut().zip(x.texels.bits) {
                if bits > 0 {
                    // SAFETY: `touch_texels` found the whole texel inside a live allocation and aligned.
                    *r = unsafe { memory::load(at, bits / 8) };
                    at += u64::from(bits / 8);
                }
            }
            each(l, tap.weight, x.decode(raw), raw);
        }
    }

    /// `suld.b` and `sust.b`.
    pub(super) fn surface(&mut self, w: &mut Warp<W>, op: &Op, mask: u64, s: SurfOp) {
        let program = self.ctx.program;
        let handles = *w.row(&self.ctx.consts, op.a);
        let dims = usize::from(s.geometry.dims);
        let coords: Vec<Row<W>> = program.vecs[op.b as usize..]
            [..dims + usize::from(s.geometry.layered)]
            .iter()
            .map(|r| *w.row(&self.ctx.consts, *r))
            .collect();
        let each = s.ty.bytes();
        let size = each * u32::from(s.n);
        let (mut addrs, mut inside) = ([0u64; W], 0u64);
        for l in lanes(mask) {
            let Some(x) = self.object(w, handles[l], l) else {
                continue;
            };
            let first = usize::from(s.geometry.layered);
            let mut at = [0i64; 3];
            for k in 0..dims {
                at[k] = i64::from(coords[first + k][l] as i32);
            }
            if s.geometry.layered {
                at[2] = i64::from(coords[0][l] as i32);
            }
            let t = &x.texels;
            let row = i64::from(t.size[0]) * i64::from(t.bytes());
            let ends = [
                row - i64::from(size) + 1,
                i64::from(t.size[1]),
                i64::from(t.size[2]),
            ];
            let good = (0..3).all(|k| (0..ends[k]).contains(&at[k]));
            if !good {
                match s.edge {
                    Edge::Trap => {
                        self.fault(FaultKind::OutOfBounds, w.pc, w, 1 << l, || {
                            format!(
                                "byte {}, row {}, slice {} of a surface with {row} bytes, {} rows, {} slices",
                                at[0], at[1], at[2], t.size[1], t.size[2]
                            )
                        });
                        continue;
                    }
                    Edge::Zero => continue,
                    Edge::Clamp => {
                        for k in 0..3 {
                            at[k] = at[k].clamp(0, (ends[k] - 1).max(0));
                        }
                        at[0] -= at[0] % i64::from(size);
                    }
                }
            }
            addrs[l] = t.base + at[2] as u64 * t.slice + at[1] as u64 * t.pitch + at[0] as u64;
            inside |= 1 << l;
        }
        let what = if s.store { What::Write } else { What::Read };
        let good = if inside == 0 {
            0
        } else {
            self.touch_texels(w, inside, &addrs, size, what)
        };
        let rows = if s.store { op.c } else { op.d };
        for k in 0..usize::from(s.n) {
            let reg = program.vecs[rows as usize + k];
            let off = k as u64 * u64::from(each);
            if s.store {
                let row = *w.row(&self.ctx.consts, reg);
                for l in lanes(good) {
                    // SAFETY: `touch_texels` found the whole access inside a live allocation and aligned.
                    unsafe { memory::store(addrs[l] + off, each, row[l]) };
                }
            } else {
                let mut row = [0u64; W];
                for l in lanes(good) {
                    // SAFETY: as above.
                    row[l] = unsafe { memory::load(addrs[l] + off, each) };
                }
                w.put(reg, &row, mask);
            }
        }
    }

    /// `txq` and `suq`: imm says which.
    pub(super) fn query(&mut self, w: &mut Warp<W>, op: &Op, mask: u64) {
        let handles = *w.row(&self.ctx.consts, op.a);
        let mut row = [0u64; W];
        for l in lanes(mask) {
            if let Some(x) = self.object(w, handles[l], l) {
                row[l] = u64::from(x.texels.size[op.imm as usize]);
            }
        }
        w.put(op.d, &row, mask);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_outside_follow_their_mode() {
        assert_eq!(along(-1, 4, Outside::Clamp), Some(0));
        assert_eq!(along(5, 4, Outside::Wrap), Some(1));
        assert_eq!(along(-1, 4, Outside::Wrap), Some(3));
        assert_eq!(along(4, 4, Outside::Mirror), Some(3));
        assert_eq!(along(-1, 4, Outside::Mirror), Some(0));
        assert_eq!(along(4, 4, Outside::Border), None);
    }

    #[test]
    fn a_filter_weighs_its_neighbours() {
        let t = Texture {
            texels: Texels {
                size: [4, 1, 1],
                bits: [32, 0, 0, 0],
                channel: Channel::Float,
                ..Texels::default()
            },
            linear: true,
            ..Texture::default()
        };
        let g = Geometry {
            dims: 1,
            layered: false,
        };
        let taps = t.taps(g, [1.25, 0.0, 0.0], 0, false);
        let got: Vec<(u32, f32)> = taps
            .iter()
            .map(|t| (t.at.map_or(99, |a| a[0]), t.weight))
            .collect();
        assert_eq!(got, [(0, 0.25), (1, 0.75)]);
    }
}
