//! Instrumented PTX, run on our machine without its own checker, finds the same races in shared memory as the checker;
//! ptxas accepts it, where NVIDIA's tools are installed.

#[path = "common/mod.rs"]
mod common;

use std::collections::BTreeSet;
use std::path::Path;

use deadheat_gpu::check::{self, Options, Scheme};
use deadheat_gpu::frontend::cli;
use deadheat_gpu::frontend::compile::{libclc, to_ptx};
use deadheat_gpu::frontend::finding::lines;
use deadheat_gpu::frontend::session::check_ptx;
use deadheat_gpu::instrument::{instrument, report};
use deadheat_gpu::machine::{Launch, Loaded, Memory};
use deadheat_model::{FindingKind, MemoryKind};

const CASES: [(&str, &str); 10] = [
    ("memory.cu", "histogram_noclear"),
    ("reduce.cu", "red_tree"),
    ("reduce.cu", "red_tree_nobar"),
    ("reduce.cu", "red_reuse_bad"),
    ("reduce.cu", "red_atomic_shared_bad"),
    ("scan.cu", "scan_naive"),
    ("scan.cu", "scan_naive_bad"),
    ("scan.cu", "rotate_bad"),
    ("scan.cu", "scan_double"),
    ("sync.cu", "same_slot"),
];

fn ptx_of(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/gpu")
        .join(file);
    to_ptx(&path, &Default::default()).expect("compiles")
}

#[test]
fn the_tables_find_what_the_checker_finds() {
    for (file, kernel) in CASES {
        let text = ptx_of(file);
        let args: Vec<String> = [
            "x.ptx",
            "--kernel",
            kernel,
            "--block",
            match kernel {
                "rotate_bad" => "96",
                _ => "128",
            },
        ]
        .iter()
        .map(|s| (*s).to_string())
        .collect();
        let mut o = cli::parse(&args).expect("options").check;
        o.workers = 1;
        o.analyze = false;
        let r = check_ptx(&text, &o, &|_| {}).expect("runs");
        let want: BTreeSet<(u32, u32)> = r
            .findings()
            .filter(|f| f.kind == FindingKind::KernelRace)
            .filter(|f| {
                f.memory
                    .as_ref()
                    .is_some_and(|m| m.kind == MemoryKind::Shared)
            })
            .map(|f| {
                let l = lines(f);
                (l[0].1.min(l[1].1), l[0].1.max(l[1].1))
            })
            .collect();
        for scheme in [Scheme::Addr, Scheme::Stmt] {
            let done =
                instrument(&text, scheme, Some(kernel)).unwrap_or_else(|e| panic!("{file}: {e}"));
            let memory = Memory::new();
            let loaded = Loaded::new(&done.text, &memory).expect("loads");
            let name = loaded
                .module
                .kernels()
                .find(|k| k.name.contains(&format!("{}{kernel}", kernel.len())))
                .expect("kernel")
                .name
                .clone();
            let p = loaded.program(&name).expect("decodes");
            let spec = &o.launches[0];
            let mut params = vec![0u8; p.param_bytes as usize];
            for (_, off, size, _) in &p.params {
                if *size == 8 {
                    let b = memory.alloc("b", 1 << 16, false).expect("memory");
                    let data: Vec<u8> = (0..1u32 << 14).flat_map(u32::to_le_bytes).collect();
                    memory.write(b, &data);
                    params[*off as usize..*off as usize + 8].copy_from_slice(&b.to_le_bytes());
                }
            }
            let l = Launch {
                grid: spec.grid,
                block: spec.block,
                dynamic_shared: 0,
                params,
                workers: 1,
                step_limit: 1 << 30,
                independent: false,
                grid_id: 1,
            };
            // Twice: the second launch must not see the first one's stamps.
            for _ in 0..2 {
                let off = Options {
                    scheme: Scheme::Off,
                    ..Options::default()
                };
                let c = check::run(&p, &memory, &l, off, Vec::new(), &|_| {}).expect("runs");
                assert!(
                    c.outcome.faults.is_empty(),
                    "{kernel}: {:?}",
                    c.outcome.faults
                );
            }
            let line = |s: u32| done.sites.get(s as usize).map_or(0, |l| l.line);
            let got: BTreeSet<(u32, u32)> = report(&loaded, &memory)
                .iter()
                .map(|r| {
                    let (a, b) = (line(r.first), r.second.map_or(0, line));
                    (a.min(b), a.max(b))
                })
                .collect();
            if scheme == Scheme::Stmt {
                assert_eq!(got, want, "{kernel} stmt");
            } else {
                assert!(
                    got.is_subset(&want) && got.is_empty() == want.is_empty(),
                    "{kernel} addr: {got:?} {want:?}"
                );
            }
        }
    }
}

/// Every kernel of the corpus, instrumented in both ways, is good for NVIDIA's assembler.
#[test]
fn ptxas_accepts_it() {
    let Some(tools) = common::nvidia() else {
        return;
    };
    let dir = std::env::temp_dir().join(format!("deadheat-ptxas-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("scratch");
    let ends: &[&str] = if libclc().is_some() {
        &["cu", "cl"]
    } else {
        &["cu"]
    };
    let mut count = 0;
    // Asynchronous copies are of a later architecture than clang is asked for here.
    let old = |f: &std::path::PathBuf| !f.ends_with("async.cu");
    for file in common::files(&common::corpus(), ends)
        .into_iter()
        .filter(old)
    {
        let text = to_ptx(&file, &Default::default()).expect("compiles");
        for scheme in [Scheme::Addr, Scheme::Stmt] {
            let kernels = deadheat_gpu::ptx::parse(&text).expect("PTX");
            let names: Vec<String> = kernels.kernels().map(|k| k.name.clone()).collect();
            // All at once where possible; kernels that cannot be instrumented are told, and the others tried alone.
            let mut texts = Vec::new();
            match instrument(&text, scheme, None) {
                Ok(done) => {
                    count += names.len();
                    texts.push(done.text);
                }
                Err(_) => {
                    for n in &names {
                        if let Ok(done) = instrument(&text, scheme, Some(n)) {
                            count += 1;
                            texts.push(done.text);
                        }
                    }
                }
            }
            for text in texts {
                let (a, b) = (dir.join("k.ptx"), dir.join("k.cubin"));
                std::fs::write(&a, text).expect("write");
                let o = std::process::Command::new(tools.join("bin/ptxas"))
                    .args(["-arch=sm_75", "-o"])
                    .arg(&b)
                    .arg(&a)
                    .output()
                    .expect("ptxas");
                assert!(
                    o.status.success(),
                    "{} {scheme:?}: {}",
                    file.display(),
                    String::from_utf8_lossy(&o.stderr)
                );
            }
        }
    }
    println!("{count} instrumented kernels");
    assert!(count >= 200, "{count}");
    let _ = std::fs::remove_dir_all(&dir);
}
