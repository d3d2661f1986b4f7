//! Whole programs: `gpu cc` builds one without a CUDA SDK, `gpu run` runs one on our library and reports.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use deadheat_model::{CheckedLaunch, Exit, ExitHow, FindingKind, Program as Under, Report};
use deadheat_report::symbolize::Mapped;
use deadheat_report::{GpuRun, Suppressions};

use crate::cudart::told::Told;

use super::ToolError;
use super::compile::{CompileOptions, Scratch, find, to_ptx, write_headers};

/// Our stand-in for libcudart.
///
/// # Errors
/// Says where it was looked for.
pub fn library() -> Result<PathBuf, ToolError> {
    if let Some(p) = std::env::var_os("DEADHEAT_CUDART") {
        return Ok(p.into());
    }
    let exe = std::env::current_exe().map_err(|e| ToolError(format!("cannot find myself: {e}")))?;
    let dir = exe.parent().unwrap_or(Path::new("."));
    let name = "libdeadheat_gpu.so";
    [
        dir.join(name),
        dir.join("deps").join(name),
        dir.join("../lib/deadheat").join(name),
        dir.join("..").join(name),
    ]
    .into_iter()
    .filter(|p| p.is_file())
    // Cargo leaves an older one beside the newest when only tests were built.
    .max_by_key(|p| p.metadata().and_then(|m| m.modified()).ok())
    .ok_or_else(|| {
        ToolError(format!(
            "{name} is not beside {}; name it with DEADHEAT_CUDART",
            exe.display()
        ))
    })
}

/// A directory in which our library has all the names that programs look for.
fn library_dir(lib: &Path) -> Result<Scratch, ToolError> {
    let lib = lib
        .canonicalize()
        .map_err(|e| ToolError(format!("{}: {e}", lib.display())))?;
    let dir = Scratch::new()?;
    for n in [
        "libcudart.so",
        "libcudart.so.11.0",
        "libcudart.so.12",
        "libcudart.so.13",
    ] {
        std::os::unix::fs::symlink(&lib, dir.path().join(n))
            .map_err(|e| ToolError(format!("cannot link {n}: {e}")))?;
    }
    Ok(dir)
}

/// Builds a program: device code keeps every access, host code is compiled as asked.
///
/// # Errors
/// What clang says.
pub fn cc(args: &[String], library: &Path) -> Result<(), ToolError> {
    let mut out = PathBuf::from("a.out");
    let mut sources: Vec<PathBuf> = Vec::new();
    let mut rest: Vec<String> = Vec::new();
    let mut device: Vec<String> = Vec::new();
    // What only the host's compilation is told.
    let mut front: Vec<String> = Vec::new();
    let mut only_object = false;
    let mut it = args.iter();
    while let Some(a) = it.next() {
        match a.as_str() {
            "-o" => {
                out = it
                    .next()
                    .ok_or_else(|| ToolError("-o wants a file name".into()))?
                    .into()
            }
            "-c" => only_object = true,
            "-fgpu-default-stream=per-thread" => front.extend(
                [
                    "-Xclang",
                    "-fgpu-default-stream=per-thread",
                    "-DCUDA_API_PER_THREAD_DEFAULT_STREAM",
                ]
                .map(String::from),
            ),
            s if s.ends_with(".cu") => sources.push(s.into()),
            "-I" | "-D" | "-include" => {
                let v = it
                    .next()
                    .ok_or_else(|| ToolError(format!("{a} wants a value")))?;
                device.extend([a.clone(), v.clone()]);
                rest.extend([a.clone(), v.clone()]);
            }
            s => {
                if s.starts_with("-I") || s.starts_with("-D") || s.starts_with("-std=") {
                    device.push(s.into());
                }
                rest.push(s.into());
            }
        }
    }
    if sources.is_empty() {
        return Err(ToolError(
            "no .cu file; for example: deadheat gpu cc app.cu -o app".into(),
        ));
    }
    let clang = find(&[
        "clang++-19",
        "clang++-20",
        "clang++-21",
        "clang++-18",
        "clang++",
    ])
    .ok_or_else(|| {
        ToolError("clang++ is not in PATH; install it, for example: apt install clang-19".into())
    })?;
    let dir = Scratch::new()?;
    write_headers(dir.path())?;
    let mut objects = Vec::new();
    for (k, s) in sources.iter().enumerate() {
        let options = CompileOptions {
            extra: device.clone(),
            cuda_path: None,
        };
        let mut text = to_ptx(s, &options)?.into_bytes();
        text.push(0);
        let bin = dir.path().join(format!("{k}.ptx"));
        std::fs::write(&bin, text).map_err(|e| ToolError(format!("cannot write the PTX: {e}")))?;
        let obj = if only_object && sources.len() == 1 {
            out.clone()
        } else {
            dir.path().join(format!("{k}.o"))
        };
        let mut c = Command::new(&clang);
        c.args([
            "-x",
            "cuda",
            "--cuda-host-only",
            "-nocudainc",
            "-nocudalib",
            "-include",
        ])
        .arg(dir.path().join("deadheat_cuda.h"))
        .arg(format!("-I{}", dir.path().display()))
        .args([
            "-Xclang",
            "-target-sdk-version=12.0",
            "-Xclang",
            "-fcuda-include-gpubinary",
            "-Xclang",
        ])
        .arg(&bin)
        .args(rest.iter().filter(|a| {
            !a.ends_with(".o") && !a.ends_with(".a") && !a.starts_with("-l") && !a.starts_with("-L")
        }))
        .args(&front)
        // Host calls are named in reports.
        .arg("-gline-tables-only")
        .arg("-c")
        .arg(s)
        .arg("-o")
        .arg(&obj);
        run_tool(&mut c, "clang")?;
        objects.push(obj);
    }
    if only_object {
        return Ok(());
    }
    let libs = library_dir(library)?;
    let mut c = Command::new(&clang);
    c.args(&objects)
        .args(&rest)
        .arg(format!("-L{}", libs.path().display()))
        .arg("-l:libcudart.so.12")
        .arg("-o")
        .arg(&out);
    run_tool(&mut c, "the linker")
}

