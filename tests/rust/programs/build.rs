//! Compiles the C part of the programs, as many crates do.

fn main() {
    println!("cargo::rerun-if-changed=src/counter.c");
    cc::Build::new().file("src/counter.c").compile("counter");
}
