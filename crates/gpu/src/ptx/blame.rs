//! Accesses inside a toolkit's header belong to the line that called it.
//!
//! Optimized code has such functions inlined, and `.loc` says where. Without optimization `atomicAdd` is a function like
//! any other, called from many places: each call then gets a copy of it that carries the call's line.

use std::collections::{HashMap, HashSet};

use super::PtxError;
use super::types::{Function, Loc, Module, Operand};

/// Copies in all; beyond that, functions keep their own lines.
const MOST: usize = 2000;
/// Functions of the toolkit are short.
const LONGEST: usize = 400;
/// Between a copy's name and its number.
pub const MARK: &str = "$at";

/// Files that nobody's program is written in.
fn toolkit_files(m: &Module) -> HashSet<u32> {
    m.files
        .iter()
        .filter(|(_, n)| {
            let name = n.rsplit('/').next().unwrap_or(n);
            name.starts_with("__nv_nvrtc")
                || n.contains("/include/")
                    && (name.ends_with(".hpp")
                        || name.contains("intrinsics")
                        || name.contains("functions")
                        || n.contains("/cooperative_groups")
                        || n.contains("/cccl/")
                        || name.starts_with("sm_")
                        || n.contains("/crt/"))
        })
        .map(|(k, _)| *k)
        .collect()
}

/// Adds the source line to what is wrong inside a function: the last `.loc` before it.
pub fn with_source(text: &str, mut e: PtxError) -> PtxError {
    let mut last = None;
    for l in text.lines().take(e.line as usize) {
        let mut words = l.split_whitespace();
        match words.next() {
            Some(".loc") => last = Some(words),
            // A function begins without one.
            Some(w) if w == ".entry" || w == ".func" || w == ".visible" => last = None,
            _ => {}
        }
    }
    let Some(mut at) = last else { return e };
    let (Some(file), Some(line), Some(column)) = (at.next(), at.next(), at.next()) else {
        return e;
    };
    let named = text.lines().find_map(|l| {
        let rest = l.trim_start().strip_prefix(".file")?.trim_start();
        let name = rest.strip_prefix(file)?.trim_start().strip_prefix('"')?;
        name.split('"').next()
    });
    if let Some(name) = named {
        let name = name.rsplit('/').next().unwrap_or(name);
        e.what.push_str(&format!(" (from {name}:{line}:{column})"));
    }
    e
}

/// Puts callers' lines on what their toolkit does for them.
pub fn callers(m: &mut Module) {
    let files = toolkit_files(m);
    for f in &mut m.functions {
        for i in &mut f.body {
            if files.contains(&i.loc.file) {
                let own = i.inlined_at.iter().find(|at| !files.contains(&at.file));
                i.loc = own.or(i.inlined_at.last()).copied().unwrap_or(i.loc);
            }
        }
    }
    let of_toolkit = |f: &Function| {
        !f.is_entry
            && !f.is_extern
            && f.body.len() <= LONGEST
            && f.body
                .iter()
                .all(|i| i.loc.line == 0 || files.contains(&i.loc.file))
    };
    let theirs: HashMap<String, usize> = m
        .functions
        .iter()
        .enumerate()
        .filter(|(_, f)| of_toolkit(f))
        .map(|(k, f)| (f.name.clone(), k))
        .collect();
    if theirs.is_empty() {
        return;
    }
    // Copies stand at the end and are visited, too: a wrapper may call another one.
    let mut at = 0;
    let mut copies = 0;
    while at < m.functions.len() {
        let own = !theirs.contains_key(&m.functions[at].name);
        if own {
            for (i, a, callee, loc) in calls(&m.functions[at], &theirs) {
                if copies == MOST {
                    return;
                }
                copies += 1;
                let mut copy = m.functions[callee].clone();
                copy.name = format!("{}{MARK}{copies}", copy.name);
                for x in &mut copy.body {
                    x.loc = loc;
                }
                m.functions[at].body[i].args[a] = Operand::Sym(copy.name.clone(), 0);
                m.functions.push(copy);
            }
        }
        at += 1;
    }
}

/// Calls of the toolkit's functions with a known line: instruction, operand, callee, line.
fn calls(f: &Function, theirs: &HashMap<String, usize>) -> Vec<(usize, usize, usize, Loc)> {
    let mut out = Vec::new();
    for (i, x) in f.body.iter().enumerate() {
        if x.op != "call" || x.loc.line == 0 {
            continue;
        }
        for (a, arg) in x.args.iter().enumerate() {
            if let Operand::Sym(name, 0) = arg
                && let Some(k) = theirs.get(name)
            {
                out.push((i, a, *k, x.loc));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_cannot_be_read_is_named_with_its_source_line() {
        let text = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n\
            .loc 1 12 7\nfoo.bar [%r1, ;\nret;\n}\n.file 1 \"/src/k.cu\"\n";
        let e = crate::ptx::parse(text).expect_err("cannot be read");
        assert_eq!(e.line, 7);
        assert!(e.what.ends_with("(from k.cu:12:7)"), "{e}");
    }
}
