//! `cargo deadheat`: hands over to the `deadheat` that was installed with it.

use std::env;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let mut args = env::args_os().skip(1).peekable();
    // Cargo says the name of the command once more.
    args.next_if(|first| first == "deadheat");
    let beside = env::current_exe()
        .ok()
        .map(|own| own.with_file_name("deadheat"))
        .filter(|path| path.is_file());
    let deadheat = beside.unwrap_or_else(|| PathBuf::from("deadheat"));
    let error = Command::new(&deadheat).arg("cargo").args(args).exec();
    eprintln!(
        "deadheat: cannot start {}: {error}\n  the two commands are installed together: cargo install --path crates/cli",
        deadheat.display()
    );
    ExitCode::from(2)
}
