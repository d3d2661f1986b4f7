//! Functions that kernels call but no PTX defines: printf, assert, malloc, and the mathematical library.

use super::access::lanes;
use super::block::Env;
use super::observe::{FaultKind, Observer};
use super::program::{CallSite, LOCAL_WINDOW, SHARED_WINDOW};
use super::warp::Warp;

const OTHER: [&str; 8] = [
    "vprintf",
    "malloc",
    "free",
    "__assertfail",
    "__assert_fail",
    "abort",
    "__cudaCDP2DeviceSynchronize",
    "clock64",
];

/// Is there a built-in function of this name?
pub fn known(name: &str) -> bool {
    OTHER.contains(&name) || math(name, 1.0, 1.0, 1.0).is_some()
}

/// Name without `__nv_` and the `f` of single precision; true if single.
fn base(name: &str) -> (&str, bool) {
    let n = name.strip_prefix("__nv_").unwrap_or(name);
    let single = n.ends_with('f') && !matches!(n, "erf");
    (if single { &n[..n.len() - 1] } else { n }, single)
}

/// The function on up to three doubles; single precision is computed in double and rounded once.
fn math(name: &str, x: f64, y: f64, z: f64) -> Option<f64> {
    let (n, _) = base(name);
    Some(match n {
        "sin" | "fast_sin" => x.sin(),
        "cos" | "fast_cos" => x.cos(),
        "tan" | "fast_tan" => x.tan(),
        "asin" => x.asin(),
        "acos" => x.acos(),
        "atan" => x.atan(),
        "atan2" => x.atan2(y),
        "sinh" => x.sinh(),
        "cosh" => x.cosh(),
        "tanh" => x.tanh(),
        "asinh" => x.asinh(),
        "acosh" => x.acosh(),
        "atanh" => x.atanh(),
        "exp" | "fast_exp" => x.exp(),
        "exp2" => x.exp2(),
        "exp10" | "fast_exp10" => 10f64.powf(x),
        "expm1" => x.exp_m1(),
        "log" | "fast_log" => x.ln(),
        "log2" | "fast_log2" => x.log2(),
        "log10" | "fast_log10" => x.log10(),
        "log1p" => x.ln_1p(),
        "pow" | "fast_pow" => x.powf(y),
        "sqrt" => x.sqrt(),
        "rsqrt" => 1.0 / x.sqrt(),
        "cbrt" => x.cbrt(),
        "hypot" => x.hypot(y),
        "fmod" => x % y,
        "remainder" => x - (x / y).round_ties_even() * y,
        "floor" => x.floor(),
        "ceil" => x.ceil(),
        "trunc" => x.trunc(),
        "round" => x.round(),
        "rint" | "nearbyint" => x.round_ties_even(),
        "fabs" => x.abs(),
        "fmin" => super::float::min64(x, y),
        "fmax" => super::float::max64(x, y),
        "fma" => x.mul_add(y, z),
        "copysign" => x.copysign(y),
        "fdim" => {
            if x > y {
                x - y
            } else {
                0.0
            }
        }
        "erf" => erf(x),
        "erfc" => 1.0 - erf(x),
        _ => return None,
    })
}

/// Error function by its series and, for large arguments, its continued fraction.
fn erf(x: f64) -> f64 {
    let a = x.abs();
    if a.is_nan() {
        return x;
    }
    if a < 2.5 {
        let (mut term, mut sum, mut n) = (a, a, 0.0f64);
        while term.abs() > 1e-18 * sum.abs() && n < 200.0 {
            n += 1.0;
            term *= -a * a / n;
            sum += term / (2.0 * n + 1.0);
        }
        return (sum * 2.0 / std::f64::consts::PI.sqrt()).copysign(x);
    }
    if a > 6.0 {
        return 1f64.copysign(x);
    }
    let mut f = 0.0;
    for k in (1..=60).rev() {
        f = f64::from(k) / 2.0 / (a + f);
    }
    (1.0 - (-a * a).exp() / ((a + f) * std::f64::consts::PI.sqrt())).copysign(x)
}

fn arg<const W: usize>(w: &Warp<W>, call: &CallSite, k: usize, lane: usize) -> u64 {
    let base = w.frames.last().map_or(0, |f| f.local);
    let Some(&(off, size)) = call.args.get(k) else {
        return 0;
    };
    let mut b = [0u8; 8];
    let n = (size as usize).min(8);
    let at = (base + off) as usize;
    b[..n].copy_from_slice(&w.local[lane][at..at + n]);
    u64::from_le_bytes(b)
}

