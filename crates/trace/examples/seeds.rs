//! Writes recordings for the fuzzer to begin with: `seeds FOLDER` fills FOLDER/seeds-file, -words and -text.

use std::fs;
use std::io;
use std::path::Path;

use deadheat_trace::file::save;
use deadheat_trace::wire::{Memory, Next, Source};
use deadheat_trace::{Shape, generate};

fn main() -> io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let place = |kind: &str, name: u64| {
        let folder = Path::new(&folder).join(format!("seeds-{kind}"));
        fs::create_dir_all(&folder)?;
        Ok::<_, io::Error>(folder.join(name.to_string()))
    };
    for seed in 0..8 {
        let trace = generate(seed, &Shape::small());
        fs::write(place("text", seed)?, trace.to_string())?;
        let mut memory = Memory::of(&trace);
        let mut words = Vec::new();
        for strand in memory.strands().collect::<Vec<_>>() {
            let mut copy = memory.clone();
            while copy.next(strand, &mut words) == Next::Some {}
        }
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        fs::write(place("words", seed)?, bytes)?;
        let (file, _) = save(&mut memory, Vec::new())?;
        fs::write(place("file", seed)?, file)?;
    }
    Ok(())
}
