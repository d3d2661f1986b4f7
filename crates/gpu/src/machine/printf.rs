//! `printf` in kernels: clang and nvcc pass a format and a packed buffer of arguments.

use super::block::Env;
use super::builtins::text;
use super::observe::Observer;
use super::program::LOCAL_WINDOW;
use super::warp::Warp;

struct Args<'a> {
    local: &'a [u8],
    at: usize,
}

impl Args<'_> {
    fn take(&mut self, n: usize) -> u64 {
        self.at = self.at.next_multiple_of(n);
        let mut b = [0; 8];
        if let Some(s) = self.local.get(self.at..self.at + n) {
            b[..n].copy_from_slice(s);
        }
        self.at += n;
        u64::from_le_bytes(b)
    }
}

/// Formats for one thread.
pub fn format<const W: usize, O: Observer<W>>(
    env: &Env<'_, W, O>,
    w: &Warp<W>,
    lane: usize,
    fmt: u64,
    args: u64,
) -> String {
    let fmt = text(env, w, lane, fmt);
    let at = (args & !LOCAL_WINDOW) as usize;
    let copied;
    let (local, at) = match args >> 56 {
        2 => (w.local[lane].as_slice(), at),
        0 => {
            copied = env.ctx.memory.read(args, 8).map(|_| {
                let r = env
                    .ctx
                    .memory
                    .range(args)
                    .map_or(0, |r| (r.end - args).min(4096));
                env.ctx.memory.read(args, r).unwrap_or_default()
            });
            (copied.as_deref().unwrap_or(&[]), 0)
        }
        _ => (&[][..], 0),
    };
    let mut a = Args { local, at };
    expand(&fmt, &mut |n| a.take(n), &mut |p| text(env, w, lane, p))
}

/// The C rules, with `take(bytes)` for the next argument and `string(pointer)` for `%s`.
pub fn expand(
    fmt: &str,
    take: &mut dyn FnMut(usize) -> u64,
    string: &mut dyn FnMut(u64) -> String,
) -> String {
    let mut out = String::new();
    let mut it = fmt.chars().peekable();
    while let Some(c) = it.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let (mut flags, mut width, mut prec, mut long) = (String::new(), 0usize, None, 0);
        while let Some(&f) = it.peek() {
            if !"-+ #0".contains(f) {
                break;
            }
            flags.push(f);
            it.next();
        }
        let mut number = |it: &mut std::iter::Peekable<std::str::Chars<'_>>| {
            if it.peek() == Some(&'*') {
                it.next();
                return (take(4) as u32 as i32).unsigned_abs() as usize;
            }
            let mut n = 0usize;
            while let Some(d) = it.peek().and_then(|c| c.to_digit(10)) {
                n = (n * 10 + d as usize).min(4096);
                it.next();
            }
            n
        };
        width += number(&mut it);
        if it.peek() == Some(&'.') {
            it.next();
            prec = Some(number(&mut it));
        }
        while let Some(&m) = it.peek() {
            match m {
                'l' | 'z' | 'j' | 't' => long += 1,
                'h' => long -= 1,
                _ => break,
            }
            it.next();
        }
        let Some(conv) = it.next() else { break };
        let int = |v: u64| {
            if long > 0 {
                v as i64
            } else {
                i64::from(v as u32 as i32)
            }
        };
        let uint = |v: u64| if long > 0 { v } else { u64::from(v as u32) };
        let size = if long > 0 { 8 } else { 4 };
        let min_digits = |s: String| match prec {
            Some(p) if s.len() < p => format!("{}{s}", "0".repeat(p - s.len())),
            _ => s,
        };
        let alt = flags.contains('#');
        let (sign, body) = match conv {
            '%' => {
                out.push('%');
                continue;
            }
            'd' | 'i' => {
                let v = int(take(size));
                (
                    if v < 0 { "-" } else { plus(&flags) },
                    min_digits(v.unsigned_abs().to_string()),
                )
            }
            'u' => ("", min_digits(uint(take(size)).to_string())),
            'x' => (
                if alt { "0x" } else { "" },
                min_digits(format!("{:x}", uint(take(size)))),
            ),
            'X' => (
                if alt { "0X" } else { "" },
                min_digits(format!("{:X}", uint(take(size)))),
            ),
            'o' => (
                if alt { "0" } else { "" },
                min_digits(format!("{:o}", uint(take(size)))),
            ),
            'c' => ("", char::from(take(4) as u8).to_string()),
            's' => {
                let s = string(take(8));
                ("", prec.map_or(s.clone(), |p| s.chars().take(p).collect()))
            }
            'p' => ("0x", format!("{:x}", take(8))),
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'a' | 'A' => {
                let v = f64::from_bits(take(8));
                let sign = if v.is_sign_negative() && !v.is_nan() {
                    "-"
                } else {
                    plus(&flags)
                };
                (sign, float(v.abs(), conv, prec.unwrap_or(6), alt))
            }
            other => {
                out.push('%');
                out.push(other);
                continue;
            }
        };
        let pad = width.saturating_sub(sign.len() + body.len());
        if flags.contains('-') {
            out.push_str(sign);
            out.push_str(&body);
            out.push_str(&" ".repeat(pad));
        } else if flags.contains('0') && !(prec.is_some() && "diuxXo".contains(conv)) {
            out.push_str(sign);
            out.push_str(&"0".repeat(pad));
            out.push_str(&body);
        } else {
            out.push_str(&" ".repeat(pad));
            out.push_str(sign);
            out.push_str(&body);
        }
    }
    out
}

