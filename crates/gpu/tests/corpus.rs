//! The kernels of `tests/gpu`: every `// check` line must give exactly the findings it names, with and without the
//! static analyzer. `BLESS=1` is not offered: the expectations are the specification.

#[path = "common/mod.rs"]
mod common;

use deadheat_gpu::frontend::compile::{libclc, to_ptx};

#[test]
fn every_kernel_gives_what_its_line_says() {
    let ends: &[&str] = if libclc().is_some() {
        &["cu", "cl"]
    } else {
        &["cu"]
    };
    let only = std::env::var("CORPUS").unwrap_or_default();
    let mut failures = Vec::new();
    let mut count = 0;
    for f in common::files(&common::corpus(), ends)
        .iter()
        .filter(|f| f.display().to_string().contains(&only))
    {
        let ptx = to_ptx(f, &Default::default()).unwrap_or_else(|e| panic!("{}: {e}", f.display()));
        let (n, bad) = common::run(f, &ptx, &["both", "addr", "stmt", "static"]);
        count += n;
        let name = f.file_name().unwrap_or_default().to_string_lossy();
        failures.extend(bad.into_iter().map(|b| format!("{name}: {b}")));
    }
    println!("{count} checks");
    assert!(
        failures.is_empty(),
        "{} of {count} failed:\n{}",
        failures.len(),
        failures.join("\n")
    );
}
