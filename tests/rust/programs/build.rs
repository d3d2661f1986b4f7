//! Compiles the C and C++ parts of the programs, in the two ways that most crates go.

fn main() {
    println!("cargo::rerun-if-changed=src/counter.c");
    cc::Build::new().file("src/counter.c").compile("counter");
    println!("cargo::rerun-if-changed=gauge");
    let built = cmake::build("gauge");
    println!("cargo::rustc-link-search=native={}/lib", built.display());
    println!("cargo::rustc-link-lib=static=gauge");
}
