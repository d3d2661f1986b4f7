//! The addresses of a warp's access, seen as a whole: one pass finds the row, its bounds, and whether the lanes walk
//! through memory side by side or all look at one place. What follows then costs the same for 32 lanes as for one.

use super::ops::{Row, full};

/// How the lanes' addresses lie to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Lane `l` is at the first lane's address plus its distance in lanes times the size.
    Run,
    /// All at one address.
    Point,
    /// Any other.
    Scattered,
}

/// What one pass over the lanes of a mask tells.
#[derive(Clone, Copy, Debug)]
pub struct Survey {
    pub lo: u64,
    pub hi: u64,
    /// All address bits that some lane has set: alignment is decided by the low ones.
    pub bits: u64,
    pub shape: Shape,
    pub links: Links,
}

impl Survey {
    /// Nothing is known of how a part of the lanes lie to each other.
    pub fn apart(self) -> Survey {
        Survey {
            shape: Shape::Scattered,
            links: Links::default(),
            ..self
        }
    }
}

/// Lanes of a scattered access that go with the lane before them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// At the same address.
    pub same: u64,
    /// At the next element.
    pub next: u64,
    /// All lanes are this far apart, one after the other; zero if they are not.
    pub stride: u64,
}

/// How an operand becomes a generic address: `((base + add) & keep) | window`.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    pub add: u64,
    pub keep: u64,
    pub window: u64,
}

/// Fills `out` with the addresses of all lanes and surveys those in `mask`, which has at least one.
pub type SurveyFn<const W: usize> = fn(&Row<W>, Form, u64, u32, &mut Row<W>) -> Survey;

#[inline(always)]
fn survey<const W: usize>(
    base: &Row<W>,
    form: Form,
    mask: u64,
    size: u32,
    out: &mut Row<W>,
) -> Survey {
    let step = u64::from(size);
    for l in 0..W {
        out[l] = (base[l].wrapping_add(form.add) & form.keep) | form.window;
    }
    let (first, last) = (mask.trailing_zeros(), 63 - mask.leading_zeros());
    let one = out[first as usize];
    let zero = one.wrapping_sub(u64::from(first) * step);
    let (mut run, mut point) = (0u64, 0u64);
    if mask == full::<W>() {
        for (l, a) in out.iter().enumerate() {
            run |= a ^ zero.wrapping_add(l as u64 * step);
            point |= a ^ one;
        }
    } else {
        for (l, a) in out.iter().enumerate() {
            let m = 0u64.wrapping_sub((mask >> l) & 1);
            run |= (a ^ zero.wrapping_add(l as u64 * step)) & m;
            point |= (a ^ one) & m;
        }
    }
    // One lane is a run; a run of one size is never a point.
    if run == 0 {
        let hi = out[last as usize];
        return Survey {
            lo: one,
            hi,
            bits: one,
            shape: Shape::Run,
            links: Links::default(),
        };
    }
    if point == 0 {
        return Survey {
            lo: one,
            hi: one,
            bits: one,
            shape: Shape::Point,
            links: Links::default(),
        };
    }
    let (mut lo, mut hi, mut bits) = (one as i64, one as i64, one);
    for (l, a) in out.iter().enumerate() {
        let m = 0u64.wrapping_sub((mask >> l) & 1);
        let a = (a & m) | (one & !m);
        // Windows keep the top bit clear; an address with it set becomes the lowest and is found to be nowhere.
        lo = lo.min(a as i64);
        hi = hi.max(a as i64);
        bits |= a;
    }
    let (mut same, mut next) = (0u64, 0u64);
    for l in 1..W {
        same |= u64::from(out[l] == out[l - 1]) << l;
        next |= u64::from(out[l] == out[l - 1].wrapping_add(step)) << l;
    }
    let pairs = mask & (mask << 1);
    let mut stride = 0;
    if pairs != 0 {
        let l = pairs.trailing_zeros() as usize;
        stride = out[l].wrapping_sub(out[l - 1]);
        let zero = one.wrapping_sub(u64::from(first).wrapping_mul(stride));
        let mut other = 0u64;
        for (l, a) in out.iter().enumerate() {
            let m = 0u64.wrapping_sub((mask >> l) & 1);
            other |= (a ^ zero.wrapping_add((l as u64).wrapping_mul(stride))) & m;
        }
        if other != 0 {
            stride = 0;
        }
    }
    Survey {
        lo: lo as u64,
        hi: hi as u64,
        bits,
        shape: Shape::Scattered,
        links: Links {
            same: same & pairs,
            next: next & pairs,
            stride,
        },
    }
}

