//! The command line that the real compiler gets.

use super::args::{CommandLine, Output, classify};
use super::compiler::{Compiler, Family};
use crate::error::Result;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The files of the unpacked runtime that a command line names.
pub trait Runtime {
    /// The archive for programs that load their C library.
    fn archive(&self) -> &Path;
    /// The archive for static programs, which wraps instead of interposing.
    fn wrap_archive(&self) -> &Path;
    /// A response file with one `--wrap` for each function that the second archive wraps.
    fn wrap_flags(&self) -> &Path;
    /// The symbols an executable exports for libraries that are loaded later.
    fn exports(&self) -> &Path;
    /// The specs file that makes gcc's cc1 instrument.
    fn gcc_specs(&self) -> &Path;
    /// The object with the collector's path and the note that says "built with Deadheat".
    fn stamp(&self) -> &Path;
}

/// What is to be run.
#[derive(Debug, PartialEq, Eq)]
pub struct Plan {
    /// What it makes.
    pub output: Output,
    /// The compiler's arguments.
    pub args: Vec<OsString>,
}

/// Turns a user's command line into the one that instruments and links the runtime.
pub fn plan(compiler: &Compiler, args: &[OsString], runtime: &dyn Runtime) -> Result<Plan> {
    let line = classify(args)?;
    let mut out = Vec::with_capacity(line.args.len() + 24);
    if line.instrument && line.output != Output::Answer {
        instrument(compiler.family, &line, runtime, &mut out);
    }
    finish(Some(compiler.family), line, args, out, runtime)
}

/// The same for a command line that only links.
pub fn link_plan(args: &[OsString], runtime: &dyn Runtime) -> Result<Plan> {
    let line = classify(args)?;
    finish(None, line, args, Vec::new(), runtime)
}

/// `family` is that of the compiler, for a command line that compiles.
fn finish(
    family: Option<Family>,
    line: CommandLine,
    args: &[OsString],
    mut out: Vec<OsString>,
    runtime: &dyn Runtime,
) -> Result<Plan> {
    if line.output == Output::Answer {
        return Ok(Plan {
            output: line.output,
            args: args.to_vec(),
        });
    }
    if line.instrument && matches!(line.output, Output::Executable | Output::StaticExecutable) {
        link(line.output, runtime, &mut out);
    }
    let after = behind(family, &line);
    let end = line
        .args
        .iter()
        .position(|a| a == "--")
        .unwrap_or(line.args.len());
    out.extend_from_slice(&line.args[..end]);
    out.extend(after.iter().map(OsString::from));
    out.extend_from_slice(&line.args[end..]);
    Ok(Plan {
        output: line.output,
        args: out,
    })
}

/// Keeps clang from loading whole vectors where a loop reads every other element: what lies between is not read by the program.
const NO_GAPS: [&str; 4] = [
    "-Xclang",
    "-mllvm",
    "-Xclang",
    "-enable-interleaved-mem-accesses=false",
];

/// Functions for which gcc knows better code than a call, and does not instrument that: calls of them are seen.
const UNSEEN_IN_LINE: [&str; 33] = [
    "bcmp",
    "bcopy",
    "bzero",
    "index",
    "memchr",
    "memcmp",
    "memcpy",
    "memmove",
    "mempcpy",
    "memset",
    "rindex",
    "snprintf",
    "sprintf",
    "stpcpy",
    "stpncpy",
    "strcasecmp",
    "strcat",
    "strchr",
    "strcmp",
    "strcpy",
    "strcspn",
    "strdup",
    "strlen",
    "strncasecmp",
    "strncat",
    "strncmp",
    "strncpy",
    "strndup",
    "strnlen",
    "strpbrk",
    "strrchr",
    "strspn",
    "strstr",
];

