//! Fetches the sources that are not ours, by name and from two places only: Debian source packages with `apt-get source`,
//! and crates.io packages with `cargo vendor`.
//!
//! apt gets a configuration of its own below the cache directory, with one deb-src entry; the system's is not touched.
//! Everything fetched is checked by the one who fetches: apt against Debian's signed lists, cargo against the index.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};
use crate::layout::Layout;

const SUITE: &str = "bookworm";
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
const CRATES: [(&str, &str); 2] = [("libsqlite3-sys", "0.35.0"), ("zstd-sys", "2.0.15")];

/// Runs a command that belongs to fetching or configuring; its output goes to a log that an error names.
pub fn run_logged(command: &mut Command, log: &Path) -> Result<()> {
    let file = fs::OpenOptions::new().create(true).append(true).open(log);
    let file = file.map_err(|e| Error::io("cannot write", log, &e))?;
    let again = file
        .try_clone()
        .map_err(|e| Error::io("cannot write", log, &e))?;
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command
        .stdin(std::process::Stdio::null())
        .stdout(file)
        .stderr(again)
        .status();
    match status {
        Ok(s) if s.success() => Ok(()),
        Ok(s) => Err(Error::new(format!(
            "{name} failed ({s}); its output is in {}",
            log.display()
        ))),
        Err(e) => Err(Error::new(format!("cannot start {name}: {e}"))),
    }
}

/// The unpacked source of a Debian source package.
pub fn debian(layout: &Layout, package: &str) -> Result<PathBuf> {
    let root = layout.cached_dir("debian")?;
    let unpacked = root.join(package);
    if unpacked.join(".complete").exists() {
        return Ok(unpacked);
    }
    eprintln!("bench: fetching Debian source package {package}");
    let log = root.join(format!("{package}.log"));
    let apt = private_apt(layout, &root, &log)?;
    let download = layout.cached_dir(&format!("debian/download/{package}"))?;
    run_logged(
        Command::new("apt-get")
            .args(&apt)
            .args(["source", "--download-only", package])
            .current_dir(&download),
        &log,
    )?;
    let dsc = fs::read_dir(&download)
        .map_err(|e| Error::io("cannot read", &download, &e))?
        .flatten()
        .map(|f| f.path())
        .find(|p| p.extension().is_some_and(|x| x == "dsc"))
        .ok_or_else(|| {
            Error::new(format!(
                "apt-get source {package} brought no .dsc; see {}",
                log.display()
            ))
        })?;
    if unpacked.exists() {
        fs::remove_dir_all(&unpacked).map_err(|e| Error::io("cannot remove", &unpacked, &e))?;
    }
    run_logged(
        Command::new("dpkg-source")
            .arg("-x")
            .arg(&dsc)
            .arg(&unpacked),
        &log,
    )?;
    let mark = unpacked.join(".complete");
    fs::write(&mark, "").map_err(|e| Error::io("cannot write", &mark, &e))?;
    Ok(unpacked)
}

/// Options that give apt its own lists, cache and sources, and the lists brought up to date.
fn private_apt(layout: &Layout, root: &Path, log: &Path) -> Result<Vec<String>> {
    let lists = layout.cached_dir("debian/lists")?;
    layout.cached_dir("debian/lists/partial")?;
    layout.cached_dir("debian/archives/partial")?;
    let sources = root.join("sources.list");
    let entry =
        format!("deb-src [signed-by={KEYRING}] http://deb.debian.org/debian {SUITE} main\n");
    fs::write(&sources, entry).map_err(|e| Error::io("cannot write", &sources, &e))?;
    let mut options = Vec::new();
    for (key, value) in [
        ("Dir::Etc::SourceList", sources.display().to_string()),
        ("Dir::Etc::SourceParts", "/dev/null".to_string()),
        ("Dir::State::Lists", lists.display().to_string()),
        ("Dir::Cache", root.display().to_string()),
        // The download runs as whoever calls us, since apt's own user cannot write here.
        ("APT::Sandbox::User", String::new()),
    ] {
        options.push("-o".to_string());
        options.push(format!("{key}={value}"));
    }
    let fresh = root.join("lists.complete");
    if !fresh.exists() {
        run_logged(Command::new("apt-get").args(&options).arg("update"), log)?;
        fs::write(&fresh, "").map_err(|e| Error::io("cannot write", &fresh, &e))?;
    }
    Ok(options)
}

