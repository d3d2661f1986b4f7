//! PTX with the paper's tables built in, for people who have a GPU.
//!
//! Before every access to shared memory a call records it; after every barrier the epoch moves on (`addr`) or the
//! statement table is compared (`stmt`). The tables' code is `runtime.ptx`, spliced in as text. Results are in the
//! global variable `dh_report`: a count, a count of lost ones, and rows of kind, first site, second site, address,
//! thread and other warp. Sites are listed in comments at the top of the output.

use std::fmt::Write as _;

use crate::check::Scheme;
use crate::machine::{Loaded, Memory};
use crate::ptx::{
    Base, Function, Instr, Loc, Module, Operand, PtxError, Space, Ty, parse_as_written,
};

const RUNTIME: &str = include_str!("runtime.ptx");
/// Shared memory that every GPU gives a block without being asked.
const SHARED_LIMIT: u64 = 48 << 10;

/// The new text and what its site numbers mean.
#[derive(Debug)]
pub struct Instrumented {
    pub text: String,
    pub sites: Vec<Loc>,
    /// The warp table is in device memory because shared memory is full.
    pub table_in_device_memory: bool,
}

/// Rows of `dh_report`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub same_instruction: bool,
    pub first: u32,
    pub second: Option<u32>,
    pub addr: u32,
    pub thread: u32,
    pub other_warp: u32,
}

struct Writer<'a> {
    f: &'a Function,
    module: &'a Module,
    scheme: Scheme,
    in_shared: bool,
    sites: Vec<Loc>,
    labels: u32,
}

/// Instruments the kernels of a module, or only the one named.
///
/// # Errors
/// PTX that cannot be read, or a shape that the scheme cannot record, with its line.
pub fn instrument(
    text: &str,
    scheme: Scheme,
    only: Option<&str>,
) -> Result<Instrumented, PtxError> {
    let module = parse_as_written(text)?;
    let wanted = |f: &Function| match only {
        Some(k) if f.is_entry => f.name == k || crate::frontend::names::short(&f.name) == k,
        _ => true,
    };
    if let Some(k) = only
        && !module.kernels().any(wanted)
    {
        return Err(PtxError::new(1, format!("no kernel `{k}`")));
    }
    let shared: u64 = module
        .globals
        .iter()
        .filter(|v| v.space == Space::Shared)
        .map(|v| v.size)
        .sum();
    let in_shared = shared + 4096 <= SHARED_LIMIT;
    let mut before: Vec<String> = vec![String::new(); text.lines().count() + 2];
    let mut after = before.clone();
    let mut sites = Vec::new();
    for f in module
        .functions
        .iter()
        .filter(|f| !f.is_extern && wanted(f))
    {
        let mut w = Writer {
            f,
            module: &module,
            scheme,
            in_shared,
            sites,
            labels: f.line,
        };
        w.function(&mut before, &mut after)?;
        sites = w.sites;
    }
    let mut out = String::new();
    let _ = writeln!(
        out,
        "// instrumented by deadheat gpu: results are in dh_report"
    );
    for (k, l) in sites.iter().enumerate() {
        let _ = writeln!(
            out,
            "// dh-site {k} {}:{}:{}",
            module.file(l.file),
            l.line,
            l.column
        );
    }
    let mut spliced = false;
    for (k, line) in text.lines().enumerate() {
        out.push_str(&before[k + 1]);
        let word = line.split_whitespace().next().unwrap_or("");
        if word == ".version" {
            let v = module.version.max((6, 3));
            let _ = writeln!(out, ".version {}.{}", v.0, v.1);
        } else {
            out.push_str(line);
            out.push('\n');
        }
        if word == ".address_size" && !spliced {
            spliced = true;
            let table = if in_shared {
                RUNTIME.to_string()
            } else {
                RUNTIME.replace("dh_warp_table[4096]", "dh_warp_table[4]")
            };
            out.push_str(&table);
        }
        out.push_str(&after[k + 1]);
    }
    if !spliced {
        return Err(PtxError::new(
            1,
            "no .address_size: this is not PTX as compilers write it",
        ));
    }
    // What comes out must still be PTX.
    parse_as_written(&out)?;
    Ok(Instrumented {
        text: out,
        sites,
        table_in_device_memory: !in_shared,
    })
}

