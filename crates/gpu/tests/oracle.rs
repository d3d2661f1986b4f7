//! Our reader of PTX against another one (`ptx-syntax`): on everything that clang and nvcc make of the corpus both must
//! see the same functions, labels and instructions.

#[path = "common/mod.rs"]
mod common;

use std::collections::BTreeMap;

use deadheat_gpu::frontend::compile::{libclc, to_ptx};
use ptx_syntax::r#type::{FunctionBody, FunctionStatement, ModuleDirective};

/// What both know of a function.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    parameters: usize,
    labels: Vec<String>,
    /// Opcodes as written, with guards.
    instructions: Vec<String>,
}

/// The opcode of an instruction's text, and whether it has a guard.
fn opcode(text: &str) -> String {
    let text = text.trim();
    let (guard, rest) = match text.strip_prefix('@') {
        Some(r) => ("@", r.split_once(char::is_whitespace).map_or("", |x| x.1)),
        None => ("", text),
    };
    let end = rest
        .find(|c: char| c.is_whitespace() || c == ';')
        .unwrap_or(rest.len());
    format!("{guard}{}", &rest[..end])
}

fn walk(text: &str, statements: &[FunctionStatement], out: &mut Seen) {
    for s in statements {
        match s {
            FunctionStatement::Label { label, .. } => out.labels.push(label.val.clone()),
            FunctionStatement::Instruction { span, .. } => {
                out.instructions.push(opcode(&text[span.start..span.end]));
            }
            FunctionStatement::Block { statements, .. } => walk(text, statements, out),
            FunctionStatement::Directive { .. } => {}
        }
    }
}

fn theirs(text: &'static str) -> Result<BTreeMap<String, Seen>, String> {
    let module = ptx_syntax::run_with_large_stack(move || ptx_syntax::parse_ptx(text))
        .map_err(|e| format!("{e:?}"))?;
    let mut out = BTreeMap::new();
    let mut add = |name: &str, parameters: usize, body: &Option<FunctionBody>| {
        if let Some(b) = body {
            let mut seen = Seen {
                parameters,
                ..Seen::default()
            };
            walk(text, &b.statements, &mut seen);
            seen.labels.sort();
            out.insert(name.to_string(), seen);
        }
    };
    for d in &module.directives {
        match d {
            ModuleDirective::EntryFunction { directive: f, .. } => {
                add(&f.name.val, f.params.len(), &f.body);
            }
            ModuleDirective::FuncFunction { directive: f, .. } => {
                add(&f.name.val, f.params.len(), &f.body);
            }
            _ => {}
        }
    }
    Ok(out)
}

fn ours(text: &str) -> BTreeMap<String, Seen> {
    let module = deadheat_gpu::ptx::parse_as_written(text).expect("our reader");
    module
        .functions
        .iter()
        .filter(|f| !f.is_extern)
        .map(|f| {
            let mut labels: Vec<String> = f.labels.keys().cloned().collect();
            labels.sort();
            let instructions = f
                .body
                .iter()
                .map(|i| format!("{}{}", if i.guard.is_some() { "@" } else { "" }, i.text()))
                .collect();
            let seen = Seen {
                parameters: f.params.len(),
                labels,
                instructions,
            };
            (f.name.clone(), seen)
        })
        .collect()
}

/// Compares both on a text; false if the other one cannot read it.
fn compare(what: &str, text: String) -> bool {
    let text: &'static str = Box::leak(text.into_boxed_str());
    match theirs(text) {
        Ok(them) => {
            let us = ours(text);
            assert_eq!(
                us.keys().collect::<Vec<_>>(),
                them.keys().collect::<Vec<_>>(),
                "{what}"
            );
            for (name, mine) in &us {
                let other = &them[name];
                assert_eq!(mine.parameters, other.parameters, "{what}: {name}");
                assert_eq!(mine.labels, other.labels, "{what}: {name}");
                for (k, (a, b)) in mine
                    .instructions
                    .iter()
                    .zip(&other.instructions)
                    .enumerate()
                {
                    assert_eq!(a, b, "{what}: {name}, instruction {k}");
                }
                assert_eq!(
                    mine.instructions.len(),
                    other.instructions.len(),
                    "{what}: {name}"
                );
            }
            true
        }
        Err(e) => {
            ours(text);
            println!("{what}: the oracle cannot read it ({e})");
            false
        }
    }
}

#[test]
fn both_readers_see_the_same() {
    let ends: &[&str] = if libclc().is_some() {
        &["cu", "cl"]
    } else {
        &["cu"]
    };
    let mut sources = common::files(&common::corpus(), ends);
    sources.extend(common::files(&common::corpus().join("paper"), &["cu"]));
    let (mut all, mut read) = (0, 0);
    for f in &sources {
        let ptx = to_ptx(f, &Default::default()).expect("compiles");
        all += 1;
        read += usize::from(compare(&f.display().to_string(), ptx));
    }
    if let Some(tools) = common::nvidia() {
        let out = std::env::temp_dir().join(format!("deadheat-oracle-{}.ptx", std::process::id()));
        for f in sources
            .iter()
            .filter(|f| f.extension().is_some_and(|e| e == "cu"))
        {
            for level in ["-O0", "-O3"] {
                let o = std::process::Command::new(tools.join("bin/nvcc"))
                    .args(["-ptx", "-arch=compute_80", "-lineinfo", "-Xcicc", level])
                    .arg(f)
                    .arg("-o")
                    .arg(&out)
                    .output()
                    .expect("nvcc");
                assert!(
                    o.status.success(),
                    "{}: {}",
                    f.display(),
                    String::from_utf8_lossy(&o.stderr)
                );
                let ptx = std::fs::read_to_string(&out).expect("PTX");
                all += 1;
                read += usize::from(compare(&format!("{} by nvcc {level}", f.display()), ptx));
            }
        }
        let _ = std::fs::remove_file(&out);
    }
    println!("{read} of {all} texts compared");
    assert!(read * 2 >= all, "the oracle read only {read} of {all}");
}
