//! Any bytes as a trace file: the reader and the decoder answer, whatever they get. A short deterministic run of the same is in
//! `tests/file.rs`.
#![no_main]

use std::io::Cursor;

use deadheat_trace::file::Reader;
use deadheat_trace::merge::InOrder;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(mut reader) = Reader::new(Cursor::new(bytes)) {
        let count = InOrder::new(&mut reader).count();
        assert!(
            count <= bytes.len() * 256,
            "more events than the file can hold"
        );
    }
});
