//! CUDA and OpenCL sources to PTX that keeps every access of the source.
//!
//! Ordinary optimization removes dead stores, and with them real races; so the front end's code is only brought into
//! registers, inlined, and given its address spaces, and then translated without optimization.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use super::ToolError;

const HEADER: &str = include_str!("deadheat_cuda.h");
const RUNTIME: &str = include_str!("deadheat_runtime.h");
const PASSES: &str =
    "function(sroa),inline,function(sroa,instsimplify,simplifycfg,infer-address-spaces)";
/// Toolkit headers that sources name; ours is included before the source.
const EMPTY: [&str; 7] = [
    "cuda_runtime.h",
    "cuda.h",
    "device_launch_parameters.h",
    "cuda_runtime_api.h",
    "device_functions.h",
    "math_constants.h",
    "vector_types.h",
];

/// A directory that is removed when dropped.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// # Errors
    /// The directory cannot be made.
    pub fn new() -> Result<Scratch, ToolError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("deadheat-gpu-{}-{n}", std::process::id()));
        std::fs::create_dir_all(&dir).map_err(|e| {
            ToolError(format!(
                "cannot make {}: {e} (set TMPDIR to a place that can be written)",
                dir.display()
            ))
        })?;
        Ok(Scratch(dir))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Finds a program under one of several names in PATH.
pub fn find(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    names.iter().find_map(|n| {
        std::env::split_paths(&path)
            .map(|d| d.join(n))
            .find(|p| p.is_file())
    })
}

fn tool(base: &str) -> Result<PathBuf, ToolError> {
    let names: Vec<String> = [19, 20, 21, 18]
        .iter()
        .map(|v| format!("{base}-{v}"))
        .chain([base.to_string()])
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    find(&names).ok_or_else(|| {
        ToolError(format!("`{base}` is not in PATH; install clang and llvm, for example: apt install clang-19 llvm-19"))
    })
}

fn run(cmd: &mut Command, what: &str) -> Result<(), ToolError> {
    let out = cmd
        .output()
        .map_err(|e| ToolError(format!("cannot start {what}: {e}")))?;
    if out.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&out.stderr);
    Err(ToolError(format!("{what} failed:\n{}", text.trim_end())))
}

/// What to compile with.
#[derive(Clone, Debug, Default)]
pub struct CompileOptions {
    /// `-I`, `-D` and friends, passed on.
    pub extra: Vec<String>,
    /// A CUDA toolkit whose headers are used instead of ours.
    pub cuda_path: Option<PathBuf>,
}

/// Writes our headers into `dir`.
///
/// # Errors
/// The directory cannot be written.
pub fn write_headers(dir: &Path) -> Result<(), ToolError> {
    let put = |name: &str, text: &str| {
        std::fs::write(dir.join(name), text)
            .map_err(|e| ToolError(format!("cannot write {name}: {e}")))
    };
    put("deadheat_cuda.h", HEADER)?;
    put("deadheat_runtime.h", RUNTIME)?;
    EMPTY.iter().try_for_each(|n| put(n, "#pragma once\n"))
}

/// PTX of a `.ptx`, `.cu` or `.cl` file.
///
/// # Errors
/// A file that cannot be read or compiled, or a tool that is missing; the compiler's own messages are passed on.
pub fn to_ptx(file: &Path, options: &CompileOptions) -> Result<String, ToolError> {
    let ext = file.extension().and_then(|e| e.to_str()).unwrap_or("");
    if !file.is_file() {
        return Err(ToolError(format!("there is no file {}", file.display())));
    }
    match ext {
        "ptx" => std::fs::read_to_string(file)
            .map_err(|e| ToolError(format!("cannot read {}: {e}", file.display()))),
        "cu" => compile(file, options, cuda_flags),
        "cl" => compile(file, options, opencl_flags),
        other => Err(ToolError(format!(
            "{}: `.{other}` is neither CUDA (.cu), OpenCL (.cl) nor PTX (.ptx)",
            file.display()
        ))),
    }
}

