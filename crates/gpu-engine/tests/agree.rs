//! The GPU engine against the one on the CPU, on random traces: the same racing bytes and the same suspicions, whatever
//! crosses batches, is swept, does not fit, or is not known for sure.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use deadheat_gpu_engine::{Gpu, Limits, engine};
use deadheat_pipeline::{Across, DetectorKind, Settings, Summary, check, check_with};
use deadheat_trace::wire::Memory;
use deadheat_trace::{Shape, Trace, generate};

static GPU: LazyLock<Gpu> = LazyLock::new(|| {
    Gpu::open()
        .unwrap_or_else(|error| panic!("{error}: apt install mesa-vulkan-drivers libvulkan1"))
});

/// All findings, and what was lost; without the numbers of findings, and without what happened around them, which is told as
/// far as it is known when a finding is.
fn told(lines: &[String]) -> Vec<String> {
    let mut told: Vec<String> = lines
        .iter()
        .filter_map(|line| {
            let mut value: serde_json::Value = serde_json::from_str(line).ok()?;
            let fields = value.as_object_mut()?;
            let wanted = fields["event"] == "finding" || fields["event"] == "loss";
            fields.remove("id");
            fields.remove("timeline");
            wanted.then(|| value.to_string())
        })
        .collect();
    told.sort();
    told
}

fn on_cpu(trace: &Trace, settings: &Settings) -> (Summary, Vec<String>) {
    let mut lines = Vec::new();
    let summary = check(&mut Memory::of(trace), settings, &mut |line: &str| {
        lines.push(line.to_owned());
    });
    (summary, told(&lines))
}

fn on_gpu(
    trace: &Trace,
    settings: &Settings,
    batch: u32,
    portion: usize,
    limits: Limits,
) -> (Summary, Vec<String>) {
    let mut other = engine(&GPU, settings, limits).expect("kernels");
    other.batch = batch;
    let mut memory = Memory::of(trace);
    memory.portion = portion;
    let mut lines = Vec::new();
    let summary = check_with(&mut memory, settings, Some(other), &mut |line: &str| {
        lines.push(line.to_owned());
    });
    assert_eq!(summary.failed, None);
    (summary, told(&lines))
}

/// Small sizes, so that everything happens on small traces.
fn tight() -> Limits {
    Limits {
        pages: 2,
        few: 0,
        numbered: 0,
        walk: 3,
        times: 40,
    }
}

/// What both engines must say alike. Of a byte that races either may tell another pair of accesses, whichever it still
/// remembered: so of races the bytes count that both accesses touch. What Eraser suspects it tells alike.
fn essence(detector: DetectorKind, trace: &Trace, told: Vec<String>) -> BTreeSet<String> {
    if detector == DetectorKind::Eraser {
        return told.into_iter().collect();
    }
    let text = trace.to_string();
    let events: Vec<&str> = text.lines().collect();
    told.into_iter()
        .flat_map(|line| clash(&events, &line).unwrap_or_else(|| vec![line]))
        .collect()
}

/// The bytes of a race: a stack in these traces is the number of its event, counted from 1.
fn clash(events: &[&str], line: &str) -> Option<Vec<String>> {
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    let range = |i: usize| {
        let event = value["accesses"][i]["stack"][0].as_u64()?;
        let mut words = events.get(event as usize - 1)?.split(' ').skip(2);
        let addr = u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
        Some((addr, addr + words.next()?.parse::<u64>().ok()?))
    };
    let (one, other) = (range(0)?, range(1)?);
    let bytes = one.0.max(other.0)..one.1.min(other.1);
    Some(bytes.map(|byte| format!("byte {byte:#x}")).collect())
}

/// How many traces have findings.
fn compare(shape: &Shape, seeds: u64, across: Across) -> u64 {
    let mut racy = 0;
    for seed in 0..seeds {
        let trace = generate(seed, shape);
        for detector in [
            DetectorKind::FastTrack,
            DetectorKind::Goldilocks,
            DetectorKind::Eraser,
        ] {
            let settings = Settings {
                detectors: vec![detector],
                across,
                ..Settings::default()
            };
            let (cpu, mut expected) = on_cpu(&trace, &settings);
            racy += u64::from(cpu.findings > 0);
            if detector == DetectorKind::Goldilocks {
                // What is found is the same, and told as by clocks: with the first byte of each access, not of the clash.
                expected = on_cpu(
                    &trace,
                    &Settings {
                        across,
                        ..Settings::default()
                    },
                )
                .1;
            }
            let expected = essence(detector, &trace, expected);
            let ways = [
                (1 << 17, 0, Limits::default()),
                (3, 1, Limits::default()),
                (5, 2, tight()),
            ];
            let (batch, portion, limits) = ways[seed as usize % 3];
            let (_, found) = on_gpu(&trace, &settings, batch, portion, limits);
            let found = essence(detector, &trace, found);
            let missing: Vec<_> = expected.difference(&found).collect();
            let more: Vec<_> = found.difference(&expected).collect();
            assert!(
                missing.is_empty() && more.is_empty(),
                "{detector}, seed {seed}, batches of {batch}, {limits:?}\nonly on the CPU: {missing:#?}\n\
                 only on the GPU: {more:#?}\nof {shape:?}\n{trace}"
            );
        }
    }
    racy
}

#[test]
fn small_programs() {
    assert!(compare(&Shape::small(), 150, Across::Frames) > 100);
}

#[test]
fn programs_of_atomics_and_fences() {
    assert!(compare(&Shape::atomics(), 150, Across::Frames) > 100);
}

#[test]
fn large_programs() {
    assert!(compare(&Shape::large(), 30, Across::Frames) > 30);
}

#[test]
fn disciplined_programs_never_race() {
    for seed in 0..60 {
        let trace = generate(seed, &Shape::disciplined());
        let settings = Settings {
            detectors: vec![DetectorKind::FastTrack, DetectorKind::Goldilocks],
            ..Settings::default()
        };
        let (summary, _) = on_gpu(&trace, &settings, 7, 3, Limits::default());
        assert_eq!((summary.findings, summary.disagreements), (0, 0));
    }
}

#[test]
fn programs_of_many_short_strands() {
    let mut shape = Shape {
        strands: 30,
        decisions: 120,
        ..Shape::small()
    };
    shape.mix.spawn = 30;
    compare(&shape, 30, Across::Frames);
}

/// More locks than the filters have bits: they do not say, and the CPU does.
#[test]
fn programs_of_many_locks() {
    let mut shape = Shape {
        mutexes: 400,
        strands: 12,
        decisions: 400,
        ..Shape::small()
    };
    shape.mix.section = 40;
    compare(&shape, 3, Across::Frames);
}

#[test]
fn frames_alone() {
    compare(&Shape::large(), 12, Across::Nothing);
}

/// Several at once agree on every byte, DJIT+ on the CPU among them.
#[test]
fn all_detectors_at_once() {
    for seed in 0..30 {
        let trace = generate(seed, &Shape::large());
        let settings = Settings {
            detectors: DetectorKind::ALL.to_vec(),
            ..Settings::default()
        };
        let (cpu, expected) = on_cpu(&trace, &settings);
        let (gpu, found) = on_gpu(&trace, &settings, 50, 7, Limits::default());
        assert_eq!(expected, found);
        assert_eq!(cpu.racing_bytes, gpu.racing_bytes);
        assert_eq!(gpu.disagreements, 0);
        assert_eq!(cpu.eraser_alone, gpu.eraser_alone);
        let kinds: BTreeSet<_> = gpu.racing_bytes.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds.len(), 3);
    }
}
