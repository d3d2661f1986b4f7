//! One file checked: compile, load, analyze, run, collect findings.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use deadheat_model::{CheckedLaunch, Finding, FindingKind, Loss, Program as Under, Report};
use deadheat_report::{GpuRun, Suppressions};

use crate::check::{self, Checked, Monitor, Options, Scheme};
use crate::machine::texture::{Channel, Texels, Texture};
use crate::machine::{Launch, Loaded, Memory, Program};
use crate::ptx::Ty;

use super::ToolError;
use super::compile::{CompileOptions, to_ptx};
use super::finding::{Scene, explained, findings, lines, same};
use super::launch::{Arg, Elem, Init, LaunchSpec, fill};
use super::names::{pointer_params, short};

/// Everything that a check wants to know.
#[derive(Clone, Debug)]
pub struct CheckOptions {
    pub file: PathBuf,
    pub launches: Vec<LaunchSpec>,
    pub options: Options,
    pub workers: usize,
    pub step_limit: u64,
    /// Run the static analyzer first.
    pub analyze: bool,
    /// Run the kernel at all.
    pub execute: bool,
    pub compile: CompileOptions,
    /// Show writes of the same value too.
    pub uniform_writes: bool,
}

impl CheckOptions {
    pub fn new(file: impl Into<PathBuf>) -> Self {
        CheckOptions {
            file: file.into(),
            launches: Vec::new(),
            options: Options::default(),
            workers: 0,
            step_limit: 2_000_000_000,
            analyze: true,
            execute: true,
            compile: CompileOptions::default(),
            uniform_writes: false,
        }
    }
}

/// What one launch gave.
#[derive(Debug)]
pub struct LaunchReport {
    pub kernel: String,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub findings: Vec<Finding>,
    pub checked: Checked,
    pub time: Duration,
    pub analysis: Option<crate::analyze::Summary>,
    /// Contents of the buffers afterwards, by argument.
    pub buffers: Vec<(usize, u64, u64)>,
}

impl LaunchReport {
    fn checked_launch(&self) -> CheckedLaunch {
        let c = &self.checked;
        let stats = [
            ("warp_instructions", c.outcome.steps as f64),
            ("lane_instructions", c.outcome.lane_steps as f64),
            ("checked_accesses", c.checked as f64),
            ("spared_accesses", c.spared as f64),
            (
                "shadow_bytes",
                (c.shadow_bytes + c.global_shadow_bytes) as f64,
            ),
            ("statement_table_bytes", c.stmt_bytes as f64),
            ("seconds", self.time.as_secs_f64()),
        ];
        CheckedLaunch {
            kernel: self.kernel.clone(),
            grid: self.grid,
            block: self.block,
            analysis: self.analysis.as_ref().map(|a| a.sentence()),
            stats: stats.map(|(k, v)| (k.to_string(), v)).into(),
        }
    }
}

/// What a whole check gave.
#[derive(Debug, Default)]
pub struct Session {
    pub launches: Vec<LaunchReport>,
    pub notes: Vec<String>,
    /// Statements that did not fit a table.
    pub lost: u64,
}

impl Session {
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.launches.iter().flat_map(|l| l.findings.iter())
    }

    /// The report, in the form of all reports.
    pub fn report(self, file: &Path, rules: &Suppressions) -> Report {
        let run = GpuRun {
            program: Under {
                path: file.display().to_string(),
                argv: vec![file.display().to_string()],
                cwd: cwd(),
                ..Under::default()
            },
            launches: self
                .launches
                .iter()
                .map(LaunchReport::checked_launch)
                .collect(),
            findings: self.launches.into_iter().flat_map(|l| l.findings).collect(),
            notes: self.notes,
            losses: match self.lost {
                0 => Vec::new(),
                count => vec![Loss {
                    what:
                        "statements that did not fit their table and are explained by address only"
                            .to_string(),
                    count,
                }],
            },
            modules: Vec::new(),
        };
        run.report(rules)
    }
}

/// The folder that paths are shown from.
pub fn cwd() -> String {
    std::env::current_dir()
        .unwrap_or_default()
        .display()
        .to_string()
}

