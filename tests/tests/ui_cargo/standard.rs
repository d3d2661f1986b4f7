//! The prepared standard library: where it is kept, and what becomes of it when something goes wrong.

use super::{Project, RACY, TRIPLE, expect};
use deadheat_tests::process;
use libtest_mimic::Failed;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Neither cache can be written; a private folder below TMPDIR serves.
pub fn no_cache(project: &Project) -> Result<(), Failed> {
    project
        .manifest("")?
        .write("src/main.rs", "fn main() { println!(\"ran\") }\n")?;
    let temporary = project.dir.join("tmp");
    fs::create_dir(&temporary)?;
    let home = std::env::var_os("HOME")
        .map(PathBuf::from)
        .unwrap_or_default();
    let mut command = project.command(&["run"]);
    for (name, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        command.env(
            name,
            std::env::var_os(name).map_or_else(|| home.join(folder), PathBuf::from),
        );
    }
    command
        .env("XDG_CACHE_HOME", "/proc/none")
        .env("HOME", "/proc/none")
        .env("TMPDIR", &temporary);
    expect(
        &project.run(command)?,
        0,
        &["no cache folder can be written", "ran", "nothing found"],
    )
}

/// A cache that came with the machine has the standard library; this command, under another path, can write nothing there.
pub fn shared_cache(project: &Project) -> Result<(), Failed> {
    project
        .manifest("")?
        .write("src/main.rs", "fn main() { println!(\"ran\") }\n")?;
    let first = project.run(project.command(&["run"]))?;
    expect(&first, 0, &["ran", "nothing found"])?;
    let command = project.command(&["run"]);
    let cache = command
        .get_envs()
        .find_map(|(name, value)| (name == "XDG_CACHE_HOME").then_some(value)?)
        .ok_or("the tests have a cache of their own")?
        .to_owned();
    let elsewhere = project.dir.join("deadheat");
    fs::copy(&project.deadheat, &elsewhere)?;
    let temporary = project.dir.join("tmp");
    fs::create_dir(&temporary)?;
    // In a namespace of its own, where root cannot write there either.
    let namespace = ["--mount", "--map-root-user"];
    let probe = Command::new("unshare")
        .args(namespace)
        .arg("true")
        .status()?;
    if !probe.success() {
        eprintln!(
            "Namespaces are not allowed here, so a cache that cannot be written is left out."
        );
        return Ok(());
    }
    let mut alone = Command::new("unshare");
    alone.args(namespace).args(["sh", "-c"]);
    alone.arg("mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro \"$0\" && ! touch \"$0/probe\" && exec \"$@\"");
    alone.arg(&cache).arg(&elsewhere).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => alone.env(name, value),
            None => alone.env_remove(name),
        };
    }
    let home = std::env::var_os("HOME")
        .map(PathBuf::from)
        .unwrap_or_default();
    for (name, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        alone.env(
            name,
            std::env::var_os(name).map_or_else(|| home.join(folder), PathBuf::from),
        );
    }
    alone
        .current_dir(&project.dir)
        .env("HOME", "/proc/none")
        .env("TMPDIR", &temporary);
    let ended = project.run(alone)?;
    expect(&ended, 0, &["ran", "nothing found"])?;
    if ended.stderr.contains("preparing the standard library") {
        return Err(format!("prepared again what the cache has:\n{}", ended.stderr).into());
    }
    Ok(())
}

/// The first run is killed as soon as it has begun; two more at once then make one library, and both use it.
pub fn killed(project: &Project) -> Result<(), Failed> {
    project
        .manifest("")?
        .write("src/main.rs", "fn main() { println!(\"ran\") }\n")?;
    let cache = project.dir.join("cache");
    let command = |target: &str| {
        let mut command = project.command(&["run", "--target-dir", target]);
        command.env("XDG_CACHE_HOME", &cache).process_group(0);
        command
    };
    let names = || -> Vec<String> {
        fs::read_dir(cache.join("deadheat"))
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| name.starts_with("std-") && !name.ends_with(".lock"))
            .collect()
    };
    let mut first = command("first").stderr(Stdio::null()).spawn()?;
    while !names().iter().any(|name| name.ends_with(".new")) {
        if let Some(status) = first.try_wait()? {
            return Err(format!("ended with {status} before it was killed").into());
        }
        std::thread::yield_now();
    }
    let group = rustix::process::Pid::from_child(&first);
    rustix::process::kill_process_group(group, rustix::process::Signal::KILL)?;
    first.wait()?;
    if names().iter().any(|name| !name.ends_with(".new")) {
        return Err(format!("half a library has the name of a whole one: {:?}", names()).into());
    }
    let both: Vec<_> = ["second", "third"]
        .into_iter()
        .map(|target| {
            let dir = project.dir.join(target);
            fs::create_dir(&dir)?;
            let command = command(target);
            Ok(std::thread::spawn(move || {
                process::run(command, &dir, "output", None, Duration::from_secs(300))
            }))
        })
        .collect::<Result<_, Failed>>()?;
    for thread in both {
        let ended = thread
            .join()
            .map_err(|_| "the thread that waits panicked")??;
        expect(&ended, 0, &["ran", "nothing found"])?;
    }
    match names()[..] {
        [ref one] if !one.ends_with(".new") => Ok(()),
        ref other => Err(format!("not one whole library: {other:?}").into()),
    }
}