/// The unpacked source of one of the crates.io packages.
pub fn crates_io(layout: &Layout, name: &str) -> Result<PathBuf> {
    let (_, version) = CRATES
        .iter()
        .find(|(n, _)| *n == name)
        .ok_or_else(|| Error::new(format!("{name} is not in the list of crates.io packages")))?;
    let root = layout.cached_dir("crates")?;
    let vendor = root.join("vendor");
    if !root.join("complete").exists() {
        eprintln!(
            "bench: fetching from crates.io: {}",
            CRATES.map(|(n, v)| format!("{n} {v}")).join(", ")
        );
        layout.cached_dir("crates/src")?;
        let mut manifest = String::from(
            "[package]\nname = \"sources\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[workspace]\n[dependencies]\n",
        );
        for (n, v) in CRATES {
            manifest.push_str(&format!("{n} = \"={v}\"\n"));
        }
        let file = root.join("Cargo.toml");
        fs::write(&file, manifest).map_err(|e| Error::io("cannot write", &file, &e))?;
        let empty = root.join("src/lib.rs");
        fs::write(&empty, "").map_err(|e| Error::io("cannot write", &empty, &e))?;
        let log = root.join("vendor.log");
        run_logged(
            Command::new("cargo")
                .args(["vendor", "--versioned-dirs"])
                .arg(&vendor)
                .current_dir(&root),
            &log,
        )?;
        let mark = root.join("complete");
        fs::write(&mark, "").map_err(|e| Error::io("cannot write", &mark, &e))?;
    }
    let prefix = format!("{name}-{version}");
    fs::read_dir(&vendor)
        .map_err(|e| Error::io("cannot read", &vendor, &e))?
        .flatten()
        .map(|f| f.path())
        // A version may carry build metadata, as in 2.0.15+zstd.1.5.7.
        .find(|p| {
            p.file_name()
                .and_then(|n| n.to_str())
                .is_some_and(|n| n == prefix || n.starts_with(&format!("{prefix}+")))
        })
        .ok_or_else(|| {
            Error::new(format!(
                "cargo vendor brought no {prefix}; remove {} and try again",
                root.display()
            ))
        })
}

/// What make must not do: run the autotools again because Debian's patches are younger than their output.
pub const NO_AUTOTOOLS: [&str; 4] = ["ACLOCAL=:", "AUTOMAKE=:", "AUTOCONF=:", "AUTOHEADER=:"];

/// A configured libevent: where its generated headers are, and a native library for others to configure against.
pub struct Libevent {
    pub source: PathBuf,
    pub build: PathBuf,
    pub prefix: PathBuf,
}

/// Options that keep libevent to what memcached uses.
pub const LIBEVENT_OPTIONS: [&str; 5] = [
    "--disable-openssl",
    "--disable-shared",
    "--disable-samples",
    "--disable-libevent-regress",
    "--disable-debug-mode",
];

/// Debian's libevent, configured and installed natively below the cache.
pub fn libevent(layout: &Layout) -> Result<Libevent> {
    let source = debian(layout, "libevent")?;
    let build = layout.cached_dir("build/libevent-configured")?;
    let prefix = layout.cached_dir("build/libevent-prefix")?;
    let mark = build.join("complete");
    if !mark.exists() {
        eprintln!("bench: configuring libevent");
        let log = build.join("configure.log");
        let mut configure = Command::new(source.join("configure"));
        configure
            .args(LIBEVENT_OPTIONS)
            .arg(format!("--prefix={}", prefix.display()))
            .arg("CC=clang-19");
        run_logged(configure.current_dir(&build), &log)?;
        run_logged(
            Command::new("make")
                .args(NO_AUTOTOOLS)
                .args(["-j2", "install"])
                .current_dir(&build),
            &log,
        )?;
        fs::write(&mark, "").map_err(|e| Error::io("cannot write", &mark, &e))?;
    }
    Ok(Libevent {
        source,
        build,
        prefix,
    })
}

/// Debian's memcached, configured natively: its source and the folder with `config.h`.
pub fn memcached(layout: &Layout, libevent: &Libevent) -> Result<(PathBuf, PathBuf)> {
    let source = debian(layout, "memcached")?;
    let build = layout.cached_dir("build/memcached-configured")?;
    let mark = build.join("complete");
    if !mark.exists() {
        eprintln!("bench: configuring memcached");
        let mut configure = Command::new(source.join("configure"));
        configure
            .arg(format!("--with-libevent={}", libevent.prefix.display()))
            .arg("CC=clang-19");
        run_logged(configure.current_dir(&build), &build.join("configure.log"))?;
        fs::write(&mark, "").map_err(|e| Error::io("cannot write", &mark, &e))?;
    }
    Ok((source, build))
}