fn run_tool(c: &mut Command, what: &str) -> Result<(), ToolError> {
    let o = c
        .output()
        .map_err(|e| ToolError(format!("cannot start {what}: {e}")))?;
    let err = String::from_utf8_lossy(&o.stderr);
    if !o.status.success() {
        return Err(ToolError(format!("{what} failed:\n{}", err.trim_end())));
    }
    eprint!("{err}");
    Ok(())
}

/// How to run a program.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Environment for the library: name, value.
    pub env: Vec<(String, String)>,
    pub program: String,
    pub args: Vec<String>,
    pub uniform_writes: bool,
    pub rules: Suppressions,
}

/// Runs a program on our library. Gives the report and the program's own exit code.
///
/// # Errors
/// The program cannot be started, or its kernels cannot run here.
pub fn run(o: &RunOptions, library: &Path) -> Result<(Report, i32), ToolError> {
    let libs = library_dir(library)?;
    let log = libs.path().join("findings.jsonl");
    let mut path = libs.path().as_os_str().to_os_string();
    if let Some(old) = std::env::var_os("LD_LIBRARY_PATH") {
        path.push(":");
        path.push(old);
    }
    let program = if o.program.contains('/') || find(&[&o.program]).is_some() {
        o.program.clone()
    } else {
        format!("./{}", o.program)
    };
    let status = Command::new(&program)
        .args(&o.args)
        .env("LD_LIBRARY_PATH", path)
        .env("DEADHEAT_GPU_LOG", &log)
        .envs(o.env.iter().cloned())
        .status()
        .map_err(|e| ToolError(format!("cannot start {}: {e}", o.program)))?;
    let text = std::fs::read_to_string(&log).unwrap_or_default();
    let mut words = vec![o.program.clone()];
    words.extend(o.args.iter().cloned());
    let mut run = GpuRun {
        program: Under {
            path: program,
            argv: words,
            pid: 0,
            cwd: super::session::cwd(),
            exit: exit(status),
        },
        ..GpuRun::default()
    };
    let (mut launches, mut errors) = (0u64, Vec::new());
    for line in text.lines() {
        match serde_json::from_str::<Told>(line) {
            Ok(Told::Finding(f)) => {
                if f.kind != FindingKind::UniformWrite || o.uniform_writes {
                    run.findings.push(*f);
                }
            }
            Ok(Told::Launch(l)) => {
                launches += 1;
                keep(&mut run.launches, l);
            }
            Ok(Told::Error(e)) => errors.push(e),
            Ok(Told::Note(n)) => {
                if !run.notes.contains(&n) {
                    run.notes.push(n);
                }
            }
            Ok(Told::Loss(l)) => run.losses.push(l),
            Ok(Told::Module(m)) => run.modules.push(Mapped {
                path: m.path,
                bias: m.bias,
                start: m.start,
                end: m.end,
                ..Mapped::default()
            }),
            Err(e) => errors.push(format!("a line of the log cannot be read: {e}")),
        }
    }
    if launches == 0 && !errors.is_empty() {
        return Err(ToolError(errors.join("\n")));
    }
    if launches == 0 {
        run.notes.push(format!(
            "{} launched no kernel through libcudart; a program linked with the static runtime must be linked again with -cudart shared, or built with: deadheat gpu cc",
            o.program
        ));
    }
    run.notes.extend(errors);
    let s = if launches == 1 { "" } else { "es" };
    run.notes.push(format!("{launches} kernel launch{s}"));
    Ok((run.report(&o.rules), status.code().unwrap_or(128)))
}

fn exit(status: ExitStatus) -> Exit {
    Exit {
        how: if status.code().is_some() {
            ExitHow::Exited
        } else {
            ExitHow::Signalled
        },
        code: status.code(),
        signal: status.signal(),
        complete: true,
    }
}

/// One entry for each kernel and shape; its numbers are added up.
fn keep(all: &mut Vec<CheckedLaunch>, l: CheckedLaunch) {
    let same =
        |k: &&mut CheckedLaunch| k.kernel == l.kernel && k.grid == l.grid && k.block == l.block;
    match all.iter_mut().find(same) {
        Some(k) => {
            for (name, v) in l.stats {
                *k.stats.entry(name).or_insert(0.0) += v;
            }
        }
        None => all.push(l),
    }
}
