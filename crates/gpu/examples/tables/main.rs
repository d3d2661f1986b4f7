//! `make bench-gpu`: the tables of the GRace paper for its three programs, what checking costs on a suite of OpenCL
//! kernels, the same kernels under Oclgrind, and what a second core gives. One run, one page.
//!
//! `tables [--rounds N] [--only paper|suite|oclgrind|cores] [--note TEXT] [--results DIR]`, or
//! `tables --repeat KERNEL SCHEME TIMES` under a profiler.

mod bench;
mod measure;
mod oclgrind;
mod paper;
mod report;
mod suite;

use deadheat_gpu::check::Scheme;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, kernel, scheme, times] = &args[..]
        && flag == "--repeat"
    {
        let scheme = match scheme.as_str() {
            "off" => Scheme::Off,
            "addr" => Scheme::Addr,
            "stmt" => Scheme::Stmt,
            _ => Scheme::Both,
        };
        suite::repeat(kernel, scheme, times.parse().unwrap_or(1));
        return;
    }
    let after = |flag: &str| {
        let k = args.iter().position(|a| a == flag)?;
        args.get(k + 1).map(String::as_str)
    };
    let rounds = after("--rounds").and_then(|n| n.parse().ok()).unwrap_or(7);
    let only = after("--only");
    let wanted = |part: &str| only.is_none_or(|o| o == part);
    let mut page = report::Page::default();
    report::setup(&mut page, rounds);
    if let Some(note) = after("--note") {
        page.line(note);
    }
    if wanted("paper") {
        paper::tables(&mut page, rounds);
    }
    if wanted("suite") {
        suite::overhead(&mut page, rounds);
    }
    if wanted("oclgrind") {
        suite::beside_oclgrind(&mut page, rounds);
    }
    if wanted("cores") {
        suite::scaling(&mut page, rounds);
    }
    page.close();
    if let Some(dir) = after("--results") {
        match page.write(std::path::Path::new(dir)) {
            Ok(name) => println!("\nWritten to {dir}/{name}.md and .json."),
            Err(e) => {
                eprintln!("{dir}: {e}");
                std::process::exit(2);
            }
        }
    }
}