fn plain<const W: usize>(b: &Row<W>, f: Form, m: u64, size: u32, out: &mut Row<W>) -> Survey {
    survey(b, f, m, size, out)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
fn avx2<const W: usize>(b: &Row<W>, f: Form, m: u64, size: u32, out: &mut Row<W>) -> Survey {
    survey(b, f, m, size, out)
}

#[cfg(target_arch = "x86_64")]
fn with_avx2<const W: usize>(b: &Row<W>, f: Form, m: u64, size: u32, out: &mut Row<W>) -> Survey {
    // SAFETY: `choose` hands this function out only after the processor said it has these features.
    unsafe { avx2(b, f, m, size, out) }
}

/// The best version for this processor.
pub fn choose<const W: usize>() -> SurveyFn<W> {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
        {
            return with_avx2::<W>;
        }
    }
    plain::<W>
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naive(a: &Row<32>, mask: u64, size: u32) -> Survey {
        let lanes: Vec<usize> = (0..32).filter(|l| mask >> l & 1 == 1).collect();
        let f = lanes[0];
        let run = lanes
            .iter()
            .all(|&l| a[l] == a[f].wrapping_add((l - f) as u64 * u64::from(size)));
        let point = lanes.iter().all(|&l| a[l] == a[f]);
        Survey {
            lo: lanes.iter().map(|&l| a[l]).min().unwrap_or(0),
            hi: lanes.iter().map(|&l| a[l]).max().unwrap_or(0),
            bits: lanes.iter().fold(0, |b, &l| b | a[l]),
            shape: match (run, point) {
                (true, _) => Shape::Run,
                (_, true) => Shape::Point,
                _ => Shape::Scattered,
            },
            links: lanes
                .windows(2)
                .filter(|p| p[1] == p[0] + 1 && !run && !point)
                .fold(Links::default(), |mut k, p| {
                    k.same |= u64::from(a[p[0]] == a[p[1]]) << p[1];
                    k.next |= u64::from(a[p[0]] + u64::from(size) == a[p[1]]) << p[1];
                    let d = a[p[1]].wrapping_sub(a[p[0]]);
                    let apart =
                        |l: &usize| a[f].wrapping_add(d.wrapping_mul((l - f) as u64)) == a[*l];
                    if lanes.iter().all(apart) {
                        k.stride = d;
                    }
                    k
                }),
        }
    }

    #[test]
    fn one_pass_says_what_lane_by_lane_says() {
        let mut state = 88172645463325252u64;
        let mut dice = |n: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % n
        };
        let form = Form {
            add: 0,
            keep: u64::MAX,
            window: 0,
        };
        for round in 0..3000 {
            let size = 1u32 << dice(4);
            let start = (1 << 20) | (dice(1000) * 16);
            let mut a = [0u64; 32];
            for (l, x) in a.iter_mut().enumerate() {
                *x = match round % 4 {
                    0 => start + l as u64 * u64::from(size),
                    1 => start,
                    2 => start + l as u64 * u64::from(size) * 4,
                    _ => start + dice(100),
                };
            }
            if dice(3) == 0 {
                a[dice(32) as usize] += u64::from(size);
            }
            let mask = (dice(1 << 32) | 1 << dice(32)) & full::<32>();
            let mask = if dice(2) == 0 { full::<32>() } else { mask };
            let want = naive(&a, mask, size);
            for f in [plain::<32>, choose::<32>()] {
                let mut out = [0; 32];
                let got = f(&a, form, mask, size, &mut out);
                assert_eq!(out, a);
                assert_eq!((got.lo, got.hi, got.shape), (want.lo, want.hi, want.shape));
                assert_eq!(got.links, want.links);
                assert_eq!(
                    got.bits & u64::from(size - 1),
                    want.bits & u64::from(size - 1)
                );
            }
        }
    }
}
