//! Reads a compiler's command line: does it compile, does it link, what comes out, which sanitizers were asked for.
//!
//! Nothing is judged here: whatever the compiler would refuse is passed on for it to refuse.

use crate::error::{Failure, Result};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Which of the two commands was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// `deadheat cc`.
    C,
    /// `deadheat c++`.
    Cxx,
}

/// What the command line makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// An answer about the compiler itself (`--version`, `-print-...`, no input at all): nothing is to be added.
    Answer,
    /// Object files, assembler, preprocessed text, dependencies, a precompiled header: compiled, not linked.
    Compiled,
    /// A relocatable object made by the linker (`-r`).
    Relocatable,
    /// A shared library.
    SharedLibrary,
    /// An executable that loads its C library.
    Executable,
    /// An executable with its C library inside (`-static`, `-static-pie`).
    StaticExecutable,
}

/// What was learned from one command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// What it makes.
    pub output: Output,
    /// Whether code is to be instrumented (`-fno-sanitize=thread` switches it off).
    pub instrument: bool,
    /// Whether some input is assembler, to which `-g` must not be added behind the user's back.
    pub assembles: bool,
    /// Whether the linker was told to refuse undefined symbols, which a shared library has here by design.
    pub refuses_undefined: bool,
    /// Whether the C library is left to the user (`-nostdlib`, `-nodefaultlibs`, `-nolibc`).
    pub own_libraries: bool,
    /// The arguments without what would bring in another sanitizer runtime.
    pub args: Vec<OsString>,
}

/// Options whose value is the next argument. An option that may also carry its value in itself (`-Idir`) is listed
/// in the form that does not.
#[rustfmt::skip] // one word a line would hide the rest of the file
const TAKES_VALUE: &[&str] = &[
    "-o", "-x", "-I", "-L", "-D", "-U", "-A", "-B", "-F", "-G", "-T", "-V", "-b", "-e", "-h", "-l",
    "-u", "-z", "-include", "-imacros", "-isystem", "-isystem-after", "-iquote", "-idirafter",
    "-iprefix", "-iwithprefix", "-iwithprefixbefore", "-isysroot", "-iframework", "-imultilib",
    "-imultiarch", "-iplugindir", "-include-pch", "-ivfsoverlay", "-MF", "-MT", "-MQ", "-MJ",
    "-Xlinker", "-Xassembler", "-Xpreprocessor", "-Xclang", "-Xclangas", "-Xanalyzer", "-mllvm",
    "-mmlir", "-arch", "-target", "--target", "--sysroot", "-aux-info", "--param", "-param",
    "-wrapper", "-specs", "--specs", "-dumpbase", "-dumpbase-ext", "-dumpdir", "-gcc-toolchain",
    "-ccc-gcc-name", "-ccc-install-dir", "-serialize-diagnostics", "--serialize-diagnostics",
    "-working-directory", "-framework", "-install_name", "-rpath", "-rpath-link", "-soname",
    "-dynamic-linker", "-Tbss", "-Tdata", "-Ttext", "-fmodule-mapper", "-dependency-file",
    "--output", "--language", "--include-directory", "--define-macro", "--undefine-macro",
    "--library-directory", "--prefix", "--include", "--imacros", "--entry", "--undefined",
    "--for-linker", "--for-assembler", "--config", "-stdlib++-isystem", "--for-preprocessor",
    "--dumpbase", "--dumpdir",
];

/// Options that make the compiler answer about itself and stop.
#[rustfmt::skip] // one word a line would hide the rest of the file
const ANSWERS: &[&str] = &[
    "--version", "-dumpversion", "-dumpfullversion", "-dumpmachine", "-dumpspecs", "--help",
    "--target-help", "-cc1", "-cc1as", "-cc1gen-reproducer", "-help", "--help-hidden", "-fversion",
];

