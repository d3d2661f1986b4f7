//! The tables of the GRace paper, for its three programs written anew.

use std::collections::HashSet;

use deadheat_gpu::check::{Checked, Scheme};
use deadheat_gpu::ptx::{Module, Space};

use super::bench::{Case, Done, How, module, run};
use super::measure::{Cost, mean};
use super::report::Page;

const SOURCE: &str = "tests/gpu/paper/grace.cu";

struct Program {
    name: &'static str,
    good: Case,
    bad: Case,
    good_module: Module,
    bad_module: Module,
    /// Share of dynamic accesses that the paper's analyzer removed (its Table 3).
    paper_removed: Option<f64>,
    /// The paper's slowdown of GRace-addr.
    paper_addr: Option<f64>,
}

fn programs() -> Vec<Program> {
    let co = |below: u32| {
        format!(
            "--kernel cocluster --grid 8 --block 256 --shared 4096 --arg f32:262144:random=1,50 --arg int:64:random=3,{below} \
             --arg f32:32:iota --arg 4096 --arg 64 --arg 8 --arg 4 --arg int:4096"
        )
    };
    let em = |block: u32| {
        format!(
            "--kernel em --grid 8 --block {block} --arg f32:65536:random=1,8 --arg 65536 --arg f32:8:iota --arg f32:8:const=1 \
             --arg 8 --arg f32:1024"
        )
    };
    let scan = "--kernel scan --block 256 --arg f32:512:iota --arg f32:512 --arg 512";
    let plain = module(SOURCE, &[]);
    let fixed = module(SOURCE, &["-DSCAN_FIRST_BARRIER"]);
    vec![
        Program {
            name: "co-cluster",
            good: Case::new("co-cluster", &co(4)),
            bad: Case::new("co-cluster", &co(40)),
            good_module: plain.clone(),
            bad_module: plain.clone(),
            paper_removed: Some(1.0 - 41_216.0 / 10_524_416.0),
            paper_addr: Some(93.9 / 43.5),
        },
        Program {
            name: "em",
            good: Case::new("em", &em(256)),
            bad: Case::new("em", &em(320)),
            good_module: plain.clone(),
            bad_module: plain.clone(),
            paper_removed: Some(1.0 - 10_044.0 / 54_460_416.0),
            paper_addr: Some(158.0 / 130.0),
        },
        Program {
            name: "scan",
            good: Case::new("scan", scan),
            bad: Case::new("scan", scan),
            good_module: fixed,
            bad_module: plain,
            paper_removed: None,
            paper_addr: None,
        },
    ]
}

fn how(scheme: Scheme, analyze: bool) -> How {
    How {
        scheme,
        analyze,
        workers: 1,
        times: 1,
    }
}

/// Races in shared memory, as the paper counts them.
#[derive(Default)]
struct Count {
    pairs: usize,
    addresses: usize,
    threads: usize,
    thread_pairs: u64,
    warps: usize,
}

fn count(c: &Checked) -> Count {
    let races: Vec<_> = c
        .races
        .map
        .values()
        .filter(|r| !r.same_value && r.space == Space::Shared)
        .collect();
    let pairs: HashSet<_> = races
        .iter()
        .map(|r| (r.sides[0].pc, r.sides[1].pc))
        .collect();
    let addresses: HashSet<_> = races.iter().flat_map(|r| &r.addrs).collect();
    let threads: HashSet<_> = races.iter().flat_map(|r| &r.threads).collect();
    let warps: HashSet<_> = races.iter().flat_map(|r| &r.warp_pairs).collect();
    Count {
        pairs: pairs.len(),
        addresses: addresses.len(),
        threads: threads.len(),
        thread_pairs: races.iter().map(|r| r.thread_pairs).sum(),
        warps: warps.len(),
    }
}

fn effectiveness(page: &mut Page, all: &[Program]) {
    page.heading("Races found (the paper's Table 1)");
    page.line(
        "Launches that trigger the bugs, shared memory, all blocks together. \"Proved\" counts pairs of statements that the\nanalyzer decides before the run. False alarms: races reported for the normal launches, under any scheme.\n",
    );
    let mut rows = Vec::new();
    for p in all {
        let stmt = run(&p.bad_module, &p.bad, how(Scheme::Stmt, false));
        let addr = run(&p.bad_module, &p.bad, how(Scheme::Addr, false));
        let both = run(&p.bad_module, &p.bad, how(Scheme::Both, true));
        let (s, a) = (count(&stmt.checked), count(&addr.checked));
        let alarms: usize = [Scheme::Stmt, Scheme::Addr, Scheme::Both]
            .into_iter()
            .flat_map(|k| [how(k, false), how(k, true)])
            .map(|h| {
                let d = run(&p.good_module, &p.good, h);
                let races = d.checked.races.map.values();
                d.proved + races.filter(|r| !r.same_value).count()
            })
            .sum();
        rows.push(vec![
            p.name.to_string(),
            both.proved.to_string(),
            s.pairs.to_string(),
            s.addresses.to_string(),
            s.threads.to_string(),
            s.thread_pairs.to_string(),
            a.addresses.to_string(),
            a.warps.to_string(),
            alarms.to_string(),
        ]);
        page.goal(
            s.pairs > 0 && a.addresses > 0,
            format!("{}: its races are found by both schemes", p.name),
        );
        page.goal(alarms == 0, format!("{}: no false alarm", p.name));
        if p.name == "scan" {
            page.goal(
                both.proved == 3,
                format!(
                    "scan is decided statically with 3 pairs ({} were)",
                    both.proved
                ),
            );
        }
    }
    let names = [
        "program",
        "proved",
        "stmt: pairs of statements",
        "addresses",
        "threads",
        "pairs of threads",
        "addr: addresses",
        "pairs of warps",
        "false alarms",
    ];
    page.table("effectiveness", &names, &rows);
}

