//! z3, found when the analysis starts: the library if it can be loaded, else the program, else none.
//!
//! Both are spoken to in SMT-LIB text. Nothing is linked, so nothing is needed to build.

use std::ffi::{CStr, CString, c_char, c_void};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

type Ctx = *mut c_void;

/// A running solver.
pub enum Solver {
    Library {
        lib: libloading::Library,
        ctx: Ctx,
    },
    Program {
        child: Child,
        input: ChildStdin,
        output: BufReader<ChildStdout>,
    },
}

const LIBRARIES: [&str; 3] = ["libz3.so.4", "libz3.so", "libz3.dylib"];
/// Milliseconds for one question.
const PATIENCE: u32 = 3000;

impl Solver {
    /// Finds z3; `DEADHEAT_Z3` may name the library or the program, or be `none`.
    pub fn find() -> Option<Solver> {
        match std::env::var("DEADHEAT_Z3") {
            Ok(v) if v == "none" => None,
            Ok(v) if v.contains(".so") || v.contains(".dylib") => Self::library(&v),
            Ok(v) => Self::program(&v),
            Err(_) => LIBRARIES
                .iter()
                .find_map(|l| Self::library(l))
                .or_else(|| Self::program("z3")),
        }
    }

    fn library(name: &str) -> Option<Solver> {
        // SAFETY: loading libz3 runs its initializers, which do nothing but set up its own state.
        let lib = unsafe { libloading::Library::new(name) }.ok()?;
        // SAFETY: the names and signatures are those of z3's C interface.
        let ctx = unsafe {
            let eval = lib.get::<unsafe extern "C" fn(Ctx, *const c_char) -> *const c_char>(
                b"Z3_eval_smtlib2_string\0",
            );
            eval.ok()?;
            let config = lib
                .get::<unsafe extern "C" fn() -> *mut c_void>(b"Z3_mk_config\0")
                .ok()?;
            let make = lib
                .get::<unsafe extern "C" fn(*mut c_void) -> Ctx>(b"Z3_mk_context\0")
                .ok()?;
            let drop_config = lib
                .get::<unsafe extern "C" fn(*mut c_void)>(b"Z3_del_config\0")
                .ok()?;
            let c = config();
            let ctx = make(c);
            drop_config(c);
            ctx
        };
        (!ctx.is_null()).then_some(Solver::Library { lib, ctx })
    }

    fn program(name: &str) -> Option<Solver> {
        let mut child = Command::new(name)
            .args(["-in", "-smt2"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let input = child.stdin.take()?;
        let output = BufReader::new(child.stdout.take()?);
        Some(Solver::Program {
            child,
            input,
            output,
        })
    }

    /// Asks; the text must not contain `reset`. The answer is everything z3 prints.
    fn ask(&mut self, text: &str) -> Option<String> {
        match self {
            Solver::Library { lib, ctx } => {
                let c = CString::new(text).ok()?;
                // SAFETY: the context is alive until drop, the text is a C string, and the answer belongs to z3 and is
                // copied before the next call.
                unsafe {
                    let eval = lib
                        .get::<unsafe extern "C" fn(Ctx, *const c_char) -> *const c_char>(
                            b"Z3_eval_smtlib2_string\0",
                        )
                        .ok()?;
                    let r = eval(*ctx, c.as_ptr());
                    if r.is_null() {
                        return None;
                    }
                    Some(CStr::from_ptr(r).to_string_lossy().into_owned())
                }
            }
            Solver::Program { input, output, .. } => {
                input.write_all(text.as_bytes()).ok()?;
                input.write_all(b"\n(echo \"deadheat-end\")\n").ok()?;
                input.flush().ok()?;
                let mut all = String::new();
                loop {
                    let mut line = String::new();
                    if output.read_line(&mut line).ok()? == 0 {
                        return None;
                    }
                    if line.trim().trim_matches('"') == "deadheat-end" {
                        return Some(all);
                    }
                    all.push_str(&line);
                }
            }
        }
    }

    /// Is the problem satisfiable? With values for `names` if it is; none if z3 does not know.
    pub fn solve(&mut self, problem: &str, names: &[String]) -> Option<Option<Vec<u64>>> {
        let text = format!(
            "(reset)\n(set-option :timeout {PATIENCE})\n(set-logic QF_BV)\n{problem}\n(check-sat)\n"
        );
        let r = self.ask(&text)?;
        let verdict = r
            .lines()
            .rev()
            .find(|l| !l.trim().is_empty())?
            .trim()
            .to_string();
        match verdict.as_str() {
            "unsat" => Some(None),
            "sat" => {
                let mut values = Vec::new();
                for n in names {
                    let v = self.ask(&format!("(get-value ({n}))"))?;
                    values.push(value(&v)?);
                }
                Some(Some(values))
            }
            _ => None,
        }
    }
}

/// `((x #x0000001f))` or `((x (_ bv31 32)))`.
fn value(text: &str) -> Option<u64> {
    if let Some(k) = text.find("#x") {
        let hex: String = text[k + 2..]
            .chars()
            .take_while(char::is_ascii_hexdigit)
            .collect();
        return u64::from_str_radix(&hex, 16).ok();
    }
    if let Some(k) = text.find("#b") {
        let bits: String = text[k + 2..]
            .chars()
            .take_while(|c| matches!(c, '0' | '1'))
            .collect();
        return u64::from_str_radix(&bits, 2).ok();
    }
    let k = text.find("bv")?;
    text[k + 2..]
        .chars()
        .take_while(char::is_ascii_digit)
        .collect::<String>()
        .parse()
        .ok()
}

impl Drop for Solver {
    fn drop(&mut self) {
        match self {
            Solver::Library { lib, ctx } => {
                // SAFETY: made by Z3_mk_context and not used afterwards.
                unsafe {
                    if let Ok(f) = lib.get::<unsafe extern "C" fn(Ctx)>(b"Z3_del_context\0") {
                        f(*ctx);
                    }
                }
            }
            Solver::Program { child, .. } => {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_z3_agree() {
        let problem = "(declare-const x (_ BitVec 32))(assert (= (bvmul x #x00000003) #x00000015))(assert (bvult x #x00000064))";
        for s in [
            LIBRARIES.iter().find_map(|l| Solver::library(l)),
            Solver::program("z3"),
        ] {
            let Some(mut s) = s else { continue };
            assert_eq!(s.solve(problem, &["x".into()]), Some(Some(vec![7])));
            let never = format!("{problem}(assert (= x #x00000008))");
            assert_eq!(s.solve(&never, &[]), Some(None));
            assert_eq!(s.solve(problem, &["x".into()]), Some(Some(vec![7])));
        }
    }
}
