//! Debian packages that the bench needs: looked for by the file they bring, installed with apt-get if missing.

use std::path::Path;
use std::process::Command;

use crate::error::{Error, Result};
use crate::tool::Tool;

/// A package and a file that is there once it is installed.
struct Package {
    name: &'static str,
    file: &'static str,
}

const CLANG: Package = Package {
    name: "clang-19",
    file: "/usr/bin/clang-19",
};
const CLANG_RT: Package = Package {
    name: "libclang-rt-19-dev",
    file: "/usr/lib/llvm-19/lib/clang/19/lib/linux/libclang_rt.tsan-x86_64.a",
};
const VALGRIND: Package = Package {
    name: "valgrind",
    file: "/usr/bin/valgrind",
};
const DPKG_DEV: Package = Package {
    name: "dpkg-dev",
    file: "/usr/bin/dpkg-source",
};
const MAKE: Package = Package {
    name: "make",
    file: "/usr/bin/make",
};

/// Installs what these tools need, saying so first.
pub fn ensure(tools: &[Tool], debian_sources: bool) -> Result<()> {
    let mut wanted = vec![CLANG];
    if tools.contains(&Tool::Tsan) {
        wanted.push(CLANG_RT);
    }
    if tools.iter().any(|t| t.is_valgrind()) {
        wanted.push(VALGRIND);
    }
    if debian_sources {
        wanted.push(DPKG_DEV);
        wanted.push(MAKE);
    }
    let missing: Vec<&str> = wanted
        .iter()
        .filter(|p| !Path::new(p.file).exists())
        .map(|p| p.name)
        .collect();
    if missing.is_empty() {
        Ok(())
    } else {
        install(&missing)
    }
}

fn install(names: &[&str]) -> Result<()> {
    // SAFETY: geteuid has no arguments and cannot fail.
    let root = unsafe { libc::geteuid() } == 0;
    let mut words: Vec<&str> = if root { Vec::new() } else { vec!["sudo"] };
    words.extend(["apt-get", "install", "--yes", "--no-install-recommends"]);
    words.extend(names);
    eprintln!("bench: installing from Debian: {}", words.join(" "));
    let status = Command::new(words[0]).args(&words[1..]).status();
    match status {
        Ok(s) if s.success() => Ok(()),
        _ => Err(Error::new(format!(
            "could not install {}; do it by hand: {}",
            names.join(", "),
            words.join(" ")
        ))),
    }
}