fn analyzer(page: &mut Page, all: &[Program]) {
    page.heading("What the static analyzer spares (Table 3)");
    page.line("Normal launches; instructions, and lane accesses that the checker records, shared and global memory together.\n");
    let mut rows = Vec::new();
    for p in all {
        let without = run(&p.good_module, &p.good, how(Scheme::Addr, false));
        let with = run(&p.good_module, &p.good, how(Scheme::Addr, true));
        let (a, b) = (without.checked.checked, with.checked.checked);
        let removed = 1.0 - b as f64 / a.max(1) as f64;
        rows.push(vec![
            p.name.to_string(),
            with.summary.accesses.to_string(),
            with.summary.recorded.to_string(),
            a.to_string(),
            b.to_string(),
            format!("{:.2} %", removed * 100.0),
            p.paper_removed
                .map_or("-".into(), |r| format!("{:.2} %", r * 100.0)),
            format!("{:.0} ms", with.analysis.cpu.as_secs_f64() * 1e3),
        ]);
        if let Some(r) = p.paper_removed {
            page.goal(
                removed >= r,
                format!(
                    "{}: the analyzer removes at least the paper's share ({:.2} % against {:.2} %)",
                    p.name,
                    removed * 100.0,
                    r * 100.0
                ),
            );
        }
    }
    let names = [
        "program",
        "instructions",
        "left",
        "accesses without",
        "accesses with",
        "removed",
        "paper",
        "analysis takes",
    ];
    page.table("analyzer", &names, &rows);
}

fn overhead(page: &mut Page, all: &[Program], rounds: usize) {
    page.heading("Time against unchecked execution (Figure 5, Table 4), and space (Table 2)");
    page.line("Normal launches, one core. Times are those of the launch; what the analyzer takes is in the table above.\n");
    let ways = [
        how(Scheme::Off, false),
        how(Scheme::Addr, true),
        how(Scheme::Both, true),
        how(Scheme::Stmt, true),
        how(Scheme::Addr, false),
        how(Scheme::Both, false),
        how(Scheme::Stmt, false),
    ];
    // scan is a fraction of a millisecond.
    let repeat = |p: &Program| if p.name == "scan" { 200u32 } else { 1 };
    let mut best: Vec<Vec<Option<(Cost, Done)>>> = all
        .iter()
        .map(|_| ways.iter().map(|_| None).collect())
        .collect();
    for _ in 0..rounds {
        for (p, best) in all.iter().zip(&mut best) {
            for (w, best) in ways.iter().zip(best) {
                let times = repeat(p);
                let d = run(&p.good_module, &p.good, How { times, ..*w });
                let cost = best.as_ref().map_or(d.cost, |b| b.0.best(d.cost));
                *best = Some((cost, d));
            }
        }
    }
    let mut rows = Vec::new();
    let mut ratios = Vec::new();
    for (p, best) in all.iter().zip(&best) {
        let b: Vec<&(Cost, Done)> = best.iter().flatten().collect();
        let off = b[0].0.cpu.as_secs_f64();
        let x = |k: usize| b[k].0.cpu.as_secs_f64() / off;
        let addr = x(1);
        ratios.push(addr);
        let kb = |n: u64| format!("{:.1}", n as f64 / 1024.0);
        rows.push(vec![
            p.name.to_string(),
            format!("{:.2}", off * 1e3 / f64::from(repeat(p))),
            format!("{addr:.2}"),
            format!("{:.2}", x(2)),
            format!("{:.2}", x(3)),
            format!("{:.2}", x(4)),
            format!("{:.2}", x(5)),
            format!("{:.2}", x(6)),
            kb(b[4].1.checked.shadow_bytes),
            kb(b[4].1.checked.global_shadow_bytes),
            kb(b[6].1.checked.stmt_bytes),
        ]);
        let paper = p
            .paper_addr
            .map_or(String::new(), |r| format!("; the paper's {r:.2}"));
        page.goal(
            addr <= 1.5,
            format!(
                "{}: addr at most 1.5 times unchecked ({addr:.2}{paper})",
                p.name
            ),
        );
    }
    let names = [
        "program",
        "unchecked ms",
        "addr",
        "both",
        "stmt",
        "addr, no analysis",
        "both, no analysis",
        "stmt, no analysis",
        "addr: kB a block",
        "addr: kB global",
        "stmt: kB a block",
    ];
    page.table("overhead", &names, &rows);
    let m = mean(&ratios);
    page.goal(
        m <= 1.5,
        format!("geometric mean of addr over the three programs at most 1.5 ({m:.2})"),
    );
}

pub fn tables(page: &mut Page, rounds: usize) {
    let all = programs();
    effectiveness(page, &all);
    analyzer(page, &all);
    overhead(page, &all, rounds);
}
