//! The `deadheat` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    deadheat_cli::command(std::env::args_os().collect())
}
