//! Where the standard library cannot be instrumented: a few of its functions, followed from outside.
//!
//! The fast paths of std's locks are inlined into the program and seen there. What is not seen lies behind a handful of
//! functions that do not depend on the program's types: the slow path of a lock, waiting for a condition, `Once`, the end
//! of a scoped thread. The linker is told to send the program's calls of these to a function of ours (`--wrap`) that tells
//! the runtime what they order, and calls the real one. Calls from inside the standard library stay as they are, which
//! is why this is second best: `park` and the locks of stdin and stdout are not followed.
//!
//! The functions are found by their names in the library itself, so a version that lacks one just lacks its shim.

use crate::archive;
use crate::error::{Error, Result};
use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// A place that a call orders: which argument points to it, and how far behind that it lies.
type Place = (usize, usize);

/// What a function does, as far as order goes.
struct Law {
    /// The end of its path, without generic brackets.
    path: &'static str,
    /// Released before the call.
    releases: &'static [Place],
    /// Acquired after it.
    acquires: &'static [Place],
    /// The argument that is a closure (data, then table), whose end releases the first argument.
    closure: Option<usize>,
}

const fn law(path: &'static str, releases: &'static [Place], acquires: &'static [Place]) -> Law {
    Law {
        path,
        releases,
        acquires,
        closure: None,
    }
}

const LAWS: [Law; 9] = [
    law("mutex::futex::Mutex::lock_contended", &[], &[(0, 0)]),
    // Which of its two words is the state is the compiler's choice.
    law(
        "rwlock::futex::RwLock::read_contended",
        &[],
        &[(0, 0), (0, 4)],
    ),
    law(
        "rwlock::futex::RwLock::write_contended",
        &[],
        &[(0, 0), (0, 4)],
    ),
    law("condvar::futex::Condvar::wait", &[(1, 0)], &[(1, 0)]),
    law(
        "condvar::futex::Condvar::wait_timeout",
        &[(1, 0)],
        &[(1, 0)],
    ),
    law("once::futex::Once::wait", &[], &[(0, 0)]),
    law("barrier::Barrier::wait", &[(0, 0)], &[(0, 0)]),
    // A counter, a flag and a pointer, in some order; the scope reads the counter.
    law(
        "scoped::ScopeData::decrement_num_running_threads",
        &[(0, 0), (0, 8), (0, 16)],
        &[],
    ),
    Law {
        path: "once::futex::Once::call",
        releases: &[],
        acquires: &[(0, 0)],
        closure: Some(2),
    },
];

/// Assembler for some functions of a standard library, and what the linker has to be told.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shims {
    /// The symbols that are followed.
    pub symbols: Vec<String>,
    /// The functions that stand before them.
    pub assembler: String,
}

/// Makes shims for what there is in an rlib.
pub fn make(rlib: &[u8]) -> Result<Shims> {
    let mut shims = Shims::default();
    for member in archive::read(rlib)? {
        for symbol in archive::defined(&member.data) {
            let Ok(symbol) = String::from_utf8(symbol) else {
                continue;
            };
            let path = path(&symbol);
            if let Some(law) = LAWS.iter().find(|law| ends_with(&path, law.path)) {
                shims.assembler.push_str(&function(&symbol, law));
                shims.symbols.push(symbol);
            }
        }
    }
    if !shims.symbols.is_empty() {
        shims.assembler.insert_str(0, HEAD);
        shims.assembler.push_str(CLOSURE);
        shims.assembler.push_str(SILENCE);
    }
    Ok(shims)
}

/// The arguments for a C compiler that links with some assembler made here.
pub fn link_arguments(path: &Path) -> Result<Vec<OsString>> {
    let text = fs::read_to_string(path).map_err(|error| Error::at(path, "read", &error))?;
    let symbols = text.lines().filter_map(|line| line.strip_prefix(DECLARED));
    let mut out: Vec<OsString> = symbols
        .map(|symbol| format!("-Wl,--wrap={symbol}").into())
        .collect();
    out.push(path.into());
    Ok(out)
}

/// A symbol's path without hashes and brackets: `std::sys::sync::mutex::futex::Mutex::lock_contended`.
fn path(symbol: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(symbol)).replace(['<', '>'], "")
}

/// Whether a path ends in some names, and not in a longer first one.
fn ends_with(path: &str, names: &str) -> bool {
    path.strip_suffix(names)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with("::"))
}

/// How each function is declared.
const DECLARED: &str = ".globl __wrap_";

const HEAD: &str = "\
.intel_syntax noprefix
.section .note.GNU-stack,\"\",@progbits
.text
";

/// Six registers hold the arguments, kept below the frame's base; two more places keep the result.
const ARGUMENTS: [&str; 6] = ["rdi", "rsi", "rdx", "rcx", "r8", "r9"];

fn slot(number: usize) -> usize {
    8 * (number + 1)
}