pub fn clean(project: &Project) -> Result<(), Failed> {
    project
        .manifest("")?
        .write("src/main.rs", "fn main() {}\n")?;
    let cache = project.dir.join("cache");
    for name in ["std-0123", "std-0123.new", "rt-keep"] {
        fs::create_dir_all(cache.join("deadheat").join(name))?;
    }
    fs::create_dir_all(project.dir.join("target/deadheat/debug"))?;
    let mut command = project.command(&["clean"]);
    command.env("XDG_CACHE_HOME", &cache);
    expect(
        &project.run(command)?,
        0,
        &["prepared: 1", "target/deadheat"],
    )?;
    let left = |name: &str| cache.join("deadheat").join(name).exists();
    if left("std-0123")
        || left("std-0123.new")
        || !left("rt-keep")
        || project.dir.join("target/deadheat").exists()
    {
        return Err("clean left something or took too much".into());
    }
    Ok(())
}

/// A toolchain whose rlibs have had their bitcode renamed away: a program still runs, its race is found, and the report
/// says what is not seen.
pub fn no_bitcode(project: &Project) -> Result<(), Failed> {
    let main = format!(
        "{RACY}\nfn main() {{ if std::env::args().len() > 1 {{ race() }} println!(\"done\") }}\n"
    );
    project.manifest("")?.write("src/main.rs", &main)?;
    let asked = Command::new("rustc")
        .args(["--print", "sysroot"])
        .output()?;
    let real = PathBuf::from(String::from_utf8_lossy(&asked.stdout).trim_end());
    let copy = project.dir.join("sysroot");
    mirror_without_bitcode(&real, &copy, &["lib", "rustlib", TRIPLE, "lib"])?;
    let rustc = project.dir.join("rustc");
    fs::write(
        &rustc,
        format!(
            "#!/bin/sh\nexec '{}' --sysroot='{}' \"$@\"\n",
            real.join("bin/rustc").display(),
            copy.display()
        ),
    )?;
    fs::set_permissions(&rustc, fs::Permissions::from_mode(0o755))?;
    let run = |args: &[&str]| {
        let mut command = project.command(args);
        command.env("RUSTC", &rustc);
        project.run(command)
    };
    let said = "standard library comes without bitcode";
    expect(&run(&["run"])?, 0, &["done", "nothing found", said])?;
    expect(
        &run(&["run", "--", "x"])?,
        1,
        &["done", "small::touch", "1 data race", said],
    )
}

fn mirror_without_bitcode(real: &Path, copy: &Path, path: &[&str]) -> Result<(), Failed> {
    fs::create_dir_all(copy)?;
    for entry in fs::read_dir(real)? {
        let from = entry?.path();
        let name = from.file_name().unwrap_or_default();
        let to = copy.join(name);
        match path.split_first() {
            Some((next, rest)) if name == *next => mirror_without_bitcode(&from, &to, rest)?,
            None if from.extension().is_some_and(|end| end == "rlib") => {
                let mut data = fs::read(&from)?;
                let (old, new) = (b".llvmbc\0", b".hidden\0");
                let mut at = 0;
                while let Some(found) = data[at..].windows(8).position(|part| part == old) {
                    at += found;
                    data[at..at + 8].copy_from_slice(new);
                }
                fs::write(&to, data)?;
            }
            _ => std::os::unix::fs::symlink(&from, &to)?,
        }
    }
    Ok(())
}
