//! The state behind the functions: modules, symbols, memory, the last error, and what was found.

use std::cell::Cell;
use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock};

use deadheat_model::FindingKind;
use deadheat_report::{GpuRun, Suppressions};

use crate::check::{Options, Scheme};
use crate::machine::{Loaded, Memory};

use super::Code;
use super::told::Told;

/// A kernel that the program registered: module and name.
#[derive(Clone)]
pub struct Kernel {
    pub module: usize,
    pub name: String,
}

#[derive(Default)]
pub struct State {
    pub modules: Vec<Option<Arc<Loaded>>>,
    pub kernels: HashMap<usize, Kernel>,
    /// Host address of a device variable to its name, module and size.
    pub vars: HashMap<usize, (usize, String, u64)>,
    pub launches: u64,
    /// How often each kernel was analyzed.
    pub analyzed: HashMap<String, u32>,
}

pub struct Runtime {
    pub memory: Memory,
    pub state: Mutex<State>,
    pub options: Options,
    pub analyze: bool,
    pub step_limit: u64,
    pub workers: usize,
    log: Option<Mutex<std::fs::File>>,
}

thread_local! {
    static LAST: Cell<Code> = const { Cell::new(0) };
}

static RUNTIME: OnceLock<Runtime> = OnceLock::new();

/// The one runtime, set up from the environment on first use.
pub fn get() -> &'static Runtime {
    RUNTIME.get_or_init(|| {
        let var = |n: &str| std::env::var(n).unwrap_or_default();
        let scheme = match var("DEADHEAT_GPU_SCHEME").as_str() {
            "addr" => Scheme::Addr,
            "stmt" => Scheme::Stmt,
            "off" => Scheme::Off,
            _ => Scheme::Both,
        };
        let warp_size = if var("DEADHEAT_GPU_WARP_SIZE") == "64" {
            64
        } else {
            32
        };
        let log = std::env::var_os("DEADHEAT_GPU_LOG")
            .and_then(|p| {
                std::fs::OpenOptions::new()
                    .create(true)
                    .append(true)
                    .open(p)
                    .ok()
            })
            .map(Mutex::new);
        Runtime {
            memory: Memory::new(),
            state: Mutex::new(State::default()),
            options: Options {
                scheme,
                independent: var("DEADHEAT_GPU_WARPS") == "independent",
                warp_size,
            },
            analyze: var("DEADHEAT_GPU_STATIC") != "0",
            step_limit: var("DEADHEAT_GPU_MAX_STEPS")
                .parse()
                .unwrap_or(20_000_000_000),
            workers: var("DEADHEAT_GPU_THREADS").parse().unwrap_or(0),
            log,
        }
    })
}

impl Runtime {
    /// One line for the tool that started the program, or for the user when nobody did.
    pub fn tell(&self, told: Told) {
        let Some(f) = &self.log else {
            return say(told);
        };
        if let (Ok(mut f), Ok(line)) = (f.lock(), serde_json::to_string(&told)) {
            let _ = writeln!(f, "{line}");
        }
    }
}

/// A program that was started without `deadheat gpu run` is told on standard error.
fn say(told: Told) {
    match told {
        Told::Error(text) | Told::Note(text) => eprintln!("deadheat gpu: {text}"),
        Told::Finding(f) if f.kind != FindingKind::UniformWrite => {
            let run = GpuRun {
                findings: vec![*f],
                ..GpuRun::default()
            };
            let options = deadheat_report::Options {
                cwd: std::env::current_dir().ok(),
                ..deadheat_report::Options::default()
            };
            let report = run.report(&Suppressions::default());
            eprintln!(
                "{}",
                deadheat_report::render(&report, deadheat_report::Format::Text, &options)
            );
        }
        Told::Finding(_) | Told::Launch(_) | Told::Loss(_) | Told::Module(_) => {}
    }
}

/// Remembers an error for `cudaGetLastError` and passes it on.
pub fn done(c: Code) -> Code {
    if c != 0 {
        LAST.with(|l| l.set(c));
    }
    c
}

pub fn take_last() -> Code {
    LAST.with(|l| l.replace(0))
}

pub fn peek_last() -> Code {
    LAST.with(Cell::get)
}