/// The function before a function.
fn function(symbol: &str, law: &Law) -> String {
    let mut out = String::new();
    let mut line = |text: std::fmt::Arguments<'_>| {
        let _ = out.write_fmt(text); // a String takes everything
        out.push('\n');
    };
    line(format_args!("{DECLARED}{symbol}"));
    line(format_args!(".type __wrap_{symbol}, @function"));
    line(format_args!("__wrap_{symbol}:"));
    line(format_args!("{FRAME}    sub rsp, 96"));
    for (number, register) in ARGUMENTS.iter().enumerate() {
        line(format_args!("    mov [rbp - {}], {register}", slot(number)));
    }
    for (argument, offset) in law.releases {
        line(format_args!("    mov rdi, [rbp - {}]", slot(*argument)));
        line(format_args!("    add rdi, {offset}"));
        line(format_args!("    call __tsan_release@PLT"));
    }
    for (number, register) in ARGUMENTS.iter().enumerate() {
        line(format_args!("    mov {register}, [rbp - {}]", slot(number)));
    }
    if let Some(data) = law.closure {
        // A closure of three words in the frame: what to release, and the real closure's two.
        let table = data + 1;
        line(format_args!("    mov [rbp - 96], rdi"));
        line(format_args!("    mov [rbp - 88], {}", ARGUMENTS[data]));
        line(format_args!("    mov [rbp - 80], {}", ARGUMENTS[table]));
        line(format_args!("    lea {}, [rbp - 96]", ARGUMENTS[data]));
        line(format_args!(
            "    lea {}, [rip + .Ldeadheat_table]",
            ARGUMENTS[table]
        ));
    }
    line(format_args!("    call __real_{symbol}@PLT"));
    line(format_args!("    mov [rbp - 56], rax"));
    line(format_args!("    mov [rbp - 64], rdx"));
    for (argument, offset) in law.acquires {
        line(format_args!("    mov rdi, [rbp - {}]", slot(*argument)));
        line(format_args!("    add rdi, {offset}"));
        line(format_args!("    call __tsan_acquire@PLT"));
    }
    line(format_args!("    mov rax, [rbp - 56]"));
    line(format_args!("    mov rdx, [rbp - 64]"));
    line(format_args!("{RETURN}"));
    line(format_args!(".size __wrap_{symbol}, . - __wrap_{symbol}"));
    out
}

const FRAME: &str = "\
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 16
    .cfi_offset rbp, -16
    mov rbp, rsp
    .cfi_def_cfa_register rbp
";

const RETURN: &str = "\
    leave
    .cfi_def_cfa rsp, 8
    ret
    .cfi_endproc";

/// What `Once` calls instead of the program's closure: that closure, and then the release, before anybody can see that it
/// is complete. A table of a `dyn FnMut` has drop, size, alignment, `call_once` and `call_mut`.
const CLOSURE: &str = "\
.type .Ldeadheat_closure, @function
.Ldeadheat_closure:
    .cfi_startproc
    push rbp
    .cfi_def_cfa_offset 16
    .cfi_offset rbp, -16
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    push rbx
    .cfi_offset rbx, -24
    sub rsp, 8
    mov rbx, rdi
    mov rdi, [rbx + 8]
    mov rax, [rbx + 16]
    call [rax + 32]
    mov rdi, [rbx]
    call __tsan_release@PLT
    mov rbx, [rbp - 8]
    leave
    .cfi_def_cfa rsp, 8
    ret
    .cfi_endproc
.section .data.rel.ro,\"aw\",@progbits
.balign 8
.Ldeadheat_table:
    .quad 0, 24, 8, .Ldeadheat_closure, .Ldeadheat_closure
";

/// The table of stack guards is under a lock inside the library, so all that is seen of it are copies of its entries by the
/// C library's functions. A program that has such a list of its own keeps it.
const SILENCE: &str = "\
.text
.weak __tsan_default_suppressions
.type __tsan_default_suppressions, @function
__tsan_default_suppressions:
    lea rax, [rip + .Ldeadheat_silence]
    ret
.section .rodata
.Ldeadheat_silence:
    .asciz \"race:std::sys::pal::unix::stack_overflow::\\n\"
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_their_paths_in_both_manglings() {
        let new = "_RNvMNtNtNtNtCsjrHSEGnQ3l9_3std3sys4sync5mutex5futexNtB2_5Mutex14lock_contended";
        let old = "_ZN3std3sys4sync5mutex5futex5Mutex14lock_contended17h0123456789abcdefE";
        for symbol in [new, old] {
            let path = path(symbol);
            assert!(ends_with(&path, LAWS[0].path), "{path}");
            assert!(!LAWS[1..].iter().any(|law| ends_with(&path, law.path)));
        }
        assert!(!ends_with("std::Condvar::wait_timeout", "Condvar::wait"));
        assert!(!ends_with("std::MyMutex::lock", "Mutex::lock"));
    }

    #[test]
    fn nothing_is_made_of_nothing() {
        let empty = archive::write(&[]);
        assert_eq!(make(&empty).expect("reads"), Shims::default());
    }
}
