//! One kernel and its launch, run under a scheme; only the launch itself is timed.

use std::path::{Path, PathBuf};

use deadheat_gpu::check::{self, Checked, Monitor, Options, Scheme};
use deadheat_gpu::frontend::cli;
use deadheat_gpu::frontend::compile::{CompileOptions, to_ptx};
use deadheat_gpu::frontend::finding::Scene;
use deadheat_gpu::frontend::launch::{Arg, LaunchSpec, fill};
use deadheat_gpu::frontend::names::short;
use deadheat_gpu::machine::{Launch, Loaded, Memory, Program};
use deadheat_gpu::ptx::Module;
use deadheat_gpu::{analyze, ptx};

use super::measure::{Cost, here};

/// A file of the repository.
pub fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// Compiles a source; `defines` are passed on.
pub fn module(path: &str, defines: &[&str]) -> Module {
    let options = CompileOptions {
        extra: defines.iter().map(|d| (*d).to_string()).collect(),
        ..CompileOptions::default()
    };
    let text = to_ptx(&file(path), &options).unwrap_or_else(|e| panic!("{path}: {e}"));
    ptx::parse(&text).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// A kernel with its launch.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    pub spec: LaunchSpec,
}

impl Case {
    /// From options as `deadheat gpu check` takes them.
    pub fn new(name: &str, options: &str) -> Case {
        let args: Vec<String> = std::iter::once("bench.cl")
            .chain(options.split_whitespace())
            .map(str::to_string)
            .collect();
        let mut parsed = cli::parse(&args).unwrap_or_else(|e| panic!("{name}: {e}"));
        Case {
            name: name.to_string(),
            spec: parsed.check.launches.remove(0),
        }
    }
}

/// How to run a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct How {
    pub scheme: Scheme,
    pub analyze: bool,
    pub workers: usize,
    /// How often; costs are added up.
    pub times: u32,
}

/// What a run gave.
pub struct Done {
    pub checked: Checked,
    pub summary: analyze::Summary,
    /// Races that were decided before the run.
    pub proved: usize,
    pub cost: Cost,
    /// What the static analyzer took.
    pub analysis: Cost,
}

struct Ready {
    loaded: Loaded,
    memory: Memory,
    program: std::sync::Arc<Program>,
    launch: Launch,
}

fn ready(module: &Module, case: &Case, workers: usize) -> Ready {
    let memory = Memory::new();
    let loaded = Loaded::from_module(module.clone(), &memory).expect("loads");
    let name = module
        .kernels()
        .map(|f| f.name.clone())
        .find(|n| Some(short(n)) == case.spec.kernel)
        .unwrap_or_else(|| panic!("no kernel {}", case.name));
    let program = loaded.program(&name).expect("decodes");
    let mut params = vec![0u8; program.param_bytes as usize];
    for ((_, off, size, ty), arg) in program.params.iter().zip(&case.spec.args) {
        let bytes: Vec<u8> = match arg {
            Arg::Buffer { elem, count, init } => {
                let data = fill(*elem, *count, init).expect("fills");
                let at = memory.alloc("argument", data.len() as u64, false);
                let at = at.expect("memory");
                memory.write(at, &data);
                at.to_le_bytes().to_vec()
            }
            Arg::Integer(v) if ty.float() => (*v as f32).to_le_bytes().to_vec(),
            Arg::Integer(v) => v.to_le_bytes().to_vec(),
            other => panic!("{}: {other:?} is not used here", case.name),
        };
        let n = (*size as usize).min(bytes.len());
        params[*off as usize..*off as usize + n].copy_from_slice(&bytes[..n]);
    }
    let launch = Launch {
        grid: case.spec.grid,
        block: case.spec.block,
        dynamic_shared: case.spec.shared,
        params,
        workers,
        step_limit: u64::MAX,
        independent: false,
        grid_id: 1,
    };
    Ready {
        loaded,
        memory,
        program,
        launch,
    }
}

/// Runs a case, each time on fresh memory; the analyzer works once.
pub fn run(module: &Module, case: &Case, how: How) -> Done {
    let r = ready(module, case, how.workers);
    let options = Options {
        scheme: how.scheme,
        ..Options::default()
    };
    let mut plan: Vec<Monitor> = Vec::new();
    let mut summary = analyze::Summary::default();
    let (mut proved, mut analysis) = (0, Cost::default());
    if how.analyze {
        let scene = Scene {
            module: &r.loaded.module,
            program: &r.program,
            memory: &r.memory,
            grid: r.launch.grid,
            block: r.launch.block,
            warp_size: options.warp_size,
            independent: false,
        };
        let (a, cost) = here(|| analyze::run(&scene, &r.launch));
        proved = a
            .findings
            .iter()
            .filter(|f| f.kind == deadheat_model::FindingKind::KernelRace)
            .count();
        (plan, summary, analysis) = (a.plan, a.summary, cost);
    }
    let mut all = Cost::default();
    let mut last = Checked::default();
    for _ in 0..how.times {
        let r = ready(module, case, how.workers);
        let plan = plan.clone();
        let (checked, cost) =
            here(|| check::run(&r.program, &r.memory, &r.launch, options, plan, &|_| {}));
        all.wall += cost.wall;
        all.cpu += cost.cpu;
        last = checked.expect("runs");
    }
    Done {
        checked: last,
        summary,
        proved,
        cost: all,
        analysis,
    }
}
