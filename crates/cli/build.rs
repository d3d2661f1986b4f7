//! Builds the runtime library and lays it out for embedding.
//!
//! The runtime is its own cargo root (no std, panic=abort, fat LTO), built here twice: as it is linked into programs
//! that load their C library, and with the `wrap` feature for static ones. The symbols that programs export, and those
//! that static programs wrap, are read off the archives, so they cannot drift from the runtime. What is embedded has its
//! debug information taken out (symbols stay: reports name the runtime's functions by them) and is compressed.
//!
//! The builds live in `target/runtime`, beside the profiles, so that debug, release and clippy builds of the command
//! share them.
//!
//! The stand-in for CUDA's runtime library (`crates/gpu` as a shared library) is built and embedded in release builds
//! only; others find it beside them in the target folder, where cargo puts it anyway.
//!
//! `DEADHEAT_RUNTIME_DIR` names a folder with the finished libraries to embed instead, for packagers who build the parts
//! apart.

use object::read::archive::ArchiveFile;
use object::{Object, ObjectSymbol};
use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

const LIBRARIES: [&str; 4] = [
    "libdeadheat_rt.a",
    "libdeadheat_rt.so",
    "libdeadheat_rt_wrap.a",
    "libdeadheat_compiler.so",
];

/// Stands in for CUDA's runtime library.
const GPU: &str = "libdeadheat_gpu.so";

/// Made here, from the archives.
const LISTS: [&str; 2] = ["exports.list", "wrap.flags"];

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=DEADHEAT_RUNTIME_DIR");
    match env::var_os("DEADHEAT_RUNTIME_DIR").map(PathBuf::from) {
        Some(dir) => {
            for name in LIBRARIES {
                copy(&dir.join(name), &out.join(name));
            }
            if dir.join(GPU).exists() {
                copy(&dir.join(GPU), &out.join(GPU));
            }
            println!("cargo::rerun-if-changed={}", dir.display());
        }
        None => build(&out),
    }
    if out.join(GPU).exists() {
        strip_debug(&out.join(GPU));
    }
    for name in LIBRARIES {
        strip_debug(&out.join(name));
    }
    let exported = symbols(&out.join("libdeadheat_rt.a"));
    let list: String = exported.iter().map(|name| format!("  {name};\n")).collect();
    write(&out.join("exports.list"), &format!("{{\n{list}}};\n"));
    let flags: String = symbols(&out.join("libdeadheat_rt_wrap.a"))
        .iter()
        .filter_map(|name| name.strip_prefix("__wrap_"))
        .map(|name| format!("-Wl,--wrap={name}\n"))
        .collect();
    write(&out.join("wrap.flags"), &flags);
    pack(&out);
}

/// Takes the debug information out of a library. Without objcopy the library is embedded as it is.
fn strip_debug(library: &Path) {
    let status = Command::new("objcopy")
        .arg("--strip-debug")
        .arg(library)
        .status();
    if !status.is_ok_and(|status| status.success()) {
        println!(
            "cargo::warning=objcopy is missing or failed, so the command will be larger than it need be"
        );
    }
}

/// Compresses the files, and lists them for `unpack.rs` with their names and sizes.
fn pack(out: &Path) {
    let runtime: Vec<&str> = LIBRARIES.into_iter().chain(LISTS).collect();
    let hash = pack_files(out, &runtime, "packed.rs");
    println!("cargo::rustc-env=DEADHEAT_RUNTIME_HASH={hash:016x}");
    let gpu: &[&str] = if out.join(GPU).exists() { &[GPU] } else { &[] };
    let hash = pack_files(out, gpu, "packed_gpu.rs");
    println!("cargo::rustc-env=DEADHEAT_GPU_HASH={hash:016x}");
}

/// One list; gives a number that stands for its content.
fn pack_files(out: &Path, names: &[&str], list_name: &str) -> u64 {
    let mut list = String::from("&[\n");
    let mut hash = FNV_START;
    for name in names {
        let data =
            fs::read(out.join(name)).unwrap_or_else(|error| panic!("cannot read {name}: {error}"));
        hash = fnv(hash, &data);
        let packed = out.join(format!("{name}.deflate"));
        fs::write(&packed, miniz_oxide::deflate::compress_to_vec(&data, 8))
            .unwrap_or_else(|error| panic!("cannot write {}: {error}", packed.display()));
        list.push_str(&format!(
            "    Packed {{ name: {name:?}, size: {}, deflated: include_bytes!({packed:?}) }},\n",
            data.len()
        ));
    }
    list.push_str("]\n");
    write(&out.join(list_name), &list);
    hash
}

const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

