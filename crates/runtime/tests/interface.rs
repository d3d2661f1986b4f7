//! The linkable library has every name that compilers and programs may ask for: those of `interface_names.txt`.

mod common;

use std::collections::BTreeSet;
use std::process::Command;

#[test]
fn every_name_is_there() {
    let listed = Command::new("nm")
        .arg(common::library().join("libdeadheat_rt.a"))
        .output()
        .expect("nm (binutils) can be started");
    let text = String::from_utf8_lossy(&listed.stdout);
    let names: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.split_whitespace().last())
        .collect();
    let wanted = include_str!("interface_names.txt");
    let missing: Vec<&str> = wanted
        .lines()
        .filter(|name| !names.contains(name))
        .collect();
    assert!(missing.is_empty(), "missing in the library: {missing:?}");
}