fn plus(flags: &str) -> &'static str {
    if flags.contains('+') {
        "+"
    } else if flags.contains(' ') {
        " "
    } else {
        ""
    }
}

fn scientific(v: f64, prec: usize) -> (String, i32) {
    let s = format!("{v:.prec$e}");
    let (m, e) = s.split_once('e').unwrap_or((&s, "0"));
    (m.to_string(), e.parse().unwrap_or(0))
}

fn float(v: f64, conv: char, prec: usize, alt: bool) -> String {
    let upper = conv.is_ascii_uppercase();
    let s = if v.is_nan() {
        "nan".to_string()
    } else if v.is_infinite() {
        "inf".to_string()
    } else {
        match conv.to_ascii_lowercase() {
            'f' => format!("{v:.prec$}"),
            'g' => {
                let p = prec.max(1);
                let (_, e) = scientific(v, p - 1);
                let mut s = if e < -4 || e >= p as i32 {
                    let (m, e) = scientific(v, p - 1);
                    let m = if alt || !m.contains('.') {
                        m
                    } else {
                        m.trim_end_matches('0').trim_end_matches('.').into()
                    };
                    return case(
                        format!("{m}e{}{:02}", if e < 0 { '-' } else { '+' }, e.abs()),
                        upper,
                    );
                } else {
                    format!("{v:.*}", (p as i32 - 1 - e).max(0) as usize)
                };
                if !alt && s.contains('.') {
                    s = s.trim_end_matches('0').trim_end_matches('.').to_string();
                }
                s
            }
            _ => {
                let (m, e) = scientific(v, prec);
                format!("{m}e{}{:02}", if e < 0 { '-' } else { '+' }, e.abs())
            }
        }
    };
    case(s, upper)
}

fn case(s: String, upper: bool) -> String {
    if upper { s.to_ascii_uppercase() } else { s }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f(fmt: &str, args: &[u64]) -> String {
        let mut k = 0;
        expand(
            fmt,
            &mut |_| {
                k += 1;
                args[k - 1]
            },
            &mut |_| "text".into(),
        )
    }

    #[test]
    fn as_c_does_it() {
        assert_eq!(
            f("%d|%5d|%-5d|%05d", &[u64::MAX, 42, 42, 42]),
            "-1|   42|42   |00042"
        );
        assert_eq!(
            f(
                "%.2f %e %g %g",
                &[2.567f64, 12345.0, 0.0001, 1e20].map(f64::to_bits)
            ),
            "2.57 1.234500e+04 0.0001 1e+20"
        );
        assert_eq!(
            f("%s %c%% %#x %llu", &[0, 65, 255, 1 << 40]),
            "text A% 0xff 1099511627776"
        );
        assert_eq!(f("%*d %+d", &[4, 7, 3]), "   7 +3");
        assert_eq!(f("100%", &[]), "100");
    }
}
