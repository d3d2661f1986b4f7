//! A launch: blocks in turn on all cores.
//!
//! `share` says which block comes next. A block that has had a long turn goes to the back of the queue, so that blocks
//! which wait for others (flags, grid barriers) cannot hang the launch.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};

use super::alu::choose;
use super::block::{Block, Ctx, Turn};
use super::memory::Memory;
use super::observe::{Fault, FaultLog, Observer};
use super::program::{Program, Special};
use super::share::Shares;

/// Shape and limits of a launch.
#[derive(Clone, Debug)]
pub struct Launch {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared: u32,
    /// The parameter buffer, laid out as `Program::params` says.
    pub params: Vec<u8>,
    /// Operating system threads; 0 for one per core.
    pub workers: usize,
    /// Warp instructions before the launch is stopped.
    pub step_limit: u64,
    /// Independent thread scheduling: lanes of one warp make progress on their own.
    pub independent: bool,
    pub grid_id: u64,
}

impl Launch {
    /// Operating system threads that the blocks run on.
    pub fn workers(&self) -> usize {
        let wanted = match self.workers {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n => n,
        };
        let blocks = self.grid.iter().map(|d| *d as usize).product();
        wanted.min(blocks).max(1)
    }
}

/// What a launch did.
#[derive(Debug, Default)]
pub struct Outcome {
    pub faults: Vec<Fault>,
    /// Warp instructions, and lane instructions.
    pub steps: u64,
    pub lane_steps: u64,
    pub aborted: bool,
}

/// Why a launch cannot start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchError(pub String);

impl std::fmt::Display for LaunchError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Checks the shape as a GPU would.
///
/// # Errors
/// What is wrong, and with which number.
pub fn validate(p: &Program, l: &Launch) -> Result<(), LaunchError> {
    let fail = |s: String| Err(LaunchError(s));
    if l.grid.contains(&0) || l.block.contains(&0) {
        return fail("grid and block dimensions must be at least 1".into());
    }
    let threads = l.block.iter().map(|x| u64::from(*x)).product::<u64>();
    if threads > 1024 {
        return fail(format!(
            "{threads} threads in a block; at most 1024 are possible"
        ));
    }
    let blocks = l.grid.iter().map(|x| u128::from(*x)).product::<u128>();
    if blocks > u128::from(u32::MAX) {
        return fail(format!("{blocks} blocks are more than the machine can run"));
    }
    if l.params.len() < p.param_bytes as usize {
        return fail(format!(
            "{} bytes of parameters, `{}` wants {}",
            l.params.len(),
            p.kernel,
            p.param_bytes
        ));
    }
    let shared = u64::from(p.shared_static) + u64::from(l.dynamic_shared);
    if shared > super::decode::MAX_SHARED {
        return fail(format!(
            "{shared} bytes of shared memory are more than any GPU has"
        ));
    }
    if let Some(r) = p.reqntid
        && r != l.block
    {
        return fail(format!(
            "`{}` requires blocks of {}x{}x{} threads",
            p.kernel, r[0], r[1], r[2]
        ));
    }
    Ok(())
}

struct Queue<'a, const W: usize, O> {
    shares: Shares,
    parked: VecDeque<Block<'a, W, O>>,
    running: usize,
}

/// Runs a launch; `observer` makes the watcher of each block.
///
/// # Errors
/// A shape that cannot run.
pub fn run<const W: usize, O: Observer<W>>(
    program: &Program,
    memory: &Memory,
    launch: &Launch,
    output: &(dyn Fn(&str) + Sync),
    observer: &(dyn Fn(u32) -> O + Sync),
) -> Result<Outcome, LaunchError> {
    validate(program, launch)?;
    let cooperative = program
        .specials
        .iter()
        .any(|s| matches!(s, Special::Workspace(_)));
    let workspace = if cooperative {
        memory
            .alloc("the grid's barrier", 64, false)
            .ok_or_else(|| LaunchError("no memory for the grid's barrier".into()))?
    } else {
        0
    };
    let ctx: Ctx<'_, W> = Ctx {
        program,
        memory,
        consts: program.consts.iter().map(|c| [*c; W]).collect(),
        params: &launch.params,
        grid: launch.grid,
        block: launch.block,
        dynamic_shared: launch.dynamic_shared,
        alu: choose::<W>(),
        survey: super::survey::choose::<W>(),
        independent: launch.independent,
        grid_id: launch.grid_id,
        workspace,
        output,
        steps: AtomicU64::new(0),
        lane_steps: AtomicU64::new(0),
        step_limit: launch.step_limit,
        abort: AtomicBool::new(false),
    };
    let blocks = launch.grid.iter().product::<u32>();
    let workers = launch.workers();
    let faults = Mutex::new(FaultLog::default());
    let queue: Mutex<Queue<'_, W, O>> = Mutex::new(Queue {
        shares: Shares::new(blocks, workers),
        parked: VecDeque::new(),
        running: 0,
    });
    let changed = Condvar::new();
    let work = &|worker: usize| {
        // A block that has ended lends its memory to the next one of this core.
        let mut spare: Option<Block<'_, W, O>> = None;
        loop {
            let mut block = {
                let Ok(mut q) = queue.lock() else { return };
                loop {
                    if ctx.abort.load(Ordering::Relaxed) {
                        changed.notify_all();
                        return;
                    }
                    // New blocks first, so that a block which waits for a later one meets it.
                    if q.parked.len() < 4096
                        && let Some(b) = q.shares.next(worker)
                    {
                        q.running += 1;
                        drop(q);
                        break match spare.take() {
                            Some(mut old) => {
                                old.restart(b);
                                old
                            }
                            None => Block::new(&ctx, b, observer(b)),
                        };
                    }
                    if let Some(b) = q.parked.pop_front() {
                        q.running += 1;
                        drop(q);
                        break b;
                    }
                    if q.running == 0 {
                        changed.notify_all();
                        return;
                    }
                    match changed.wait(q) {
                        Ok(g) => q = g,
                        Err(_) => return,
                    }
                }
            };
            let turn = block.turn();
            let Ok(mut q) = queue.lock() else { return };
            q.running -= 1;
            if turn == Turn::Later {
                q.shares.keep_order();
                q.parked.push_back(block);
            } else {
                drop(q);
                if !block.env.faults.is_empty()
                    && let Ok(mut f) = faults.lock()
                {
                    f.merge(std::mem::take(&mut block.env.faults));
                }
                if turn == Turn::Finished {
                    spare = Some(block);
                }
            }
            changed.notify_all();
        }
    };
    std::thread::scope(|s| {
        for k in 1..workers {
            s.spawn(move || work(k));
        }
        work(0);
    });
    // Blocks that were parked when the launch was aborted still have something to say.
    let parked = queue.into_inner().map(|q| q.parked).unwrap_or_default();
    let mut log = faults.into_inner().unwrap_or_default();
    for mut b in parked {
        log.merge(std::mem::take(&mut b.env.faults));
    }
    if workspace != 0 {
        memory.free(workspace);
    }
    Ok(Outcome {
        faults: log.sorted(),
        steps: ctx.steps.load(Ordering::Relaxed),
        lane_steps: ctx.lane_steps.load(Ordering::Relaxed),
        aborted: ctx.abort.load(Ordering::Relaxed),
    })
}