/// What makes the compiler proper instrument. It stands first, so that what the user says later wins.
fn instrument(family: Family, line: &CommandLine, runtime: &dyn Runtime, out: &mut Vec<OsString>) {
    match family {
        Family::Gcc => {
            out.push(joined("-specs=", runtime.gcc_specs()));
            out.push("-Wno-tsan".into()); // "fences are not supported": here they are
            out.extend(UNSEEN_IN_LINE.map(|name| format!("-fno-builtin-{name}").into()));
        }
        Family::Clang => {
            out.extend(["-Xclang".into(), "-fsanitize=thread".into()]);
            out.extend(NO_GAPS.map(OsString::from));
            for define in minimum_and_maximum() {
                out.extend(["-Xclang".into(), define.into()]);
            }
        }
    }
    if !line.assembles {
        out.push("-g".into());
    }
    out.push("-fno-omit-frame-pointer".into());
    // Where deadheat.h is, after all folders of the user's.
    if let Some(dir) = runtime.gcc_specs().parent() {
        out.extend(["-idirafter".into(), dir.into()]);
    }
}

/// LLVM leaves the atomic minimum and maximum uninstrumented, so clang's built-in functions for them become loops around a
/// compare-and-exchange, which it does instrument. In C and C++ alike.
fn minimum_and_maximum() -> Vec<String> {
    let define = |name: &str, better: char, load: &str, exchange: &str, result: &str| {
        format!(
            "-D{name}(p,v,o)=__extension__({{__typeof__(&*(p)) __dh_p=(p);__typeof__({load}(p,0)) \
             __dh_o={load}(__dh_p,0),__dh_v=(v),__dh_n;do __dh_n=__dh_o{better}__dh_v?__dh_o:__dh_v;\
             while(!{exchange}o,0));{result};}})"
        )
    };
    let mut out = Vec::new();
    for (name, better) in [("max", '>'), ("min", '<')] {
        let c11 = "__c11_atomic_compare_exchange_weak(__dh_p,&__dh_o,__dh_n,";
        let gnu = "__atomic_compare_exchange_n(__dh_p,&__dh_o,__dh_n,1,";
        let load = ("__c11_atomic_load", "__atomic_load_n");
        let fetch = format!("__c11_atomic_fetch_{name}");
        out.push(define(&fetch, better, load.0, c11, "__dh_o"));
        let fetch = format!("__atomic_fetch_{name}");
        out.push(define(&fetch, better, load.1, gnu, "__dh_o"));
        let fetch = format!("__atomic_{name}_fetch");
        out.push(define(&fetch, better, load.1, gnu, "__dh_n"));
    }
    out
}

/// What makes an executable carry the runtime.
fn link(output: Output, runtime: &dyn Runtime, out: &mut Vec<OsString>) {
    let linker = |out: &mut Vec<OsString>, word: OsString| out.extend(["-Xlinker".into(), word]);
    out.extend(["-Xlinker", "-u", "-Xlinker", "__tsan_init"].map(OsString::from));
    if output == Output::StaticExecutable {
        out.push(joined("@", runtime.wrap_flags()));
        out.push(runtime.wrap_archive().into());
    } else {
        linker(out, joined("--dynamic-list=", runtime.exports()));
        out.push(runtime.archive().into());
    }
    out.push(runtime.stamp().into());
}

/// What has to stand behind the user's own arguments.
fn behind(family: Option<Family>, line: &CommandLine) -> Vec<&'static str> {
    let mut out = Vec::new();
    if family == Some(Family::Gcc) && line.instrument {
        // Headers that check sizes spell copies as gcc's own functions, whose code in line is not instrumented.
        out.push("-Wp,-U_FORTIFY_SOURCE");
    }
    match line.output {
        Output::SharedLibrary if line.instrument && line.refuses_undefined => {
            out.push("-Wl,-z,undefs")
        }
        Output::Executable | Output::StaticExecutable if line.instrument && !line.own_libraries => {
            out.extend(["-lpthread", "-ldl"]);
            if line.output == Output::StaticExecutable {
                out.push("-lm"); // what the runtime stands before must be there
            }
        }
        _ => {}
    }
    out
}

fn joined(prefix: &str, path: &Path) -> OsString {
    let mut word = OsString::from(prefix);
    word.push::<&OsStr>(path.as_ref());
    word
}
