//! `deadheat-gpu`: the GPU subcommands on their own.

use deadheat_gpu::frontend::cli::Host;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    std::process::exit(deadheat_gpu::frontend::cli::main(&args, &Host::default()));
}
