//! Any text as a recording or in STD: read, or refused with a line.
#![no_main]

use deadheat_trace::{recorded, std_format};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = recorded::parse(text);
    let _ = std_format::import(text);
});