/// Carries a number on that changes when any embedded byte does (FNV-1a).
fn fnv(start: u64, data: &[u8]) -> u64 {
    data.iter().fold(start, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Builds both variants of the runtime into `out`.
fn build(out: &Path) {
    let crates =
        Path::new(&env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"))
            .join("..");
    let whole = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let gpu: &[&str] = if whole { &["gpu", "report"] } else { &[] };
    let runtime = [
        "runtime-lib",
        "runtime",
        "detect",
        "model",
        "order",
        "compiler-hook",
    ];
    for name in runtime.iter().chain(gpu) {
        for part in ["src", "Cargo.toml", "build.rs", "Cargo.lock"] {
            let path = crates.join(name).join(part);
            if path.exists() {
                println!("cargo::rerun-if-changed={}", path.display());
            }
        }
    }
    let manifest = crates.join("runtime-lib/Cargo.toml");
    let shared = shared_target(out);
    let (plain, wrap) = (shared.join("plain"), shared.join("wrap"));
    // Each is one long compilation on one core.
    let first = cargo(&manifest, &plain, &["build"]);
    let static_only = ["rustc", "--crate-type", "staticlib", "--features", "wrap"];
    let second = cargo(&manifest, &wrap, &static_only);
    let hook = crates.join("compiler-hook/Cargo.toml");
    let third = cargo(&hook, &shared.join("hook"), &["build"]);
    let mut children = vec![first, second, third];
    if whole {
        let library = ["rustc", "--lib", "--crate-type", "cdylib"];
        let gpu = crates.join("gpu/Cargo.toml");
        children.push(cargo(&gpu, &shared.join("gpu"), &library));
    }
    for mut child in children {
        let status = child
            .wait()
            .unwrap_or_else(|error| panic!("cannot wait for cargo: {error}"));
        if !status.success() {
            eprintln!(
                "a library of the command did not build ({status}); the first is {}",
                manifest.display()
            );
            std::process::exit(1); // cargo's own message says the rest
        }
    }
    let (plain, wrap) = (plain.join("release"), wrap.join("release"));
    copy(&plain.join(LIBRARIES[0]), &out.join(LIBRARIES[0]));
    copy(&plain.join(LIBRARIES[1]), &out.join(LIBRARIES[1]));
    copy(&wrap.join(LIBRARIES[0]), &out.join(LIBRARIES[2]));
    // One of an earlier build must not stay.
    let _ = fs::remove_file(out.join(GPU));
    if whole {
        copy(&shared.join("gpu/release").join(GPU), &out.join(GPU));
    }
    let hook = shared.join("hook/release").join(LIBRARIES[3]);
    copy(&hook, &out.join(LIBRARIES[3]));
}

/// `target/runtime`, found from `target/PROFILE/build/PACKAGE/out`; in `out` itself if cargo lays things out anew.
fn shared_target(out: &Path) -> PathBuf {
    out.ancestors()
        .find(|dir| dir.file_name().is_some_and(|name| name == "build"))
        .and_then(|build| build.parent()?.parent())
        .unwrap_or(out)
        .join("runtime")
}

/// Builds the runtime with a cargo of its own, away from the flags meant for this build.
fn cargo(manifest: &Path, target: &Path, words: &[&str]) -> Child {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args(words)
        .args(["--release", "--quiet", "--manifest-path"])
        .arg(manifest);
    command.arg("--target-dir").arg(target);
    if manifest.with_file_name("Cargo.lock").exists() {
        command.arg("--locked");
    }
    // What cargo tells this build script about *this* build must not leak into the other one: flags for the host
    // would end up in the runtime, and clippy's wrapper would make it check instead of build.
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        let keep = ["CARGO_HOME", "CARGO_NET_OFFLINE", "CARGO_MAKEFLAGS"].contains(&&*text)
            || text.starts_with("CARGO_REGISTRIES_")
            || text.starts_with("CARGO_HTTP_");
        let drop = [
            "CARGO",
            "RUSTC",
            "RUSTFLAGS",
            "RUSTDOC",
            "TARGET",
            "HOST",
            "PROFILE",
            "OPT_LEVEL",
            "DEBUG",
            "OUT_DIR",
            "CLIPPY_ARGS",
            "NUM_JOBS",
        ];
        if !keep
            && (text.starts_with("CARGO_") || text.starts_with("RUSTC_") || drop.contains(&&*text))
        {
            command.env_remove(&name);
        }
    }
    command
        .spawn()
        .unwrap_or_else(|error| panic!("cannot start cargo for the runtime: {error}"))
}

/// The C symbols that an archive defines for others.
fn symbols(archive: &Path) -> BTreeSet<String> {
    let data = fs::read(archive)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", archive.display()));
    let parsed = ArchiveFile::parse(&*data).expect("an archive");
    let mut names = BTreeSet::new();
    for member in parsed.members() {
        let bytes = member.and_then(|m| m.data(&*data)).expect("a member");
        let Ok(file) = object::File::parse(bytes) else {
            continue;
        };
        for symbol in file
            .symbols()
            .filter(|s| s.is_definition() && s.is_global())
        {
            let visible = match symbol.flags() {
                object::SymbolFlags::Elf { st_other, .. } => {
                    st_other.visibility() == object::elf::STV_DEFAULT
                }
                _ => true,
            };
            let name = symbol.name().unwrap_or_default();
            let rust = ["_ZN", "_R", "rust_", "__rust", "__rdl", "__rg"]
                .iter()
                .any(|p| name.starts_with(p));
            if visible && !rust && !name.is_empty() {
                names.insert(name.to_owned());
            }
        }
    }
    names
}

fn copy(from: &Path, to: &Path) {
    fs::copy(from, to).unwrap_or_else(|error| panic!("cannot copy {}: {error}", from.display()));
}

fn write(path: &Path, text: &str) {
    fs::write(path, text)
        .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
}
