//! The OpenCL suite: what checking costs, side by side with Oclgrind, and what a second core gives.

use std::time::Duration;

use deadheat_gpu::check::Scheme;
use deadheat_gpu::ptx::Module;

use super::bench::{Case, How, file, module, run};
use super::measure::{Cost, mean};
use super::oclgrind;
use super::report::{Page, load};

pub const SUITE: &str = "bench/gpu/suite.cl";
const WORST: Cost = Cost {
    wall: Duration::MAX,
    cpu: Duration::MAX,
};

/// The launches that the suite's comments name; `scale` multiplies the work-groups of the first dimension.
pub fn cases() -> Vec<Case> {
    let text = std::fs::read_to_string(file(SUITE)).expect(SUITE);
    text.lines()
        .filter_map(|l| l.strip_prefix("// run "))
        .map(|l| {
            let (name, rest) = l.split_once(' ').unwrap_or((l, ""));
            Case::new(name, &format!("--kernel {name} {rest}"))
        })
        .collect()
}

fn how(scheme: Scheme, workers: usize) -> How {
    How {
        scheme,
        analyze: false,
        workers,
        times: 1,
    }
}

/// What checking costs without the analyzer's help.
pub fn overhead(page: &mut Page, rounds: usize) {
    page.heading("The OpenCL suite: what checking costs");
    page.line("One core, nothing decided statically, every access checked.\n");
    let m = module(SUITE, &[]);
    let ways = [Scheme::Off, Scheme::Addr, Scheme::Both];
    let cases = cases();
    let mut best = vec![[WORST; 3]; cases.len()];
    let mut seen = vec![(0, 0); cases.len()];
    for _ in 0..rounds {
        for (k, c) in cases.iter().enumerate() {
            for (w, scheme) in ways.iter().enumerate() {
                let d = run(&m, c, how(*scheme, 1));
                best[k][w] = best[k][w].best(d.cost);
                if *scheme == Scheme::Addr {
                    seen[k] = (d.checked.checked, d.checked.outcome.lane_steps);
                }
            }
        }
    }
    let mut rows = Vec::new();
    let mut ratios = [Vec::new(), Vec::new()];
    for ((c, b), (accesses, steps)) in cases.iter().zip(&best).zip(&seen) {
        let t = b.map(|x| x.cpu.as_secs_f64());
        ratios[0].push(t[1] / t[0]);
        ratios[1].push(t[2] / t[0]);
        rows.push(vec![
            c.name.clone(),
            accesses.to_string(),
            format!("{:.2}", t[0] * 1e3),
            format!("{:.0}", *steps as f64 / t[0] / 1e6),
            format!("{:.2}", t[1] / t[0]),
            format!("{:.2}", t[2] / t[0]),
        ]);
    }
    rows.push(vec![
        "geometric mean".into(),
        String::new(),
        String::new(),
        String::new(),
        format!("{:.2}", mean(&ratios[0])),
        format!("{:.2}", mean(&ratios[1])),
    ]);
    let names = [
        "kernel",
        "accesses",
        "unchecked ms",
        "M lane instructions/s",
        "addr",
        "both",
    ];
    page.table("suite_overhead", &names, &rows);
    page.goal(
        mean(&ratios[0]) <= 1.5,
        format!(
            "suite, every access checked: geometric mean of addr at most 1.5 times unchecked ({:.2})",
            mean(&ratios[0])
        ),
    );
}