fn ret<const W: usize>(w: &mut Warp<W>, call: &CallSite, lane: usize, v: u64) {
    let base = w.frames.last().map_or(0, |f| f.local);
    if let Some(&(off, size)) = call.rets.first() {
        let n = (size as usize).min(8);
        let at = (base + off) as usize;
        w.local[lane][at..at + n].copy_from_slice(&v.to_le_bytes()[..n]);
    }
}

/// Calls a built-in function; false ends the launch.
pub fn call<const W: usize, O: Observer<W>>(
    env: &mut Env<'_, W, O>,
    w: &mut Warp<W>,
    name: &str,
    call: &CallSite,
    mask: u64,
) -> bool {
    match name {
        "vprintf" => {
            for l in lanes(mask) {
                let text = super::printf::format(env, w, l, arg(w, call, 0, l), arg(w, call, 1, l));
                (env.ctx.output)(&text);
                ret(w, call, l, text.len() as u64);
            }
        }
        "malloc" => {
            for l in lanes(mask) {
                let p = env
                    .ctx
                    .memory
                    .alloc("device malloc", arg(w, call, 0, l), true)
                    .unwrap_or(0);
                ret(w, call, l, p);
            }
        }
        "free" => {
            for l in lanes(mask) {
                let p = arg(w, call, 0, l);
                let good = p == 0
                    || env
                        .ctx
                        .memory
                        .find(p)
                        .is_some_and(|a| a.start == p && a.device_heap)
                        && env.ctx.memory.free(p);
                if !good {
                    env.fault(FaultKind::BadFree, w.pc, w, 1 << l, || {
                        "free of something that device malloc did not give, or that was freed before".into()
                    });
                }
            }
        }
        "__assertfail" | "__assert_fail" => {
            let l = mask.trailing_zeros() as usize;
            let what = text(env, w, l, arg(w, call, 0, l));
            let file = text(env, w, l, arg(w, call, 1, l));
            let line = arg(w, call, 2, l) as u32;
            env.fault(FaultKind::Assert, w.pc, w, mask, || {
                format!("assertion `{what}` failed ({file}:{line})")
            });
            return false;
        }
        "abort" => {
            env.fault(FaultKind::Trap, w.pc, w, mask, || {
                "the kernel called abort".into()
            });
            return false;
        }
        "clock64" => {
            for l in lanes(mask) {
                let t = w.steps;
                ret(w, call, l, t);
            }
        }
        "__cudaCDP2DeviceSynchronize" => {}
        _ => {
            let single = call.rets.first().is_some_and(|r| r.1 == 4);
            for l in lanes(mask) {
                let get = |k: usize| {
                    let v = arg(w, call, k, l);
                    if single {
                        f64::from(f32::from_bits(v as u32))
                    } else {
                        f64::from_bits(v)
                    }
                };
                let v = math(name, get(0), get(1), get(2)).unwrap_or(f64::NAN);
                let bits = if single {
                    u64::from((v as f32).to_bits())
                } else {
                    v.to_bits()
                };
                ret(w, call, l, bits);
            }
        }
    }
    true
}

/// A C string in any memory that the thread can see.
pub fn text<const W: usize, O: Observer<W>>(
    env: &Env<'_, W, O>,
    w: &Warp<W>,
    lane: usize,
    addr: u64,
) -> String {
    let cut = |m: &[u8], at: u64| {
        let m = m.get(at as usize..).unwrap_or(&[]);
        let n = m.iter().position(|b| *b == 0).unwrap_or(m.len());
        String::from_utf8_lossy(&m[..n]).into_owned()
    };
    match addr >> 56 {
        0 => env
            .ctx
            .memory
            .text(addr, 4096)
            .unwrap_or_else(|| "(bad pointer)".into()),
        1 => cut(&env.shared, addr & !SHARED_WINDOW),
        2 => cut(&w.local[lane], addr & !LOCAL_WINDOW),
        _ => "(bad pointer)".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert!(known("__nv_expf"));
        assert!(known("sqrt"));
        assert!(known("vprintf"));
        assert!(!known("nosuch"));
    }

    #[test]
    fn error_function() {
        for (x, want) in [
            (0.5, 0.520_499_877_813_046_5),
            (2.4, 0.999_311_486_103_354_9),
            (3.0, 0.999_977_909_503_001_4),
        ] {
            assert!((erf(x) - want).abs() < 1e-14, "{x}: {}", erf(x));
        }
    }
}
