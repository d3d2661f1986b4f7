//! The GPU engine as users meet it: the findings of the one on the CPU, on recordings of all bench programs; and a clear
//! sentence where there is no GPU.

mod common;

use common::{Folder, RACY, check, succeed, text};
use serde_json::Value;
use std::path::Path;

/// The bench programs, with sizes that take a moment.
const PROGRAMS: [(&str, u32); 12] = [
    ("matmul", 24),
    ("fft", 8),
    ("lu", 48),
    ("radix", 3000),
    ("nbody", 40),
    ("sor", 40),
    ("hashtable", 2000),
    ("rwtree", 1500),
    ("freetree", 1500),
    ("queue", 1000),
    ("refcount", 2000),
    ("wordcount", 20000),
];

/// The findings of `deadheat check`, without what happened around them: that is told as far as it is known by then.
fn findings(folder: &Folder, trace: &str, detector: &str, engine: &str) -> Vec<String> {
    let line = format!(
        "check {trace} --detector {detector} --engine {engine} --format json --log {engine}.json"
    );
    let output = folder.deadheat(&line).output().expect("check");
    let said = text(&output.stderr);
    assert!(
        matches!(output.status.code(), Some(0 | 1)),
        "{line}: {said}"
    );
    let report: Value =
        serde_json::from_str(&folder.read(&format!("{engine}.json"))).expect("JSON");
    let mut findings: Vec<String> = report["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .map(|finding| {
            let mut finding = finding.clone();
            let fields = finding.as_object_mut().expect("a finding");
            fields.remove("timeline");
            fields.remove("id");
            finding.to_string()
        })
        .collect();
    findings.sort();
    findings
}

#[test]
fn gpu_and_cpu_agree_on_all_bench_programs() {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/kernels");
    let folder = Folder::new("gpu-agree");
    let mut alarms = 0;
    for (name, size) in PROGRAMS {
        let mut compile = folder.deadheat("cc -g -O1 -pthread -o prog");
        succeed(compile.arg(kernels.join(format!("{name}.c"))).arg("-lm"));
        succeed(&mut folder.deadheat(&format!("record -o app.dht ./prog {size} 4")));
        for detector in ["fasttrack", "goldilocks", "eraser"] {
            let cpu = findings(&folder, "app.dht", detector, "cpu");
            let gpu = findings(&folder, "app.dht", detector, "gpu");
            assert_eq!(cpu, gpu, "{name} with {detector}");
            // The programs are right; Eraser judges a discipline that most of them do not follow.
            assert!(detector == "eraser" || cpu.is_empty(), "{name}: {cpu:?}");
            alarms += cpu.len();
        }
    }
    assert!(alarms > 10, "only {alarms} alarms to compare");
}

#[test]
fn a_running_program_is_checked_on_the_gpu() {
    let folder = Folder::new("gpu-split");
    folder.file("prog.c", RACY);
    succeed(&mut folder.deadheat("cc -g -O1 -pthread prog.c -o prog"));
    let output = check(
        &mut folder.deadheat("run --split=gpu --detector all ./prog"),
        1,
        "1. data race: `shared`",
    );
    let said = text(&output.stderr);
    assert!(said.contains("fasttrack ran on "), "{said}");
    assert!(!said.contains("XDG_RUNTIME_DIR"), "{said}");
}

#[test]
fn without_a_gpu_a_sentence_says_so() {
    let folder = Folder::new("gpu-none");
    folder.file("prog.c", RACY);
    succeed(&mut folder.deadheat("cc -g -O1 -pthread prog.c -o prog"));
    succeed(&mut folder.deadheat("record -o app.dht ./prog"));
    let blind = |line: &str| {
        let mut command = folder.deadheat(line);
        for variable in ["VK_ICD_FILENAMES", "VK_DRIVER_FILES"] {
            command.env(variable, folder.path().join("none.json"));
        }
        command
    };
    for line in ["run --split=gpu ./prog", "check --engine gpu app.dht"] {
        let output = check(&mut blind(line), 2, "no GPU with a Vulkan driver was found");
        assert!(text(&output.stderr).contains("mesa-vulkan-drivers"));
        assert_eq!(text(&output.stdout), "", "the program did not run");
    }
    for line in [
        "run --split=gpu,cpu ./prog",
        "check --engine gpu,cpu app.dht",
    ] {
        check(&mut blind(line), 1, "so the cores of this machine check");
    }
    for line in ["run --split=tpu ./prog", "check --engine tpu app.dht"] {
        check(
            &mut folder.deadheat(line),
            2,
            "is cpu, gpu or gpu,cpu, not `tpu`",
        );
    }
}
