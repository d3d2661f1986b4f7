//! The command line: `check`, and the other subcommands beside it. Returns the exit code: 0 clean, 1 bugs found,
//! 2 the tool failed.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use deadheat_report::model::Report;
use deadheat_report::{Format, Options, Suppressions, render};

use crate::check::Scheme;

use super::ToolError;
use super::launch::{self, LaunchSpec};
use super::programs;
use super::session::{CheckOptions, check};

/// What `deadheat gpu --help` prints.
pub const HELP: &str = "\
Finds races in GPU kernels without a GPU.

usage: deadheat gpu check FILE(.cu|.cl|.ptx) [options]
       deadheat gpu run [options] PROGRAM [ARGUMENTS]
       deadheat gpu cc FILES(.cu) [compiler options] -o PROGRAM
       deadheat gpu instrument FILE(.ptx|.cu|.cl) [--kernel NAME] [--scheme addr|stmt] [-o OUT.ptx]
       deadheat gpu ptx FILE(.cu|.cl)     prints the PTX that is checked

launch
  --kernel NAME          kernel to launch (all of the file if left out)
  --grid X[,Y[,Z]]       blocks (default 1)
  --block X[,Y[,Z]]      threads per block (default 256)
  --shared BYTES         dynamic shared memory
  --arg VALUE            next argument: a number, TYPE:COUNT[:zero|iota|const=V|random[=SEED[,BELOW]]|file=PATH],
                         texture:TYPE:WIDTH[xHEIGHT[xDEPTH]][:...] for a texture or surface object,
                         or local:BYTES (OpenCL); arguments left out are made up
  --launch FILE          launches from a TOML file

checking
  --scheme both|addr|stmt|off   how to check (default both: addresses find, statements explain)
  --warps lockstep|independent  warp model (default lockstep)
  --warp-size 32|64
  --no-static            leave everything to the run
  --static-only          do not run
  --uniform-writes       report writes of the same value too
  --threads N            worker threads (default: one per core)
  --max-steps N          stop after N warp instructions (default 2000000000)

compiling
  -I DIR, -D NAME[=V], --cuda-path DIR   passed to clang

output
  --format text|json|sarif|html
  --log FILE             write the report there instead
  --color auto|always|never
  --suppressions FILE    leave out the findings that its lines name
";

/// What the command that this runs in brings.
pub struct Host<'a> {
    /// Gets each report, so that it can be explained later.
    pub keep: &'a dyn Fn(&Report),
    /// Where our stand-in for libcudart is.
    pub library: &'a dyn Fn() -> Result<PathBuf, ToolError>,
}

impl Default for Host<'_> {
    fn default() -> Self {
        Host {
            keep: &|_| {},
            library: &programs::library,
        }
    }
}

/// Runs a subcommand.
pub fn main(args: &[String], host: &Host<'_>) -> i32 {
    if matches!(args.get(1).map(String::as_str), Some("--help" | "-h")) {
        print!("{HELP}");
        return 0;
    }
    match args.first().map(String::as_str) {
        Some("check") => match run_check(&args[1..], host) {
            Ok(found) => i32::from(found),
            Err(e) => fail(&e),
        },
        Some("run") => match run_program(&args[1..], host) {
            Ok(code) => code,
            Err(e) => fail(&e),
        },
        Some("cc") => match (host.library)().and_then(|l| programs::cc(&args[1..], &l)) {
            Ok(()) => 0,
            Err(e) => fail(&e),
        },
        Some("instrument") => match instrument(&args[1..]) {
            Ok(()) => 0,
            Err(e) => fail(&e),
        },
        Some("ptx") => match print_ptx(&args[1..]) {
            Ok(()) => 0,
            Err(e) => fail(&e),
        },
        Some("--help" | "-h" | "help") => {
            print!("{HELP}");
            0
        }
        Some(other) => fail(&ToolError(format!(
            "`{other}` is not a subcommand; see: deadheat gpu --help"
        ))),
        None => fail(&ToolError(
            "a subcommand is missing; see: deadheat gpu --help".into(),
        )),
    }
}

