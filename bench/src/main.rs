//! `bench`: prints one table of CPU time and memory from one run, or drives real programs, or soaks the runtime.

use std::process::ExitCode;

use deadheat_bench::args::{self, Args, HELP, Mode};
use deadheat_bench::error::Result;
use deadheat_bench::layout::Layout;
use deadheat_bench::session::{self, Plan};
use deadheat_bench::tool::Tool;
use deadheat_bench::{checking, micro, packages, real, results, setup, soak, table};

/// What stands over the table of checking.
const CHECKING: &str = "Checking recordings (always the small sizes), millions of accesses per second: of the processor on one core, of the\n\
    clock on two and on the GPU, or the software that stands in for one; the best of the rounds, but one on the GPU.\n\
    B/1000 is bytes of the recording for 1000 accesses; RAPID is its HB engine on the same execution, in millions of\n\
    its events per second, where RAPID_HOME names it and the recording is small.\n\n";

fn main() -> ExitCode {
    match args::parse(std::env::args().skip(1)).and_then(|a| run(&a)) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<u8> {
    if args.mode == Mode::Help {
        print!("{HELP}");
        return Ok(0);
    }
    let layout = Layout::find(args.cache.clone(), args.deadheat.clone())?;
    match args.mode {
        Mode::Help => Ok(0),
        Mode::Table => measure(&layout, args),
        Mode::Checking => {
            packages::ensure(&[Tool::Native], false)?;
            let table = checking::run(&layout, &args.programs, args.threads, args.rounds())?;
            print!("{CHECKING}{}", table.render());
            Ok(0)
        }
        Mode::RealPrograms => {
            packages::ensure(&[Tool::Native], true)?;
            real::run(&layout, args)
        }
        Mode::Soak => {
            packages::ensure(&[Tool::Native], false)?;
            let tools = [Tool::Deadheat, Tool::Split];
            for tool in tools.into_iter().filter(|tool| args.tools.contains(tool)) {
                let text = soak::run(&layout, tool, args.seconds, args.threads)?;
                println!("{text}");
            }
            Ok(0)
        }
    }
}

fn measure(layout: &Layout, args: &Args) -> Result<u8> {
    packages::ensure(&args.tools, args.programs.iter().any(|p| p.is_real()))?;
    let rounds = args.rounds();
    let plan = Plan {
        programs: args.programs.clone(),
        tools: args.tools.clone(),
        rounds,
        most_rounds: args.most_rounds(),
        valgrind_rounds: 1,
        quick: args.quick,
        threads: args.threads,
        limit: args.limit,
    };
    let measured = session::run(layout, &plan)?;
    if !plan.programs.is_empty() {
        print!("{}", table::render(&measured));
    }
    let micro = if args.micro {
        Some(micro::run(layout, &args.tools, rounds, args.quick)?)
    } else {
        None
    };
    let micro_table = micro.as_ref().map(|m| m.render());
    if let Some(text) = &micro_table {
        println!("\nNanoseconds per operation:\n");
        print!("{text}");
    }
    let checking = if args.tools.contains(&Tool::Deadheat) && !args.programs.is_empty() {
        Some(checking::run(layout, &args.programs, args.threads, rounds)?)
    } else {
        None
    };
    let checking_table = checking.as_ref().map(|c| c.render());
    if let Some(text) = &checking_table {
        print!("\n{CHECKING}{text}");
    }
    let setup = setup::describe();
    let mut json = results::as_json(&measured, &setup);
    if let Some(c) = &checking {
        json["checking"] = c.as_json();
    }
    if let Some(m) = &micro {
        json["nanoseconds"] = m.as_json();
    }
    let json = format!("{json:#}\n");
    if let Some(file) = &args.json {
        results::write(file, &json)?;
    }
    if let Some(dir) = &args.results {
        let date = results::today();
        results::write(&dir.join(format!("{date}.json")), &json)?;
        let mut text = results::as_markdown(&measured, &setup, micro_table.as_deref());
        if let Some(table) = &checking_table {
            text += &format!("\n## Checking\n\n{CHECKING}```text\n{table}```\n");
        }
        results::write(&dir.join(format!("{date}.md")), &text)?;
    }
    Ok(0)
}