/// Options that stop the compiler before it links.
#[rustfmt::skip] // one word a line would hide the rest of the file
const STOPS: &[&str] = &[
    "-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "--compile", "--assemble", "--preprocess",
    "--dependencies", "--user-dependencies", "--precompile", "-emit-pch", "-emit-ast", "--analyze",
    "-extract-api", "-verify-pch", "-module-file-info", "-emit-interface-stubs",
];

/// Sanitizers that own the whole address space or the same hooks, so that they cannot share a program with Deadheat.
#[rustfmt::skip] // one word a line would hide the rest of the file
const CONFLICTS: &[&str] = &[
    "address", "kernel-address", "hwaddress", "kernel-hwaddress", "memory", "kernel-memory", "leak",
    "dataflow", "numerical", "memtag", "memtag-stack", "memtag-heap", "type", "realtime",
    "safe-stack", "fuzzer",
];

/// Reads a command line (response files already opened).
pub fn classify(args: &[OsString]) -> Result<CommandLine> {
    let mut reader = Reader::default();
    let mut iter = args.iter();
    while let Some(arg) = iter.next() {
        reader.argument(arg, &mut iter)?;
    }
    Ok(reader.finish())
}

#[derive(Default)]
struct Reader {
    answer: bool,
    stops: bool,
    shared: bool,
    relocatable: bool,
    fixed: bool,
    uninstrumented: bool,
    own_libraries: bool,
    assembles: bool,
    inputs: usize,
    headers: usize,
    options_end: bool,
    language: Option<String>,
    linker: Vec<String>,
    kept: Vec<OsString>,
}