/// `instrument FILE --scheme addr|stmt -o OUT`.
fn instrument(args: &[String]) -> Result<(), ToolError> {
    let mut out = None;
    let mut rest = Vec::new();
    let mut it = args.iter();
    while let Some(a) = it.next() {
        match a.as_str() {
            "-o" => {
                out = Some(PathBuf::from(
                    it.next()
                        .ok_or_else(|| ToolError("-o wants a file name".into()))?,
                ))
            }
            _ => rest.push(a.clone()),
        }
    }
    let p = parse(&rest)?;
    let scheme = match p.check.options.scheme {
        Scheme::Stmt => Scheme::Stmt,
        _ => Scheme::Addr,
    };
    let text = super::compile::to_ptx(&p.check.file, &p.check.compile)?;
    let name = p.check.file.display();
    let done = crate::instrument::instrument(&text, scheme, p.check.launches[0].kernel.as_deref())
        .map_err(|e| ToolError(format!("{name}: {e}")))?;
    if done.table_in_device_memory {
        eprintln!(
            "deadheat gpu: {name}: shared memory is full, so the warp table is in device memory"
        );
    }
    match out {
        None => print!("{}", done.text),
        Some(f) => std::fs::write(&f, done.text)
            .map_err(|e| ToolError(format!("cannot write {}: {e}", f.display())))?,
    }
    Ok(())
}

fn print_ptx(args: &[String]) -> Result<(), ToolError> {
    let p = parse(args)?;
    print!(
        "{}",
        super::compile::to_ptx(&p.check.file, &p.check.compile)?
    );
    Ok(())
}

fn fail(e: &ToolError) -> i32 {
    eprintln!("deadheat gpu: {e}");
    2
}

/// Options of `check`, read.
#[derive(Debug)]
pub struct Parsed {
    pub check: CheckOptions,
    pub output: Output,
}

/// Where the report goes, in which form, and what is left out.
#[derive(Clone, Debug, Default)]
pub struct Output {
    pub format: Format,
    pub log: Option<PathBuf>,
    pub rules: Suppressions,
    pub color: Option<bool>,
}

