//! GPU findings in the forms that all findings have: JSON against our schema, the others by what they must say (the
//! report crate's tests compare its SARIF with the official schema).

use std::path::PathBuf;
use std::process::Command;

use boon::{Compiler, Schemas};
use serde_json::Value;

fn manifest() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn valid(value: &Value) {
    let schema = manifest().join("../../docs/findings.schema.json");
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    let place = schema.to_str().expect("a path in UTF-8");
    let index = compiler.compile(place, &mut schemas).expect("a schema");
    if let Err(e) = schemas.validate(value, index) {
        panic!("{e:#}");
    }
}

/// A report on a kernel of the corpus, in one of the forms.
fn report(kernel: &str, format: &str, more: &[&str]) -> String {
    let file = manifest().join("../../tests/gpu/sync.cu");
    let o = Command::new(env!("CARGO_BIN_EXE_deadheat-gpu"))
        .arg("check")
        .arg(&file)
        .args(["--kernel", kernel, "--format", format])
        .args(more)
        .output()
        .expect("check");
    assert_eq!(
        o.status.code(),
        Some(1),
        "{}",
        String::from_utf8_lossy(&o.stderr)
    );
    String::from_utf8(o.stdout).expect("UTF-8")
}

fn json(kernel: &str, more: &[&str]) -> Value {
    serde_json::from_str(&report(kernel, "json", more)).expect("JSON")
}

#[test]
fn json_fits_the_schema_and_holds_launch_and_threads() {
    for (kernel, kind, more) in [
        ("same_slot", "kernel-race", &["--block", "64"][..]),
        (
            "same_slot",
            "kernel-race",
            &["--block", "64", "--no-static"],
        ),
        ("diverge_if", "barrier-divergence", &["--block", "64"]),
        (
            "null_pointer",
            "out-of-bounds",
            &["--block", "32", "--arg", "0"],
        ),
        ("misaligned", "misaligned", &["--block", "32"]),
    ] {
        let value = json(kernel, more);
        valid(&value);
        let finding = &value["findings"][0];
        assert_eq!(finding["kind"], kind);
        assert_eq!(finding["launch"]["kernel"], kernel);
        assert_eq!(value["launches"][0]["kernel"], kernel);
    }
    let value = json("same_slot", &["--block", "64", "--no-static"]);
    let place = &value["findings"][0]["accesses"][0]["grid"];
    assert!(place["lane"].is_u64() && place["ptx_line"].as_u64() > Some(0));
    assert!(value["findings"][0]["launch"]["extent"]["thread_pairs"].as_u64() > Some(0));
}

#[test]
fn sarif_names_rule_and_launch() {
    let value: Value =
        serde_json::from_str(&report("same_slot", "sarif", &["--block", "64"])).expect("JSON");
    let result = &value["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "kernel-race");
    let message = result["message"]["text"].as_str().unwrap_or_default();
    assert!(message.contains("same_slot<<<1, 64>>>"), "{message}");
}

#[test]
fn text_and_html_name_both_sides() {
    for format in ["text", "html"] {
        let text = report(
            "warp_exchange_bad",
            format,
            &["--block", "32", "--warps", "independent"],
        );
        for part in [
            "of block 0",
            "barrier phase 0",
            "independent warps of 32 lanes",
            "__syncwarp",
        ] {
            assert!(
                text.contains(part),
                "{format}: {part} is missing in\n{text}"
            );
        }
    }
}

#[test]
fn a_suppression_silences() {
    let file = std::env::temp_dir().join(format!("deadheat-gpu-supp-{}", std::process::id()));
    std::fs::write(&file, "# known\nkernel-race:^same_slot$\n").expect("writes");
    let o = Command::new(env!("CARGO_BIN_EXE_deadheat-gpu"))
        .arg("check")
        .arg(manifest().join("../../tests/gpu/sync.cu"))
        .args(["--kernel", "same_slot", "--block", "64", "--suppressions"])
        .arg(&file)
        .output()
        .expect("check");
    let out = String::from_utf8_lossy(&o.stdout);
    assert_eq!(o.status.code(), Some(0), "{out}");
    assert!(out.contains("silenced"), "{out}");
    let _ = std::fs::remove_file(&file);
}