/// A made-up argument for a parameter nobody gave: a buffer for what may be a pointer, else the number of threads.
fn made_up(program: &Program, k: usize, spec: &LaunchSpec) -> Arg {
    let (_, _, size, ty) = &program.params[k];
    let threads = spec
        .grid
        .iter()
        .chain(&spec.block)
        .map(|x| u64::from(*x))
        .product::<u64>();
    let pointer = pointer_params(&program.kernel)
        .filter(|p| p.len() == program.params.len())
        .map_or(*size == 8 && !ty.float(), |p| p[k]);
    if pointer {
        return Arg::Buffer {
            elem: Elem::I32,
            count: (threads * 4).clamp(1 << 14, 1 << 26),
            init: Init::Iota,
        };
    }
    match ty {
        Ty::F32 | Ty::F64 => Arg::Number(1.0),
        _ => Arg::Integer(threads.min(i32::MAX as u64) as i64),
    }
}

/// Rows of one channel without gaps.
fn texels(elem: Elem, base: u64, size: [u32; 3]) -> Texels {
    let pitch = u64::from(size[0]) * elem.bytes();
    Texels {
        base,
        size,
        pitch,
        slice: pitch * u64::from(size[1]),
        bits: [elem.bytes() as u32 * 8, 0, 0, 0],
        channel: match elem {
            Elem::F32 | Elem::F64 => Channel::Float,
            Elem::I32 | Elem::I64 => Channel::Signed,
            Elem::U8 | Elem::U32 => Channel::Unsigned,
        },
    }
}

struct Prepared {
    params: Vec<u8>,
    extra_shared: u32,
    buffers: Vec<(usize, u64, u64)>,
}

/// Puts arguments into memory and lays out the parameter buffer.
fn prepare(
    program: &Program,
    memory: &Memory,
    spec: &LaunchSpec,
    notes: &mut Vec<String>,
) -> Result<Prepared, ToolError> {
    if spec.args.len() > program.params.len() {
        return Err(ToolError(format!(
            "`{}` has {} parameters, {} arguments were given",
            short(&program.kernel),
            program.params.len(),
            spec.args.len()
        )));
    }
    let mut params = vec![0u8; program.param_bytes as usize];
    let mut made = 0;
    let mut out = Prepared {
        params: Vec::new(),
        extra_shared: 0,
        buffers: Vec::new(),
    };
    for (k, (_, off, size, ty)) in program.params.iter().enumerate() {
        let arg = match spec.args.get(k) {
            Some(a) => a.clone(),
            None => {
                made += 1;
                made_up(program, k, spec)
            }
        };
        let bytes: Vec<u8> = match arg {
            Arg::Buffer { elem, count, init } => {
                let data = fill(elem, count, &init)?;
                let at = memory
                    .alloc(&format!("argument {}", k + 1), data.len() as u64, false)
                    .ok_or_else(|| ToolError(format!("no memory for argument {}", k + 1)))?;
                memory.write(at, &data);
                out.buffers.push((k, at, data.len() as u64));
                at.to_le_bytes().to_vec()
            }
            Arg::Texture { elem, size, init } => {
                let count = size.iter().map(|n| u64::from(*n)).product();
                let data = fill(elem, count, &init)?;
                let at = memory
                    .alloc(&format!("argument {}", k + 1), data.len() as u64, false)
                    .ok_or_else(|| ToolError(format!("no memory for argument {}", k + 1)))?;
                memory.write(at, &data);
                let texels = texels(elem, at, size);
                let object = memory.add_texture(Texture {
                    texels,
                    ..Texture::default()
                });
                object.to_le_bytes().to_vec()
            }
            Arg::Local(n) => {
                // A generic-free local pointer: an offset behind the static and dynamic shared memory.
                let at = program.shared_static + spec.shared + out.extra_shared;
                let at = at.next_multiple_of(16);
                out.extra_shared = at + n as u32 - program.shared_static - spec.shared;
                u64::from(at).to_le_bytes().to_vec()
            }
            Arg::Integer(v) => match ty {
                Ty::F32 => (v as f32).to_le_bytes().to_vec(),
                Ty::F64 => (v as f64).to_le_bytes().to_vec(),
                _ => v.to_le_bytes().to_vec(),
            },
            Arg::Number(v) => match ty {
                Ty::F64 => v.to_le_bytes().to_vec(),
                Ty::F32 => (v as f32).to_le_bytes().to_vec(),
                // OpenCL and some compilers declare floats as plain bits.
                _ if *size == 4 => (v as f32).to_le_bytes().to_vec(),
                _ => v.to_le_bytes().to_vec(),
            },
        };
        let n = (*size as usize).min(bytes.len());
        params[*off as usize..*off as usize + n].copy_from_slice(&bytes[..n]);
    }
    if made > 0 {
        notes.push(format!(
            "{made} argument(s) of `{}` were made up (buffers of counting numbers, sizes from the launch); give them with --arg",
            short(&program.kernel)
        ));
    }
    out.params = params;
    Ok(out)
}

