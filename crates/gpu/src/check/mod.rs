//! The dynamic checker. `run` executes a launch and returns its races and faults as data.

mod cell;
mod clock;
mod cross;
mod cut;
pub mod footprint;
mod full;
mod line;
mod log;
mod pages;
mod plain;
pub mod race;
#[cfg(test)]
mod reference;
mod script;
mod settled;
mod spin;
mod stmt;
mod watcher;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use crate::machine::program::{BarMode, Kind, NONE, Scope, Strength};
use crate::machine::{self, Blind, Launch, LaunchError, Memory, Outcome, Program};

pub use footprint::Footprint;
use footprint::Traced;
pub use race::{Race, Races, Relation, Side};

/// Which of the paper's schemes runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Addresses find, statements explain.
    Both,
    Addr,
    Stmt,
    /// Only run.
    Off,
}

/// What to record of an instruction's accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Monitor {
    Always,
    /// Decided statically.
    Never,
    /// Thread-invariant: one lane is enough. Loop-invariant: once per phase is enough.
    Reduced {
        one_lane: bool,
        once_per_phase: bool,
    },
}

/// How to check.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub scheme: Scheme,
    /// Independent thread scheduling instead of lockstep.
    pub independent: bool,
    /// 32 or 64.
    pub warp_size: u32,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            scheme: Scheme::Both,
            independent: false,
            warp_size: 32,
        }
    }
}

/// What a checked launch found, and what it cost.
#[derive(Debug, Default)]
pub struct Checked {
    pub outcome: Outcome,
    pub races: Races,
    /// Lane accesses looked at, and those spared by the static analyzer.
    pub checked: u64,
    pub spared: u64,
    /// Statements that did not fit the table.
    pub lost: u64,
    pub stmt_bytes: u64,
    /// Of one block's shared memory, and of global memory.
    pub shadow_bytes: u64,
    pub global_shadow_bytes: u64,
}

/// Does the program order anything except by barriers?
fn has_fences(p: &Program) -> bool {
    p.ops.iter().any(|o| match o.kind {
        // Arrivals release, waits acquire.
        Kind::Fence(_) | Kind::Mbarrier(_) => true,
        Kind::Ld { strength, .. } | Kind::St { strength, .. } | Kind::Atom { strength, .. } => {
            matches!(
                strength,
                Strength::Acquire(_) | Strength::Release(_) | Strength::AcqRel(_)
            )
        }
        _ => false,
    })
}

/// Does it use barriers of a part of the block?
fn has_named_barriers(p: &Program) -> bool {
    p.ops
        .iter()
        .any(|o| matches!(o.kind, Kind::Bar { mode, .. } if o.b != NONE || mode == BarMode::Arrive))
}

fn watched<const W: usize>(
    program: &Program,
    memory: &Memory,
    launch: &Launch,
    options: Options,
    plan: Vec<Monitor>,
    trace: Option<&Mutex<Footprint>>,
    output: &(dyn Fn(&str) + Sync),
) -> Result<Checked, LaunchError> {
    if options.scheme == Scheme::Off {
        let outcome = match trace {
            None => machine::run::<W, Blind>(program, memory, launch, output, &|_| Blind)?,
            Some(t) => {
                machine::run::<W, _>(program, memory, launch, output, &|_| Traced::new(Blind, t))?
            }
        };
        return Ok(Checked {
            outcome,
            ..Checked::default()
        });
    }
    let (fences, named) = (has_fences(program), has_named_barriers(program));
    let mut options = options;
    if options.scheme == Scheme::Stmt && (fences || named || options.independent) {
        // The statement table alone knows only block-wide barriers; addresses must decide what is ordered.
        options.scheme = Scheme::Both;
    }
    let threads = launch.block.iter().product();
    let shared = Arc::new(watcher::Shared {
        options,
        alone: launch.workers() == 1,
        plain: !fences && !named && !options.independent && plain::fits(program, threads),
        fences,
        named,
        plan,
        threads,
        ..watcher::Shared::default()
    });
    let bytes = program.shared_static + launch.dynamic_shared;
    let make =
        |block: u32| watcher::Watcher::<W>::new(Arc::clone(&shared), block, bytes, program.grain);
    let outcome = match trace {
        None => machine::run::<W, _>(program, memory, launch, output, &make)?,
        Some(t) => machine::run::<W, _>(program, memory, launch, output, &|b| {
            Traced::new(make(b), t)
        })?,
    };
    let races = shared
        .results
        .lock()
        .map(|mut r| std::mem::take(&mut *r))
        .unwrap_or_default();
    Ok(Checked {
        outcome,
        races,
        checked: shared.checked.load(Ordering::Relaxed),
        spared: shared.spared.load(Ordering::Relaxed),
        lost: shared.lost.load(Ordering::Relaxed),
        stmt_bytes: shared.stmt_peak.load(Ordering::Relaxed),
        shadow_bytes: shared.shadow_bytes.load(Ordering::Relaxed),
        global_shadow_bytes: full::bytes(&shared.pages) + plain::bytes(&shared.ground),
    })
}

/// Runs a launch with the checker watching. `plan` says what to record of each instruction; empty means all.
///
/// # Errors
/// A launch that cannot run.
pub fn run(
    program: &Program,
    memory: &Memory,
    launch: &Launch,
    options: Options,
    plan: Vec<Monitor>,
    output: &(dyn Fn(&str) + Sync),
) -> Result<Checked, LaunchError> {
    sized(program, memory, launch, options, plan, None, output)
}

/// The same, and what the launch touched of global memory.
///
/// # Errors
/// As for `run`.
pub fn run_traced(
    program: &Program,
    memory: &Memory,
    launch: &Launch,
    options: Options,
    plan: Vec<Monitor>,
    output: &(dyn Fn(&str) + Sync),
) -> Result<(Checked, Footprint), LaunchError> {
    let all = Mutex::new(Footprint::default());
    let checked = sized(program, memory, launch, options, plan, Some(&all), output)?;
    let mut foot = all.into_inner().unwrap_or_default();
    foot.fences = has_fences(program);
    foot.tells_host = program.ops.iter().any(|o| match o.kind {
        Kind::Fence(s) => s == Scope::Sys,
        Kind::St { strength, .. } | Kind::Atom { strength, .. } => matches!(
            strength,
            Strength::Release(Scope::Sys) | Strength::AcqRel(Scope::Sys)
        ),
        _ => false,
    });
    Ok((checked, foot))
}

fn sized(
    program: &Program,
    memory: &Memory,
    launch: &Launch,
    options: Options,
    plan: Vec<Monitor>,
    trace: Option<&Mutex<Footprint>>,
    output: &(dyn Fn(&str) + Sync),
) -> Result<Checked, LaunchError> {
    match options.warp_size {
        32 => watched::<32>(program, memory, launch, options, plan, trace, output),
        64 => watched::<64>(program, memory, launch, options, plan, trace, output),
        other => Err(LaunchError(format!(
            "warps of {other} threads do not exist; use 32 or 64"
        ))),
    }
}
