//! Small traces written by hand, each with the races it has. The naive detector must find exactly those; FastTrack,
//! DJIT+ and Goldilocks the same bytes, by some of the same pairs.

mod atomics;
mod fences;
mod locks;
mod memory;
mod plain;
mod strands;

use deadheat_detect::fasttrack::FastTrack;
use deadheat_detect::naive::Naive;
use deadheat_detect::{Race, djit, goldilocks, racing_bytes, run};
use deadheat_trace::{Trace, legal};

/// Judges a trace and compares with the expected races: one a line, `@old @new address size`, by the sites of the two
/// accesses, sorted. If the trace begins no strand itself, `t0` forks all the strands that occur first.
#[track_caller]
pub fn check(text: &str, expected: &str) {
    let mut trace: Trace = text
        .parse()
        .unwrap_or_else(|why| panic!("{why} of\n{text}"));
    if !text.contains("begin") {
        trace = with_prelude(&trace);
    }
    legal::check(&trace).unwrap_or_else(|why| panic!("{why}"));

    let all = run(&mut Naive::new(), &trace);
    let mut lines: Vec<String> = all.iter().map(|race| line(race, &trace)).collect();
    lines.sort();
    let wanted: Vec<&str> = expected
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    assert_eq!(lines, wanted, "the naive detector on\n{trace}");

    exact(
        "FastTrack",
        &run(&mut FastTrack::new(), &trace),
        &all,
        &trace,
    );
    exact(
        "DJIT+",
        &run(&mut djit::OnTrace::new(), &trace),
        &all,
        &trace,
    );
    exact(
        "Goldilocks",
        &run(&mut goldilocks::OnTrace::new(), &trace),
        &all,
        &trace,
    );
}

#[track_caller]
fn exact(name: &str, found: &[Race], all: &[Race], trace: &Trace) {
    assert_eq!(racing_bytes(found), racing_bytes(all), "{name} on\n{trace}");
    for race in found {
        // An entry may have been subsumed in one cell and not in the next: then only a part of the pair's bytes is found.
        let inside = |other: &Race| {
            (other.old, other.new) == (race.old, race.new) && other.range.contains(race.range)
        };
        assert!(
            all.iter().any(inside),
            "{name}'s {} on\n{trace}",
            line(race, trace)
        );
    }
}

fn with_prelude(trace: &Trace) -> Trace {
    let last = trace
        .events
        .iter()
        .map(|event| event.strand.0)
        .max()
        .unwrap_or(0);
    let forks = (1..=last)
        .map(|n| format!("t0 fork t{n}\nt{n} begin\n"))
        .collect::<String>();
    format!("t0 begin\n{forks}{trace}")
        .parse()
        .unwrap_or_else(|why| panic!("{why}"))
}

fn line(race: &Race, trace: &Trace) -> String {
    let site = |at: usize| match trace.events[at].site {
        Some(site) => site.to_string(),
        None => panic!("`{}` races; give it a site", trace.events[at]),
    };
    format!("{} {} {}", site(race.old.0), site(race.new.0), race.range)
}
