//! Compiles a test program and the libraries that it asks for.

use crate::directive::{Compiler, Language, Program};
use crate::golden;
use crate::process::{run, tail};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Who instruments.
#[derive(Clone, Debug)]
pub enum Tool {
    /// The `deadheat` command at this path.
    Deadheat(PathBuf),
    /// The same, but the program only records, and what it recorded is checked afterwards.
    Recorded(PathBuf),
    /// The compiler's own ThreadSanitizer, as an oracle.
    Tsan,
}

/// What was built.
#[derive(Debug)]
pub struct Built {
    pub program: PathBuf,
    /// The instrumented library to load, if the program wants one.
    pub shared: Option<PathBuf>,
}

const LIMIT: Duration = Duration::from_secs(120);

/// Builds everything into `folder`.
pub fn build(
    tool: &Tool,
    program: &Program,
    compiler: Compiler,
    folder: &Path,
) -> Result<Built, String> {
    let beside = |name: &str| program.path.with_file_name(name);
    let mut extra = Vec::new();
    if let Some(source) = program.value("plain-shared") {
        let library = folder.join("libplain.so");
        let mut command = Command::new(compiler.command(Language::C));
        command
            .args(["-g", "-O1", "-shared", "-fPIC", "-x", "c"])
            .arg(beside(source))
            .arg("-o")
            .arg(&library);
        compile(command, folder, "plain-shared")?;
        extra.push(library.into_os_string());
        extra.push(format!("-Wl,-rpath,{}", folder.display()).into());
    }
    let shared = program.value("shared").map(|_| folder.join("libplugin.so"));
    if let (Some(library), Some(source)) = (&shared, program.value("shared")) {
        let mut command = driver(tool, compiler, Language::C);
        command
            .args(["-g", "-O1", "-shared", "-fPIC", "-x", "c"])
            .arg(beside(source))
            .arg("-o")
            .arg(library);
        compile(command, folder, "shared")?;
    }
    let output = folder.join("program");
    let mut command = driver(tool, compiler, program.language);
    command
        .args(["-g", "-O1", "-w", "-pthread", "-I"])
        .arg(program.root().join("include"));
    if program.value("golden") == Some(compiler.name()) {
        command.arg(golden::place_independent(&program.root()));
    }
    if let Some(standard) = program.value("std") {
        command.arg(format!("-std={standard}"));
    }
    command
        .args(program.words("flags"))
        .arg(&program.path)
        .args(extra)
        .args(program.words("libs"));
    command.arg("-o").arg(&output);
    compile(command, folder, "compile")?;
    Ok(Built {
        program: output,
        shared,
    })
}

/// Builds one C file without directives, at this level of optimization.
pub fn compile_file(
    tool: &Tool,
    compiler: Compiler,
    level: &str,
    source: &Path,
    include: &Path,
    output: &Path,
    folder: &Path,
) -> Result<(), String> {
    let mut command = driver(tool, compiler, Language::C);
    command
        .args(["-g", level, "-w", "-pthread", "-I"])
        .arg(include)
        .arg(source)
        .arg("-o")
        .arg(output);
    compile(command, folder, "compile")
}

fn driver(tool: &Tool, compiler: Compiler, language: Language) -> Command {
    match tool {
        Tool::Deadheat(path) | Tool::Recorded(path) => {
            let mut command = Command::new(path);
            command.arg(match language {
                Language::C => "cc",
                Language::Cxx => "c++",
            });
            command.arg("--compiler").arg(compiler.command(language));
            command
        }
        Tool::Tsan => {
            let mut command = Command::new(compiler.command(language));
            command.arg("-fsanitize=thread");
            command
        }
    }
}

fn compile(command: Command, folder: &Path, label: &str) -> Result<(), String> {
    let shown = format!("{command:?}");
    let outcome = run(command, folder, label, None, LIMIT)?;
    if outcome.status.success() {
        return Ok(());
    }
    Err(format!(
        "does not compile: {shown}\n{}",
        tail(&outcome.stderr)
    ))
}
