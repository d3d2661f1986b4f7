//! Any words as a strand's stream, past the checksums that guard a file: decoded, or refused.
#![no_main]

use deadheat_trace::wire::{Decoder, Writer};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let words: Vec<u64> = bytes
        .chunks_exact(8)
        .filter_map(|word| Some(u64::from_le_bytes(word.try_into().ok()?)))
        .collect();
    let (mut decoder, mut rest) = (Decoder::new(), &words[..]);
    let (mut writer, mut out) = (Writer::default(), Vec::new());
    while let Ok(Some(item)) = decoder.next(&mut rest) {
        // What was understood can be written.
        out.clear();
        writer.write(&item, &mut out);
    }
});