/// Compiles and checks.
///
/// # Errors
/// The file cannot be compiled or the launch cannot run.
pub fn check(o: &CheckOptions, output: &(dyn Fn(&str) + Sync)) -> Result<Session, ToolError> {
    let text = to_ptx(&o.file, &o.compile)?;
    check_ptx(&text, o, output)
}

/// Checks PTX text.
///
/// # Errors
/// As for `check`.
pub fn check_ptx(
    text: &str,
    o: &CheckOptions,
    output: &(dyn Fn(&str) + Sync),
) -> Result<Session, ToolError> {
    let name = o.file.display();
    let module = crate::ptx::parse(text).map_err(|e| ToolError(format!("{name}: {e}")))?;
    let all: Vec<String> = module.kernels().map(|f| f.name.clone()).collect();
    if all.is_empty() {
        return Err(ToolError(format!("{name} has no kernel")));
    }
    let mut report = Session::default();
    let default = [LaunchSpec::default()];
    let launches = if o.launches.is_empty() {
        &default[..]
    } else {
        &o.launches
    };
    for spec in launches {
        let kernels: Vec<&String> = match &spec.kernel {
            None => all.iter().collect(),
            Some(k) => all
                .iter()
                .filter(|n| *n == k || short(n) == *k || short(n).ends_with(&format!("::{k}")))
                .collect(),
        };
        if kernels.is_empty() {
            let names: Vec<String> = all.iter().map(|n| short(n)).collect();
            return Err(ToolError(format!(
                "no kernel `{}` in {name}; there are: {}",
                spec.kernel.as_deref().unwrap_or(""),
                names.join(", ")
            )));
        }
        for k in kernels {
            // Every launch starts from fresh memory.
            let memory = Memory::new();
            let loaded = Loaded::from_module(module.clone(), &memory)
                .map_err(|e| ToolError(format!("{name}: {e}")))?;
            let one = launch(&loaded, &memory, k, spec, o, &mut report.notes, output)
                .map_err(|e| ToolError(format!("{name}: {e}")))?;
            report.lost += one.checked.lost;
            report.launches.push(one);
        }
    }
    Ok(report)
}

fn launch(
    loaded: &Loaded,
    memory: &Memory,
    kernel: &str,
    spec: &LaunchSpec,
    o: &CheckOptions,
    notes: &mut Vec<String>,
    output: &(dyn Fn(&str) + Sync),
) -> Result<LaunchReport, ToolError> {
    let program = loaded
        .program(kernel)
        .map_err(|e| ToolError(e.to_string()))?;
    let prepared = prepare(&program, memory, spec, notes)?;
    let l = Launch {
        grid: spec.grid,
        block: spec.block,
        dynamic_shared: spec.shared + prepared.extra_shared,
        params: prepared.params,
        workers: o.workers,
        step_limit: o.step_limit,
        independent: o.options.independent,
        grid_id: 1,
    };
    crate::machine::grid::validate(&program, &l).map_err(|e| ToolError(e.to_string()))?;
    let scene = Scene {
        module: &loaded.module,
        program: &program,
        memory,
        grid: l.grid,
        block: l.block,
        warp_size: o.options.warp_size,
        independent: o.options.independent,
    };
    let mut found = Vec::new();
    let mut plan: Vec<Monitor> = Vec::new();
    let mut analysis = None;
    if o.analyze && o.options.scheme != Scheme::Off {
        let a = crate::analyze::run(&scene, &l);
        found.extend(a.findings);
        plan = a.plan;
        notes.extend(a.notes);
        analysis = Some(a.summary);
    }
    let started = Instant::now();
    let checked = if o.execute {
        check::run(&program, memory, &l, o.options, plan, output)
            .map_err(|e| ToolError(e.to_string()))?
    } else {
        Checked::default()
    };
    let time = started.elapsed();
    for f in findings(&scene, &checked) {
        if f.kind == FindingKind::UniformWrite && !o.uniform_writes {
            for (file, line) in lines(&f).iter().take(1) {
                notes.push(format!(
                    "{file}:{line}: threads write the same value to the same place; not counted as a race (show with --uniform-writes)"
                ));
            }
            continue;
        }
        // What was proved before is not said again.
        if !found.iter().any(|g: &Finding| same(g, &f)) {
            found.push(f);
        }
    }
    let all = found.clone();
    found.retain(|f| !explained(f, &all));
    Ok(LaunchReport {
        kernel: short(kernel),
        grid: l.grid,
        block: l.block,
        findings: found,
        checked,
        time,
        analysis,
        buffers: prepared.buffers,
    })
}