fn cuda_flags(dir: &Path, options: &CompileOptions) -> Result<(PathBuf, Vec<String>), ToolError> {
    let mut f: Vec<String> = [
        "-x",
        "cuda",
        "--cuda-device-only",
        "--cuda-gpu-arch=sm_70",
        "--cuda-feature=+ptx63",
        "-nocudalib",
    ]
    .iter()
    .map(|s| (*s).to_string())
    .collect();
    match &options.cuda_path {
        Some(p) => {
            f.push(format!("--cuda-path={}", p.display()));
            f.push("-Wno-unknown-cuda-version".into());
        }
        None => {
            write_headers(dir)?;
            f.push("-nocudainc".into());
            f.push("-include".into());
            f.push(dir.join("deadheat_cuda.h").display().to_string());
            f.push(format!("-I{}", dir.display()));
        }
    }
    Ok((tool("clang++")?, f))
}

fn opencl_flags(_: &Path, _: &CompileOptions) -> Result<(PathBuf, Vec<String>), ToolError> {
    let Some(clc) = libclc() else {
        return Err(ToolError(
            "OpenCL needs libclc; install it, for example: apt install libclc-19".into(),
        ));
    };
    let f = [
        "-x",
        "cl",
        "-target",
        "nvptx64-nvidia-cuda",
        "-march=sm_70",
        "-cl-std=CL2.0",
        "-Wno-linker-warnings",
    ]
    .iter()
    .map(|s| (*s).to_string())
    .chain(
        ["-Xclang", "-mlink-builtin-bitcode", "-Xclang"]
            .iter()
            .map(|s| (*s).to_string()),
    )
    .chain([clc.display().to_string()])
    .collect();
    Ok((tool("clang")?, f))
}

/// libclc's library for NVIDIA's targets.
pub fn libclc() -> Option<PathBuf> {
    let mut dirs: Vec<PathBuf> = vec!["/usr/lib/clc".into(), "/usr/share/clc".into()];
    for v in [19, 20, 21, 18] {
        dirs.push(format!("/usr/lib/clang/{v}/lib/clc").into());
        dirs.push(format!("/usr/lib/llvm-{v}/share/clc").into());
        dirs.push(format!("/usr/lib/llvm-{v}/lib/clang/{v}/lib/clc").into());
        dirs.push(format!("/usr/share/clc-{v}").into());
    }
    if let Some(d) = std::env::var_os("DEADHEAT_LIBCLC") {
        dirs.insert(0, d.into());
    }
    dirs.iter()
        .map(|d| d.join("nvptx64--nvidiacl.bc"))
        .find(|p| p.is_file())
}

type Flags = fn(&Path, &CompileOptions) -> Result<(PathBuf, Vec<String>), ToolError>;

fn compile(file: &Path, options: &CompileOptions, flags: Flags) -> Result<String, ToolError> {
    let dir = Scratch::new()?;
    let (clang, args) = flags(dir.path(), options)?;
    let (bc, opt, ptx) = (
        dir.path().join("k.bc"),
        dir.path().join("k.opt.bc"),
        dir.path().join("k.ptx"),
    );
    run(
        Command::new(clang)
            .args(&args)
            .args(&options.extra)
            .args([
                "-gline-tables-only",
                "-O1",
                "-Xclang",
                "-disable-llvm-passes",
                "-emit-llvm",
                "-c",
            ])
            .arg(file)
            .arg("-o")
            .arg(&bc),
        "clang",
    )?;
    run(
        Command::new(tool("opt")?)
            .arg(format!("-passes={PASSES}"))
            .arg("-inline-threshold=4000")
            .arg(&bc)
            .arg("-o")
            .arg(&opt),
        "opt",
    )?;
    run(
        Command::new(tool("llc")?)
            .args(["-O0", "-mcpu=sm_70", "-mattr=+ptx63"])
            .arg(&opt)
            .arg("-o")
            .arg(&ptx),
        "llc",
    )?;
    std::fs::read_to_string(&ptx).map_err(|e| ToolError(format!("cannot read the PTX: {e}")))
}