/// Rates and verdicts beside Oclgrind's.
pub fn beside_oclgrind(page: &mut Page, rounds: usize) {
    page.heading("Beside Oclgrind: checked accesses per second");
    let Some(version) = oclgrind::version() else {
        page.line("Oclgrind is not installed (apt install oclgrind); this part is left out.");
        return;
    };
    let dir = std::env::temp_dir().join(format!("deadheat-oclgrind-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a place for launches");
    let cases = cases();
    let m = module(SUITE, &[]);
    let start = oclgrind::overhead(SUITE, &cases[0], &dir);
    page.line(&format!(
        "{version}, `--data-races`, one thread; ours: scheme `both` (the default) without the static analyzer, one core. The\nsame sources, launches and data. Both only count the launch: what Oclgrind takes to start and compile ({:.0} ms of\nCPU) is taken off its times; ours compiles before the clock starts. Each tool's accesses are its own count.\n",
        start.cpu.as_secs_f64() * 1e3
    ));
    let sims: Vec<_> = cases
        .iter()
        .map(|c| oclgrind::describe(SUITE, c, &dir))
        .collect();
    let mut theirs = vec![WORST; cases.len()];
    let mut ours = vec![WORST; cases.len()];
    let mut counts = vec![0; cases.len()];
    for round in 0..rounds {
        for (k, c) in cases.iter().enumerate() {
            for _ in 0..3 {
                let d = run(&m, c, how(Scheme::Both, 1));
                ours[k] = ours[k].best(d.cost);
                counts[k] = d.checked.checked;
            }
            if round < 2 {
                theirs[k] = theirs[k].best(oclgrind::check(&sims[k]));
            }
        }
    }
    let mut rows = Vec::new();
    let mut ratios = Vec::new();
    for (k, c) in cases.iter().enumerate() {
        let n = oclgrind::accesses(&sims[k]);
        let their = theirs[k].cpu.saturating_sub(start.cpu).as_secs_f64();
        let (a, b) = (
            n as f64 / their / 1e6,
            counts[k] as f64 / ours[k].cpu.as_secs_f64() / 1e6,
        );
        ratios.push(b / a);
        rows.push(vec![
            c.name.clone(),
            n.to_string(),
            counts[k].to_string(),
            format!("{:.0}", their * 1e3),
            format!("{:.2}", ours[k].cpu.as_secs_f64() * 1e3),
            format!("{a:.2}"),
            format!("{b:.1}"),
            format!("{:.0}", b / a),
        ]);
    }
    let names = [
        "kernel",
        "Oclgrind's accesses",
        "ours",
        "Oclgrind ms",
        "ours ms",
        "Oclgrind M/s",
        "ours M/s",
        "times",
    ];
    page.table("oclgrind_rates", &names, &rows);
    let least = ratios.iter().copied().fold(f64::MAX, f64::min);
    page.line(&format!(
        "\nGeometric mean {:.0} times, least {least:.0}.",
        mean(&ratios)
    ));
    page.goal(
        mean(&ratios) >= 50.0,
        format!(
            "at least 50 times Oclgrind's checked accesses per second (geometric mean {:.0}, least {least:.0})",
            mean(&ratios)
        ),
    );
    verdicts(page, &cases, &m, &sims);
    let _ = std::fs::remove_dir_all(&dir);
}

fn verdicts(page: &mut Page, cases: &[Case], clean: &Module, sims: &[std::path::PathBuf]) {
    page.heading("Beside Oclgrind: verdicts");
    page.line("Each kernel as it stands (clean), and with -DRACY (a race between warps or work-groups).\n");
    let racy = module(SUITE, &["-DRACY"]);
    let word = |found: bool| if found { "race" } else { "clean" }.to_string();
    let mut rows = Vec::new();
    let (mut right, mut their_right) = (0, 0);
    for (c, sim) in cases.iter().zip(sims) {
        let ours = |m: &Module| {
            let d = run(m, c, how(Scheme::Both, 1));
            let races: usize = d
                .checked
                .races
                .map
                .values()
                .filter(|r| !r.same_value)
                .count();
            races > 0
        };
        let (a, b) = (ours(clean), ours(&racy));
        let (x, y) = (oclgrind::finds(sim, ""), oclgrind::finds(sim, "-DRACY"));
        right += usize::from(!a) + usize::from(b);
        their_right += usize::from(!x) + usize::from(y);
        rows.push(vec![c.name.clone(), word(a), word(x), word(b), word(y)]);
    }
    let names = [
        "kernel",
        "clean: ours",
        "Oclgrind",
        "racy: ours",
        "Oclgrind",
    ];
    page.table("oclgrind_verdicts", &names, &rows);
    page.goal(
        right == cases.len() * 2 && right >= their_right,
        format!(
            "verdicts as good as Oclgrind's ({right} of {} right, Oclgrind {their_right})",
            cases.len() * 2
        ),
    );
}

/// Blocks on two cores.
pub fn scaling(page: &mut Page, rounds: usize) {
    page.heading("Blocks on two cores");
    page.line(&format!(
        "Scheme `both`, no analysis, the suite's launches one after the other; wall time of one worker against two, measured in\nturn. Load average {} at the start of this part; other work on the cores makes the gain look smaller, so the share of\na second core that was there (CPU time per wall time of the two workers) is shown too.\n",
        load()
    ));
    let m = module(SUITE, &[]);
    let cases = cases();
    let mut best = vec![[WORST; 2]; cases.len()];
    let mut got = vec![0f64; cases.len()];
    for _ in 0..rounds {
        for (k, c) in cases.iter().enumerate() {
            for w in 0..2 {
                let d = run(&m, c, how(Scheme::Both, w + 1));
                if w == 1 && d.cost.wall < best[k][1].wall {
                    got[k] = d.cost.cpu.as_secs_f64() / d.cost.wall.as_secs_f64();
                }
                best[k][w] = best[k][w].best(d.cost);
            }
        }
    }
    let mut rows = Vec::new();
    let mut gains = Vec::new();
    for ((c, b), got) in cases.iter().zip(&best).zip(&got) {
        let gain = b[0].wall.as_secs_f64() / b[1].wall.as_secs_f64();
        gains.push(gain);
        rows.push(vec![
            c.name.clone(),
            format!("{:.2}", b[0].wall.as_secs_f64() * 1e3),
            format!("{:.2}", b[1].wall.as_secs_f64() * 1e3),
            format!("{gain:.2}"),
            format!("{:.2}", b[1].cpu.as_secs_f64() / b[0].cpu.as_secs_f64()),
            format!("{got:.2}"),
        ]);
    }
    let names = [
        "kernel",
        "one: wall ms",
        "two: wall ms",
        "gain",
        "CPU of two / of one",
        "cores used",
    ];
    page.table("two_cores", &names, &rows);
    let g = mean(&gains);
    page.line(&format!(
        "\nGeometric mean of the gain: {g:.2}. {}",
        plain_gain(rounds)
    ));
    page.goal(
        g >= 1.7,
        format!("two cores give close to twice the speed of one ({g:.2})"),
    );
}

/// What a second thread gives to a loop that only computes: what the machine itself can do.
fn plain_gain(rounds: usize) -> String {
    fn work() -> u64 {
        (0..20_000_000u64).fold(1, |x, k| {
            std::hint::black_box(x.wrapping_mul(0x5851_f42d) ^ k)
        })
    }
    let time = |threads: usize| {
        let start = std::time::Instant::now();
        std::thread::scope(|s| {
            for _ in 1..threads {
                s.spawn(work);
            }
            std::hint::black_box(work());
        });
        start.elapsed()
    };
    let (mut one, mut two) = (Duration::MAX, Duration::MAX);
    for _ in 0..rounds.max(3) {
        one = one.min(time(1));
        two = two.min(time(2));
    }
    let gain = 2.0 * one.as_secs_f64() / two.as_secs_f64();
    format!("A loop that only computes gains {gain:.2} here.")
}

/// Runs one kernel again and again, for a profiler.
pub fn repeat(name: &str, scheme: Scheme, times: usize) {
    let m = module(SUITE, &[]);
    for c in cases().iter().filter(|c| c.name == name) {
        for _ in 0..times {
            run(&m, c, how(scheme, 1));
        }
    }
}
