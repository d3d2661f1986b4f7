//! The OpenCL suite: what checking costs on each kernel.

use deadheat_gpu::check::Scheme;

use super::bench::{Case, Done, How, file, module, run};
use super::measure::{Cost, mean};

pub const SUITE: &str = "bench/gpu/suite.cl";

/// The launches that the suite's comments name.
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

pub fn dev(only: &str, rounds: usize) {
    let m = module(SUITE, &[]);
    let hows = [
        (Scheme::Off, false, 1),
        (Scheme::Addr, false, 1),
        (Scheme::Both, false, 1),
        (Scheme::Addr, false, 2),
    ];
    let mut ratios = Vec::new();
    for c in cases().iter().filter(|c| c.name.contains(only)) {
        let mut best = [Cost {
            wall: std::time::Duration::MAX,
            cpu: std::time::Duration::MAX,
        }; 4];
        let mut last: Option<Done> = None;
        for _ in 0..rounds {
            for (k, (scheme, analyze, workers)) in hows.iter().enumerate() {
                let d = run(
                    &m,
                    c,
                    How {
                        scheme: *scheme,
                        analyze: *analyze,
                        workers: *workers,
                    },
                );
                best[k] = best[k].best(d.cost);
                if k == 1 {
                    last = Some(d);
                }
            }
        }
        let d = last.unwrap();
        let off = run(
            &m,
            c,
            How {
                scheme: Scheme::Off,
                analyze: false,
                workers: 1,
            },
        );
        let ms = |c: Cost| c.cpu.as_secs_f64() * 1e3;
        let r = ms(best[1]) / ms(best[0]);
        ratios.push(r);
        println!(
            "{:14} {:8} acc  off {:7.2} ms ({:6.0} M lane-instr/s) addr {:7.2} ms {:5.2}x both {:5.2}x  {:6.1} M acc/s  2 cores wall {:.2} races {}",
            c.name,
            d.checked.checked,
            ms(best[0]),
            off.checked.outcome.lane_steps as f64 / best[0].cpu.as_secs_f64() / 1e6,
            ms(best[1]),
            r,
            ms(best[2]) / ms(best[0]),
            d.checked.checked as f64 / best[1].cpu.as_secs_f64() / 1e6,
            best[1].wall.as_secs_f64() / best[3].wall.as_secs_f64(),
            d.checked.races.map.len()
        );
    }
    println!("geomean addr/off {:.3}", mean(&ratios));
}

pub fn prof(name: &str, scheme: Scheme, rounds: usize) {
    let m = module(SUITE, &[]);
    for c in cases().iter().filter(|c| c.name == name) {
        for _ in 0..rounds {
            run(
                &m,
                c,
                How {
                    scheme,
                    analyze: false,
                    workers: 1,
                },
            );
        }
    }
}