impl Output {
    /// Reads one of its options; false if it is none.
    fn option(
        &mut self,
        name: &str,
        value: &mut dyn FnMut() -> Result<String, ToolError>,
    ) -> Result<bool, ToolError> {
        match name {
            "--format" => self.format = value()?.parse().map_err(ToolError)?,
            "--log" => self.log = Some(value()?.into()),
            "--suppressions" => {
                let file = value()?;
                let rules = Suppressions::read(std::path::Path::new(&file))
                    .map_err(|e| ToolError(e.to_string()))?;
                self.rules.extend(rules);
            }
            "--color" => {
                self.color = match value()?.as_str() {
                    "always" => Some(true),
                    "never" => Some(false),
                    "auto" => None,
                    v => {
                        return Err(ToolError(format!(
                            "`{v}` is no way to color; use auto, always or never"
                        )));
                    }
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Writes a report to the log, or to the stream that is the command's own.
    fn write(&self, report: &Report, terminal: bool, own: &mut dyn Write) -> Result<(), ToolError> {
        let color = self.format == Format::Text
            && self.log.is_none()
            && self
                .color
                .unwrap_or(terminal && std::env::var_os("NO_COLOR").is_none());
        let options = Options {
            color,
            cwd: std::env::current_dir().ok(),
            ..Options::default()
        };
        let text = render(report, self.format, &options);
        match &self.log {
            // A reader that has seen enough is no failure.
            None => {
                let _ = own.write_all(text.as_bytes());
            }
            Some(f) => std::fs::write(f, text)
                .map_err(|e| ToolError(format!("cannot write {}: {e}", f.display())))?,
        }
        Ok(())
    }
}

/// Reads the options of `check`.
///
/// # Errors
/// An option that is not known or lacks its value.
pub fn parse(args: &[String]) -> Result<Parsed, ToolError> {
    let mut o = CheckOptions::new("");
    let mut spec = LaunchSpec::default();
    let mut given = false;
    let mut p = Parsed {
        check: o.clone(),
        output: Output::default(),
    };
    let mut it = args.iter();
    let number = |name: &str, v: String| {
        v.parse::<u64>()
            .map_err(|_| ToolError(format!("{name} wants a number, not `{v}`")))
    };
    while let Some(a) = it.next() {
        let mut value = || {
            it.next()
                .cloned()
                .ok_or_else(|| ToolError(format!("{a} wants a value")))
        };
        match a.as_str() {
            "--kernel" => {
                spec.kernel = Some(value()?);
                given = true;
            }
            "--grid" => {
                spec.grid = launch::dims(&value()?)?;
                given = true;
            }
            "--block" => {
                spec.block = launch::dims(&value()?)?;
                given = true;
            }
            "--shared" => {
                spec.shared = number(a, value()?)?
                    .try_into()
                    .map_err(|_| ToolError("--shared is too large".into()))?;
                given = true;
            }
            "--arg" => {
                spec.args.push(launch::arg(&value()?)?);
                given = true;
            }
            "--launch" => {
                let f = value()?;
                let text = std::fs::read_to_string(&f)
                    .map_err(|e| ToolError(format!("cannot read {f}: {e}")))?;
                o.launches.extend(launch::file(&text, &f)?);
            }
            "--scheme" => {
                o.options.scheme = match value()?.as_str() {
                    "both" => Scheme::Both,
                    "addr" => Scheme::Addr,
                    "stmt" => Scheme::Stmt,
                    "off" => Scheme::Off,
                    v => {
                        return Err(ToolError(format!(
                            "`{v}` is not a scheme; use both, addr, stmt or off"
                        )));
                    }
                }
            }
            "--warps" => {
                o.options.independent = match value()?.as_str() {
                    "lockstep" => false,
                    "independent" => true,
                    v => {
                        return Err(ToolError(format!(
                            "`{v}` is not a warp model; use lockstep or independent"
                        )));
                    }
                }
            }
            "--warp-size" => o.options.warp_size = number(a, value()?)? as u32,
            "--no-static" => o.analyze = false,
            "--static-only" => o.execute = false,
            "--uniform-writes" => o.uniform_writes = true,
            "--threads" => o.workers = number(a, value()?)? as usize,
            "--max-steps" => o.step_limit = number(a, value()?)?,
            "--cuda-path" => o.compile.cuda_path = Some(value()?.into()),
            "-I" | "-D" => {
                let v = value()?;
                o.compile.extra.push(format!("{a}{v}"));
            }
            "--format" | "--log" | "--suppressions" | "--color" => {
                p.output.option(a, &mut value)?;
            }
            s if s.starts_with("-I") || s.starts_with("-D") => o.compile.extra.push(s.to_string()),
            s if s.starts_with('-') => {
                return Err(ToolError(format!(
                    "`{s}` is not an option; see: deadheat gpu --help"
                )));
            }
            s if o.file.as_os_str().is_empty() => o.file = s.into(),
            s => {
                return Err(ToolError(format!(
                    "only one file can be checked at a time; `{s}` is the second"
                )));
            }
        }
    }
    if o.file.as_os_str().is_empty() {
        return Err(ToolError(
            "which file? For example: deadheat gpu check kernel.cu --grid 8 --block 256, or: deadheat gpu instrument kernel.ptx -o checked.ptx".into(),
        ));
    }
    if given || o.launches.is_empty() {
        o.launches.push(spec);
    }
    p.check = o;
    Ok(p)
}

/// `run [options] PROGRAM ...`: exit 1 if bugs were found, else the program's own code.
fn run_program(args: &[String], host: &Host<'_>) -> Result<i32, ToolError> {
    let mut o = programs::RunOptions::default();
    let mut output = Output::default();
    let mut it = args.iter();
    while let Some(a) = it.next() {
        let mut value = || {
            it.next()
                .cloned()
                .ok_or_else(|| ToolError(format!("{a} wants a value")))
        };
        let mut env = |n: &str, v: String| o.env.push((format!("DEADHEAT_GPU_{n}"), v));
        match a.as_str() {
            "--scheme" => env("SCHEME", value()?),
            "--warps" => env("WARPS", value()?),
            "--warp-size" => env("WARP_SIZE", value()?),
            "--no-static" => env("STATIC", "0".into()),
            "--threads" => env("THREADS", value()?),
            "--max-steps" => env("MAX_STEPS", value()?),
            "--uniform-writes" => o.uniform_writes = true,
            "--format" | "--log" | "--suppressions" | "--color" => {
                output.option(a, &mut value)?;
            }
            s if s.starts_with('-') => {
                return Err(ToolError(format!(
                    "`{s}` is not an option; see: deadheat gpu --help"
                )));
            }
            s => {
                o.program = s.to_string();
                o.args = it.cloned().collect();
                break;
            }
        }
    }
    if o.program.is_empty() {
        return Err(ToolError(
            "which program? For example: deadheat gpu run ./app".into(),
        ));
    }
    o.rules = output.rules.clone();
    let (r, code) = programs::run(&o, &(host.library)()?)?;
    (host.keep)(&r);
    // The program's own output is on stdout.
    let stream = std::io::stderr();
    output.write(&r, stream.is_terminal(), &mut stream.lock())?;
    Ok(if r.findings.is_empty() { code } else { 1 })
}

fn run_check(args: &[String], host: &Host<'_>) -> Result<bool, ToolError> {
    if args.iter().any(|a| a == "--help" || a == "-h") {
        print!("{HELP}");
        return Ok(false);
    }
    let p = parse(args)?;
    // The kernel's own output must not mix with a report on the same stream.
    let output = |s: &str| {
        let mut e = std::io::stderr().lock();
        let _ = e.write_all(s.as_bytes());
    };
    let r = check(&p.check, &output)?.report(&p.check.file, &p.output.rules);
    (host.keep)(&r);
    let stream = std::io::stdout();
    p.output
        .write(&r, stream.is_terminal(), &mut stream.lock())?;
    Ok(!r.findings.is_empty())
}
