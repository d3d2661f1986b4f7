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
    pub blocks: u64,
    /// How often each kernel was analyzed.
    pub analyzed: HashMap<String, u32>,
}

/// What a block of memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    Device,
    Managed,
    /// Host memory that the device reaches.
    Pinned,
    /// Device memory that belongs to a stream's order.
    Pool,
}

struct Block {
    sort: Sort,
    /// Calls that made it.
    stack: Vec<u64>,
}

pub struct Runtime {
    pub memory: Memory,
    blocks: Mutex<HashMap<u64, Block>>,
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
            blocks: Mutex::default(),
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
    /// A new block for the program.
    pub fn alloc(&self, name: &str, len: u64, sort: Sort) -> Option<u64> {
        let n = self.state.lock().ok().map_or(0, |mut s| {
            s.blocks += 1;
            s.blocks
        });
        let name = format!("block {n} of {name}");
        let at = if sort == Sort::Managed {
            let at = super::guard::alloc(len)?;
            // SAFETY: mapped until `free`.
            unsafe { self.memory.adopt(&name, at, len) };
            at
        } else {
            self.memory.alloc(&name, len, false)?
        };
        self.note(at, sort);
        Some(at)
    }

    /// Memory of the program itself.
    ///
    /// # Safety
    /// As for `Memory::adopt`.
    pub unsafe fn adopt(&self, name: &str, at: u64, len: u64) {
        // SAFETY: by contract.
        unsafe { self.memory.adopt(name, at, len) };
        self.note(at, Sort::Pinned);
    }

    fn note(&self, at: u64, sort: Sort) {
        let stack = super::hostcall::stack();
        if let Ok(mut b) = self.blocks.lock() {
            b.insert(at, Block { sort, stack });
        }
    }

    pub fn free(&self, at: u64) -> bool {
        if let Ok(mut b) = self.blocks.lock() {
            b.remove(&at);
        }
        let known = self.memory.free(at);
        if known {
            super::guard::free(at);
        }
        known
    }

    /// What the memory at an address is; nothing for memory that the device does not reach.
    pub fn sort(&self, addr: u64) -> Option<Sort> {
        let a = self.memory.find(addr)?;
        let known = self.blocks.lock().ok()?.get(&a.start).map(|b| b.sort);
        // Variables of a module.
        Some(known.unwrap_or(Sort::Device))
    }

    /// Calls that made the block that starts there.
    pub fn allocated(&self, start: u64) -> Option<Vec<u64>> {
        let b = self.blocks.lock().ok()?;
        b.get(&start).map(|b| b.stack.clone())
    }

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
