//! Gives the shared library a name that programs can depend on.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libdeadheat_rt.so");
    println!("cargo:rerun-if-changed=build.rs");
}
