//! What cargo's configuration says of flags, folders, targets and compilers holds under Deadheat, too.

use super::{Project, RACY, TRIPLE, expect};
use libtest_mimic::Failed;

pub fn flags(project: &Project) -> Result<(), Failed> {
    let main = "#[cfg(not(all(from_build, deadheat, feature = \"extra\")))]\ncompile_error!(\"flags were lost\");\nfn main() { println!(\"kept\") }\n";
    project
        .manifest("[features]\nextra = []\n")?
        .write("src/main.rs", main)?;
    project.write(
        ".cargo/config.toml",
        "[build]\nrustflags = [\"--cfg\", \"from_build\", \"-Aunexpected_cfgs\"]\n",
    )?;
    expect(
        &project.run(project.command(&["run", "--features", "extra"]))?,
        0,
        &["kept", "nothing found"],
    )?;
    // The variable beats the file, as it does without Deadheat.
    let main = "#[cfg(any(not(from_variable), from_build))]\ncompile_error!(\"flags were lost\");\nfn main() { println!(\"kept\") }\n";
    project.write("src/main.rs", main)?;
    let mut command = project.command(&["run"]);
    command.env("RUSTFLAGS", "--cfg from_variable -Aunexpected_cfgs");
    expect(&project.run(command)?, 0, &["kept", "nothing found"])
}

pub fn target_flags(project: &Project) -> Result<(), Failed> {
    let main = "#[cfg(not(all(by_kind, by_name)))]\ncompile_error!(\"flags were lost\");\n\
                fn main() { println!(\"{:?}\", std::env::var(\"STARTED_BY\")) }\n";
    project.manifest("")?.write("src/main.rs", main)?;
    let linker = project.script(
        "own-linker",
        "echo linked >>\"$(dirname \"$0\")/links\"\nexec cc \"$@\"",
    )?;
    let config = format!(
        "[target.'cfg(unix)']\nrustflags = [\"--cfg\", \"by_kind\", \"-Aunexpected_cfgs\"]\n\
         [target.{TRIPLE}]\nrustflags = [\"--cfg\", \"by_name\"]\nlinker = {:?}\n\
         runner = [\"env\", \"STARTED_BY=runner\"]\n",
        linker.display().to_string()
    );
    project.write(".cargo/config.toml", &config)?;
    let ended = project.run(project.command(&["run"]))?;
    expect(&ended, 0, &["Ok(\"runner\")", "nothing found"])?;
    if !project.dir.join("links").exists() {
        return Err("the linker of the configuration was not used".into());
    }
    Ok(())
}

/// A relative folder is meant from where `.cargo` is, wherever the command is typed, and cargo's normal builds stay beside.
pub fn target_dir(project: &Project) -> Result<(), Failed> {
    project
        .manifest("")?
        .write("src/main.rs", "fn main() { println!(\"ran\") }\n")?
        .write(".cargo/config.toml", "include = [\"more.toml\"]\n")?
        .write(".cargo/more.toml", "[build]\ntarget-dir = \"out\"\n")?;
    let mut command = project.command(&["run"]);
    command.current_dir(project.dir.join("src"));
    expect(&project.run(command)?, 0, &["ran", "nothing found"])?;
    let built = |folder: &str| {
        let program = format!("{folder}/deadheat/{TRIPLE}/debug/small");
        project.dir.join(program).exists()
    };
    if !built("out") || built("target") || built("src/out") {
        return Err("it was not built where the configuration says".into());
    }
    // What is given beats the file.
    let given = ["run", "--config", "build.target-dir = 'given'"];
    expect(&project.run(project.command(&given))?, 0, &["ran"])?;
    if !built("given") {
        return Err("it was not built where --config says".into());
    }
    Ok(())
}

pub fn several_targets(project: &Project) -> Result<(), Failed> {
    project
        .manifest("")?
        .write("src/main.rs", &format!("{RACY}fn main() {{ race() }}\n"))?;
    let config = format!("[build]\ntarget = [\"wasm32-unknown-unknown\", \"{TRIPLE}\"]\n");
    project.write(".cargo/config.toml", &config)?;
    let ended = project.run(project.command(&["run"]))?;
    expect(
        &ended,
        2,
        &["several targets", &format!("--target {TRIPLE}")],
    )?;
    let ended = project.run(project.command(&["run", "--target", TRIPLE]))?;
    expect(&ended, 1, &["small::touch", "1 data race"])?;
    let config = format!("[build]\ntarget = [\"{TRIPLE}\"]\n");
    project.write(".cargo/config.toml", &config)?;
    let ended = project.run(project.command(&["run"]))?;
    expect(&ended, 1, &["small::touch", "1 data race"])
}

/// C that a build script compiles is instrumented, by the compiler that `[env]` names.
pub fn c_compiler(project: &Project) -> Result<(), Failed> {
    let build = format!(
        "use std::process::Command;
fn main() {{
    let out = std::env::var(\"OUT_DIR\").unwrap();
    let compiler = std::env::var(\"CC_{}\").unwrap();
    let object = format!(\"{{out}}/touch.o\");
    assert!(Command::new(compiler).args([\"-c\", \"touch.c\", \"-o\", &object]).status().unwrap().success());
    println!(\"cargo::rustc-link-arg={{object}}\");
}}\n",
        TRIPLE.replace('-', "_")
    );
    let main = "unsafe extern \"C\" { fn touch(); }
fn main() {
    let child = std::thread::spawn(|| unsafe { touch() });
    unsafe { touch() }
    child.join().unwrap();
}\n";
    project
        .manifest("")?
        .write("build.rs", &build)?
        .write("touch.c", "int shared;\nvoid touch(void) { shared++; }\n")?
        .write("src/main.rs", main)?;
    let own = project.script(
        "own-gcc",
        "echo compiled >>\"$(dirname \"$0\")/uses\"\nexec gcc \"$@\"",
    )?;
    let config = format!("[env]\nCC = {:?}\n", own.display().to_string());
    project.write(".cargo/config.toml", &config)?;
    expect(
        &project.run(project.command(&["run"]))?,
        1,
        &["touch.c:2", "`shared`", "1 data race"],
    )?;
    if !project.dir.join("uses").exists() {
        return Err("the compiler of the configuration was not used".into());
    }
    Ok(())
}

/// Where no C compiler is on the `PATH`, the linker of the configuration is enough.
pub fn only_a_linker(project: &Project) -> Result<(), Failed> {
    project
        .manifest("")?
        .write("src/main.rs", "fn main() { println!(\"ran\") }\n")?;
    let path = std::env::var("PATH").unwrap_or_default();
    let linker = project.script("own-linker", &format!("PATH='{path}' exec cc \"$@\""))?;
    let config = format!(
        "[target.{TRIPLE}]\nlinker = {:?}\n",
        linker.display().to_string()
    );
    project.write(".cargo/config.toml", &config)?;
    let command = project.command_without_compiler(&["run"])?;
    expect(&project.run(command)?, 0, &["ran", "nothing found"])
}

/// What cargo says of a manifest is shown whole.
pub fn mistake(project: &Project) -> Result<(), Failed> {
    project.manifest("x = [\n")?;
    expect(
        &project.run(project.command(&["test"]))?,
        2,
        &["cargo cannot read this project", "Cargo.toml:6"],
    )
}

pub fn late_toolchain(project: &Project) -> Result<(), Failed> {
    project.manifest("")?.write("src/lib.rs", "")?;
    expect(
        &project.run(project.command(&["+nightly", "test", "--release"]))?,
        2,
        &["cargo +nightly deadheat test --release"],
    )
}