impl Reader {
    fn argument<'a>(
        &mut self,
        arg: &'a OsStr,
        rest: &mut impl Iterator<Item = &'a OsString>,
    ) -> Result<()> {
        let text = arg.to_string_lossy();
        if self.options_end || !text.starts_with('-') || text == "-" {
            self.input(arg);
            self.kept.push(arg.to_owned());
            return Ok(());
        }
        if text == "--" {
            self.options_end = true;
            self.kept.push(arg.to_owned());
            return Ok(());
        }
        if let Some(list) = text.strip_prefix("-fsanitize=") {
            return self.sanitize(list, arg);
        }
        if let Some(list) = text.strip_prefix("-fno-sanitize=") {
            self.uninstrumented |= list
                .split(',')
                .any(|name| name == "thread" || name == "all");
        }
        if matches!(
            &*text,
            "-static-libtsan" | "-ltsan" | "-shared-libsan" | "-static-libsan"
        ) {
            return Ok(()); // would bring in the other runtime
        }
        let value = TAKES_VALUE.contains(&&*text).then(|| rest.next()).flatten();
        self.option(&text, value.map(|v| v.to_string_lossy()).as_deref());
        self.kept.push(arg.to_owned());
        self.kept.extend(value.cloned());
        Ok(())
    }

    fn option(&mut self, text: &str, value: Option<&str>) {
        if ANSWERS.contains(&text) || text.starts_with("-print-") || text.starts_with("--print-") {
            self.answer = true;
        }
        self.answer |= text.starts_with("--help=") || text.starts_with("--autocomplete=");
        self.stops |= STOPS.contains(&text);
        match text {
            "-shared" | "--shared" | "-dynamiclib" | "-bundle" => self.shared = true,
            "-r" | "--relocatable" => self.relocatable = true,
            "-static" | "--static" | "-static-pie" | "--static-pie" => self.fixed = true,
            "-nostdlib" | "--no-standard-libraries" | "-nodefaultlibs" | "-nolibc" => {
                self.own_libraries = true
            }
            "-x" | "--language" => {
                self.language = value.filter(|v| *v != "none").map(str::to_owned)
            }
            "-l" => self.inputs += 1,
            "-Xlinker" | "--for-linker" => self.linker.extend(value.map(str::to_owned)),
            "-z" => self
                .linker
                .extend(["-z".to_owned(), value.unwrap_or_default().to_owned()]),
            _ => self.joined(text),
        }
    }

    fn joined(&mut self, text: &str) {
        if let Some(language) = text
            .strip_prefix("-x")
            .or_else(|| text.strip_prefix("--language="))
        {
            self.language = Some(language.to_owned()).filter(|l| l != "none");
        } else if text.starts_with("-l") {
            self.inputs += 1;
        } else if let Some(list) = text.strip_prefix("-Wl,") {
            self.linker.extend(list.split(',').map(str::to_owned));
        } else if let Some(word) = text.strip_prefix("-z") {
            self.linker.extend(["-z".to_owned(), word.to_owned()]);
        }
    }

    fn input(&mut self, arg: &OsStr) {
        self.inputs += 1;
        let extension = Path::new(arg)
            .extension()
            .and_then(OsStr::to_str)
            .unwrap_or_default();
        let (header, assembler) = match self.language.as_deref() {
            Some(language) => (
                language.ends_with("-header"),
                language.starts_with("assembler"),
            ),
            None => (
                matches!(
                    extension,
                    "h" | "hh" | "H" | "hp" | "hxx" | "hpp" | "HPP" | "h++" | "tcc" | "inl" | "ipp"
                ),
                matches!(extension, "s" | "S" | "sx" | "asm"),
            ),
        };
        self.headers += usize::from(header);
        self.assembles |= assembler;
    }

    /// Takes `thread` out of a list of sanitizers: instrumenting is asked of the compiler proper in another way.
    fn sanitize(&mut self, list: &str, whole: &OsStr) -> Result<()> {
        let names: Vec<&str> = list.split(',').collect();
        if let Some(name) = names.iter().find(|name| CONFLICTS.contains(name)) {
            return Err(Failure::new(format!("-fsanitize={name} and Deadheat cannot be in one program"))
                .next(format!("build once with deadheat cc without -fsanitize={name}, and once with it without deadheat")));
        }
        let rest: Vec<&str> = names
            .iter()
            .copied()
            .filter(|name| *name != "thread")
            .collect();
        if rest.len() == names.len() {
            self.kept.push(whole.to_owned());
            return Ok(());
        }
        self.uninstrumented = false;
        if !rest.is_empty() {
            self.kept
                .push(format!("-fsanitize={}", rest.join(",")).into());
        }
        Ok(())
    }

    fn finish(self) -> CommandLine {
        let linker = |words: &[&str]| self.linker.iter().any(|w| words.contains(&w.as_str()));
        let shared = self.shared || linker(&["-shared", "--shared", "-Bshareable"]);
        let relocatable = self.relocatable || linker(&["-r", "--relocatable", "-i"]);
        let only_headers = self.headers > 0 && self.headers == self.inputs;
        let output = if self.answer || self.inputs == 0 {
            Output::Answer
        } else if self.stops || only_headers {
            Output::Compiled
        } else if relocatable {
            Output::Relocatable
        } else if shared {
            Output::SharedLibrary
        } else if self.fixed {
            Output::StaticExecutable
        } else {
            Output::Executable
        };
        CommandLine {
            output,
            instrument: !self.uninstrumented,
            assembles: self.assembles,
            refuses_undefined: refuses_undefined(&self.linker),
            own_libraries: self.own_libraries,
            args: self.kept,
        }
    }
}

/// Whether `-z defs` or `--no-undefined` is the last word of the linker's options on the matter.
fn refuses_undefined(linker: &[String]) -> bool {
    let mut refuses = false;
    for (at, word) in linker.iter().enumerate() {
        match word.as_str() {
            "--no-undefined" | "-no-undefined" | "-zdefs" => refuses = true,
            "defs" if at > 0 && linker[at - 1] == "-z" => refuses = true,
            "undefs" if at > 0 && linker[at - 1] == "-z" => refuses = false,
            _ => {}
        }
    }
    refuses
}

#[cfg(test)]
#[path = "args_tests.rs"]
mod tests;
