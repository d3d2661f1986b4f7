//! `deadheat gpu`: hands its words to the GPU checker, which has its own flags.

use crate::error::{EXIT_FAILED, Failure, Result};
use deadheat_gpu::frontend::cli::Host;
use deadheat_gpu::frontend::{ToolError, programs};
use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs `deadheat gpu ARGS`.
pub fn main(args: &[OsString]) -> Result<ExitCode> {
    let words = args.iter().map(|word| {
        word.clone().into_string().map_err(|odd| {
            Failure::new(format!("`{}` is not UTF-8", odd.display()))
                .next("rename the file, or call it by a link with a plain name")
        })
    });
    let host = Host {
        keep: &crate::state::save,
        library: &|| match crate::unpack::gpu_library() {
            Ok(Some(library)) if env::var_os("DEADHEAT_CUDART").is_none() => Ok(library),
            Ok(_) => programs::library(),
            Err(failure) => Err(ToolError(failure.to_string())),
        },
    };
    let code = deadheat_gpu::frontend::cli::main(&words.collect::<Result<Vec<String>>>()?, &host);
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(EXIT_FAILED)))
}

#[cfg(test)]
mod tests {
    use crate::options::command;
    use deadheat_gpu::frontend::cli::HELP;

    #[test]
    fn the_table_and_the_checkers_own_help_list_the_same_flags() {
        let own = command("gpu").expect("a command").own;
        let mut listed: Vec<&str> = own.iter().map(|flag| flag.name).collect();
        let mut told: Vec<&str> = HELP
            .split(|c: char| c.is_whitespace() || "[],".contains(c))
            .filter(|word| word.starts_with("--"))
            .collect();
        told.sort_unstable();
        told.dedup();
        listed.sort_unstable();
        assert_eq!(listed, told);
    }
}
