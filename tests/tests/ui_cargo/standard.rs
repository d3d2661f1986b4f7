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

/// Neither cache can be written; a private folder below TMPDIR serves. On a terminal a bar tells how far it is.
pub fn no_cache(project: &Project) -> Result<(), Failed> {
    project
        .manifest("")?
        .write("src/main.rs", "fn main() { println!(\"ran\") }\n")?;
    let mut command = project.command(&["run"]);
    homeless(project, &mut command)?;
    command.env("XDG_CACHE_HOME", "/proc/none");
    let terminal = "exec script --quiet --return --command \"$*\" /dev/null";
    let command = project.behind(&["sh", "-c", terminal, "sh"], &command);
    expect(
        &project.run(command)?,
        0,
        &[
            "no cache folder can be written",
            "preparing the standard library of Rust",
            "[                              ]   0 %\r",
            "[##############################] 100 %\r\n",
            "ran",
            "nothing found",
        ],
    )
}

/// A cache that came with the machine has the standard library; this command, under another path, can write nothing there.
pub fn shared_cache(project: &Project) -> Result<(), Failed> {
    project
        .manifest("")?
        .write("src/main.rs", "fn main() { println!(\"ran\") }\n")?;
    let first = project.run(project.command(&["run"]))?;
    expect(&first, 0, &["ran", "nothing found"])?;
    let elsewhere = project.dir.join("deadheat");
    fs::copy(&project.deadheat, &elsewhere)?;
    let mut command = project.command(&["run"]);
    homeless(project, &mut command)?;
    let mount = "mount --bind \"$XDG_CACHE_HOME\" \"$XDG_CACHE_HOME\" && \
                 mount -o remount,bind,ro \"$XDG_CACHE_HOME\" && ! touch \"$XDG_CACHE_HOME/probe\" && shift && \
                 exec ./deadheat \"$@\"";
    let Some(command) = in_namespace(project, mount, &command)? else {
        return Ok(());
    };
    let ended = project.run(command)?;
    expect(&ended, 0, &["ran", "nothing found"])?;
    if ended.stderr.contains("preparing the standard library") {
        return Err(format!("prepared again what the cache has:\n{}", ended.stderr).into());
    }
    Ok(())
}

/// A cache with too little room: said, with what to do, and nothing half done is left.
pub fn full_disk(project: &Project) -> Result<(), Failed> {
    project
        .manifest("")?
        .write("src/main.rs", "fn main() { println!(\"ran\") }\n")?;
    let mut command = project.command(&["run"]);
    homeless(project, &mut command)?;
    let cache = project.dir.join("cache");
    fs::create_dir(&cache)?;
    command.env("XDG_CACHE_HOME", &cache);
    let mount = "mount -t tmpfs -o size=24m none \"$XDG_CACHE_HOME\" || exit 77; \"$@\"; status=$?; \
                 echo left: \"$XDG_CACHE_HOME\"/deadheat/std-*; exit $status";
    let Some(command) = in_namespace(project, mount, &command)? else {
        return Ok(());
    };
    let ended = project.run(command)?;
    expect(
        &ended,
        2,
        &["No space left on device", "make room there", "left: "],
    )?;
    match ended.stdout.contains(".new") {
        true => Err(format!("something is left:\n{}", ended.stdout).into()),
        false => Ok(()),
    }
}

/// No home that could have a cache, and a TMPDIR of the project's own.
fn homeless(project: &Project, command: &mut Command) -> Result<(), Failed> {
    let home = std::env::var_os("HOME")
        .map(PathBuf::from)
        .unwrap_or_default();
    for (name, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        command.env(
            name,
            std::env::var_os(name).map_or_else(|| home.join(folder), PathBuf::from),
        );
    }
    let temporary = project.dir.join("tmp");
    fs::create_dir(&temporary)?;
    command.env("HOME", "/proc/none").env("TMPDIR", temporary);
    Ok(())
}

/// The command as the arguments of a shell in a namespace of its own, where even root is bound by what it mounts; none if
/// that is not allowed here.
fn in_namespace(
    project: &Project,
    shell: &str,
    command: &Command,
) -> Result<Option<Command>, Failed> {
    let namespace = ["unshare", "--mount", "--map-root-user"];
    let probe = Command::new(namespace[0])
        .args(&namespace[1..])
        .arg("true")
        .status()?;
    if !probe.success() {
        eprintln!("Namespaces are not allowed here, so what needs one is left out.");
        return Ok(None);
    }
    let words = [&namespace[..], &["sh", "-c", shell, "sh"]].concat();
    Ok(Some(project.behind(&words, command)))
}

/// The nightly that is installed, if there is one: the same promises.
pub fn nightly(project: &Project) -> Result<(), Failed> {
    let list = Command::new("rustup")
        .args(["toolchain", "list"])
        .output()?;
    if !String::from_utf8_lossy(&list.stdout).contains("nightly-x86_64") {
        eprintln!("No nightly is installed here, so it is left out.");
        return Ok(());
    }
    let main = format!(
        "#![feature(never_type)]
{RACY}
use std::sync::{{Arc, Barrier, Condvar, Mutex, mpsc}};
fn calm() {{
    let pair = Arc::new((Mutex::new(0u64), Condvar::new()));
    let barrier = Arc::new(Barrier::new(3));
    let (send, receive) = mpsc::channel();
    let threads: Vec<_> = (0..3u64).map(|n| {{
        let (pair, barrier, send) = (pair.clone(), barrier.clone(), send.clone());
        std::thread::spawn(move || {{
            barrier.wait();
            *pair.0.lock().unwrap() += n + 1; // all must have been here
            pair.1.notify_all();
            send.send(vec![n]).unwrap();
        }})
    }}).collect();
    drop(send);
    let sum = pair.1.wait_while(pair.0.lock().unwrap(), |sum| *sum < 6).unwrap();
    println!(\"{{}} {{}}\", *sum, receive.iter().flatten().sum::<u64>());
    drop(sum);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}}
fn main() {{ if std::env::args().len() > 1 {{ race() }} else {{ calm() }} }}\n"
    );
    project.manifest("")?.write("src/main.rs", &main)?;
    let run = |args: &[&str]| {
        let mut command = project.command(args);
        command
            .env("RUSTUP_TOOLCHAIN", "nightly")
            .env_remove("RUSTC")
            .env_remove("CARGO");
        project.run(command)
    };
    expect(&run(&["run"])?, 0, &["6 3", "nothing found"])?;
    expect(
        &run(&["run", "--", "x"])?,
        1,
        &["small::touch", "1 data race"],
    )
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
    while !names().iter().any(|name| name.contains(".new")) {
        if let Some(status) = first.try_wait()? {
            return Err(format!("ended with {status} before it was killed").into());
        }
        std::thread::yield_now();
    }
    let group = rustix::process::Pid::from_child(&first);
    rustix::process::kill_process_group(group, rustix::process::Signal::KILL)?;
    first.wait()?;
    if names().iter().any(|name| !name.contains(".new")) {
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
        [ref one] if !one.contains(".new") => Ok(()),
        ref other => Err(format!("not one whole library: {other:?}").into()),
    }
}

pub fn clean(project: &Project) -> Result<(), Failed> {
    project
        .manifest("")?
        .write("src/main.rs", "fn main() {}\n")?;
    let cache = project.dir.join("cache");
    for name in ["std-0123", "std-0123.new-77", "rt-keep"] {
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
        || left("std-0123.new-77")
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