impl Writer<'_> {
    fn function(&mut self, before: &mut [String], after: &mut [String]) -> Result<(), PtxError> {
        let f = self.f;
        let calls_out = !f.is_entry;
        let mut lines = std::collections::HashSet::new();
        let mut first = true;
        for i in &f.body {
            let at = i.line as usize;
            if first && f.is_entry {
                first = false;
                let _ = write!(
                    before[at],
                    "\t.reg .b32 %dh_epoch;\n\t{{\n\t.param .b32 dh_e;\n\tcall.uni (dh_e), dh_begin, ();\n\tld.param.b32 %dh_epoch, [dh_e+0];\n\t}}\n"
                );
            }
            let interesting = self.kind(i).is_some()
                || self.is_barrier(i)
                || (f.is_entry && matches!(i.op.as_str(), "ret" | "exit"));
            if !interesting {
                continue;
            }
            if !lines.insert(i.line) {
                return Err(PtxError::new(
                    i.line,
                    "two statements on one line cannot be instrumented; reformat the PTX",
                ));
            }
            if calls_out {
                if self.is_barrier(i) || self.shared(i) {
                    return Err(PtxError::new(
                        i.line,
                        format!(
                            "`{}` uses shared memory or barriers and was not inlined; compile with inlining",
                            f.name
                        ),
                    ));
                }
                continue;
            }
            // Shared memory and order that the tables know nothing of.
            if matches!(
                i.op.as_str(),
                "cp" | "mbarrier" | "wmma" | "ldmatrix" | "stmatrix"
            ) {
                return Err(PtxError::new(
                    i.line,
                    format!(
                        "`{}` cannot be instrumented; use: deadheat gpu check",
                        i.text()
                    ),
                ));
            }
            if self.is_barrier(i) {
                if i.args.len() > 1 || i.has("arrive") {
                    return Err(PtxError::new(
                        i.line,
                        "named barriers cannot be instrumented; use: deadheat gpu check",
                    ));
                }
                if self.scheme == Scheme::Stmt {
                    after[at].push_str("\tcall.uni dh_compare, ();\n\tbar.sync 0;\n\tcall.uni dh_clear, ();\n\tbar.sync 0;\n");
                }
                after[at].push_str("\tadd.u32 %dh_epoch, %dh_epoch, 1;\n");
            } else if matches!(i.op.as_str(), "ret" | "exit") {
                let body = "\tcall.uni dh_finish, ();\n".to_string();
                self.guarded(i, body, &mut before[at]);
            } else {
                let text = self.access(i)?;
                self.guarded(i, text, &mut before[at]);
            }
        }
        Ok(())
    }

    fn is_barrier(&self, i: &Instr) -> bool {
        matches!(i.op.as_str(), "bar" | "barrier") && !i.has("warp")
    }

    fn shared(&self, i: &Instr) -> bool {
        self.kind(i).is_some() && i.mods.iter().any(|m| m.starts_with("shared"))
    }

    /// 0 read, 1 write, 2 atomic, for accesses that may be to shared memory.
    fn kind(&self, i: &Instr) -> Option<u32> {
        let other = ["global", "local", "const", "param"];
        if i.mods
            .iter()
            .any(|m| other.contains(&m.split("::").next().unwrap_or("")))
        {
            return None;
        }
        match i.op.as_str() {
            "ld" => Some(0),
            "st" => Some(1),
            "atom" | "red" => Some(2),
            _ => None,
        }
    }

    /// Jumps over `body` when the instruction's guard is false.
    fn guarded(&mut self, i: &Instr, body: String, out: &mut String) {
        match i.guard {
            None => out.push_str(&body),
            Some((r, neg)) => {
                self.labels += 1;
                let label = format!("$dh_over_{}_{}", self.f.line, self.labels + i.line * 64);
                let name = &self.f.regs[r.0 as usize].0;
                let _ = writeln!(out, "\t@{}{name} bra {label};", if neg { "" } else { "!" });
                out.push_str(&body);
                let _ = writeln!(out, "{label}:");
            }
        }
    }

    fn access(&mut self, i: &Instr) -> Result<String, PtxError> {
        let kind = self.kind(i).unwrap_or(0);
        let ty = i.ty().unwrap_or(Ty::B32);
        let n = i
            .args
            .iter()
            .find_map(|a| {
                if let Operand::Vec(v) = a {
                    Some(v.len() as u32)
                } else {
                    None
                }
            })
            .unwrap_or(1);
        let bytes = ty.bytes() * n;
        if ty.bytes() < 4 && self.scheme == Scheme::Addr {
            return Err(PtxError::new(
                i.line,
                "the address table has one entry per four bytes; use --scheme stmt for this kernel",
            ));
        }
        let Some(Operand::Mem(base, off)) = i.args.iter().find(|a| matches!(a, Operand::Mem(..)))
        else {
            return Err(PtxError::new(i.line, "no address"));
        };
        let generic = !i.mods.iter().any(|m| m.starts_with("shared"));
        let mut s =
            String::from("\t{\n\t.reg .b32 %dh_a;\n\t.reg .b64 %dh_d;\n\t.reg .pred %dh_q;\n");
        self.labels += 1;
        let over = format!("$dh_over_{}_{}", self.f.line, self.labels + i.line * 64);
        match base {
            Base::Reg(r) => {
                let (name, ty) = &self.f.regs[r.0 as usize];
                if ty.bytes() == 8 {
                    let _ = writeln!(s, "\tadd.s64 %dh_d, {name}, {off};");
                    if generic {
                        let _ = writeln!(
                            s,
                            "\tisspacep.shared %dh_q, %dh_d;\n\t@!%dh_q bra {over};\n\tcvta.to.shared.u64 %dh_d, %dh_d;"
                        );
                    }
                    s.push_str("\tcvt.u32.u64 %dh_a, %dh_d;\n");
                } else {
                    let _ = writeln!(s, "\tadd.s32 %dh_a, {name}, {off};");
                }
            }
            Base::Sym(sym) => {
                let known = self
                    .module
                    .globals
                    .iter()
                    .any(|v| v.name == *sym && v.space == Space::Shared);
                if !known {
                    return Ok(String::new());
                }
                let plain = sym.rsplit("::").next().unwrap_or(sym);
                let _ = writeln!(
                    s,
                    "\tmov.u64 %dh_d, {plain};\n\tadd.s64 %dh_d, %dh_d, {off};\n\tcvt.u32.u64 %dh_a, %dh_d;"
                );
            }
            Base::Var(_) | Base::None => return Ok(String::new()),
        }
        let site = self.sites.len();
        self.sites.push(i.loc);
        let target = match (self.scheme, kind) {
            (Scheme::Stmt, _) => "dh_stmt",
            (_, 0) => "dh_addr",
            _ => "dh_addr_write",
        };
        for word in 0..bytes.div_ceil(4) {
            if word > 0 {
                s.push_str("\tadd.s32 %dh_a, %dh_a, 4;\n");
            }
            s.push_str("\t{\n\t.param .b32 dh_0;\n\t.param .b32 dh_1;\n\t.param .b32 dh_2;\n\t.param .b32 dh_3;\n\t.param .b32 dh_4;\n");
            let _ = write!(
                s,
                "\tst.param.b32 [dh_0+0], %dh_a;\n\tst.param.b32 [dh_1+0], {site};\n\tst.param.b32 [dh_2+0], {kind};\n\tst.param.b32 [dh_3+0], %dh_epoch;\n\tst.param.b32 [dh_4+0], {};\n",
                u32::from(self.in_shared)
            );
            let _ = write!(
                s,
                "\tcall.uni {target}, (dh_0, dh_1, dh_2, dh_3, dh_4);\n\t}}\n"
            );
        }
        if generic && matches!(base, Base::Reg(_)) {
            let _ = writeln!(s, "{over}:");
        }
        s.push_str("\t}\n");
        Ok(s)
    }
}

/// Reads `dh_report` after a run on our machine.
pub fn report(loaded: &Loaded, memory: &Memory) -> Vec<Row> {
    let Some(&at) = loaded.symbols.get("dh_report") else {
        return Vec::new();
    };
    let word = |k: u64| {
        memory
            .read(at + 4 * k, 4)
            .map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    };
    let n = word(0).min(4096);
    (0..u64::from(n))
        .map(|k| {
            let r = |j: u64| word(2 + 6 * k + j);
            Row {
                same_instruction: r(0) == 0,
                first: r(1),
                second: Some(r(2)).filter(|s| *s != u32::MAX),
                addr: r(3),
                thread: r(4),
                other_warp: r(5),
            }
        })
        .collect()
}
