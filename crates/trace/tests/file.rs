//! A file holds exactly what was recorded; a cut or damaged one yields what it holds and says what was lost.

use std::collections::BTreeMap;
use std::io::Cursor;

use deadheat_trace::file::{OpenError, Reader, save};
use deadheat_trace::wire::{Decoder, Item, Memory, Next, Source};
use deadheat_trace::{Shape, Strand, generate};

type Items = BTreeMap<Strand, Vec<(Item, Vec<u64>)>>;

/// All items of all strands, with the program counters of their call stacks.
fn items(source: &mut impl Source, strands: &[Strand]) -> Items {
    let mut all = Items::new();
    for &strand in strands {
        let (mut decoder, mut words) = (Decoder::new(), Vec::new());
        let list = all.entry(strand).or_default();
        while source.next(strand, &mut words) == Next::Some {
            let mut rest = &words[..];
            while let Ok(Some(item)) = decoder.next(&mut rest) {
                let mut node = match item {
                    Item::Touch(touched) => touched.caller,
                    Item::Act(act) => act.at,
                    Item::Memory(..) | Item::Lost(_) => Default::default(),
                };
                let mut pcs = Vec::new();
                while let Some((caller, pc)) = source.node(node) {
                    pcs.push(pc);
                    node = caller;
                }
                list.push((item, pcs));
            }
            words.clear();
        }
    }
    all
}

fn recorded(seed: u64, shape: &Shape) -> (Vec<u8>, Items, Vec<Strand>) {
    let memory = Memory::of(&generate(seed, shape));
    let strands: Vec<Strand> = memory.strands().collect();
    let expected = items(&mut memory.clone(), &strands);
    let mut source = memory;
    source.portion = 50;
    source.add_line("{\"event\":\"start\"}".to_string());
    source.add_line("{\"event\":\"end\"}".to_string());
    let (file, written) = save(&mut source, Vec::new()).expect("written to memory");
    assert_eq!(written.bytes, file.len() as u64);
    (file, expected, strands)
}

fn open(bytes: &[u8]) -> Result<Reader<Cursor<&[u8]>>, OpenError> {
    Reader::new(Cursor::new(bytes))
}

#[test]
fn what_was_recorded_comes_back() {
    for (seed, shape) in [
        (1, Shape::small()),
        (2, Shape::large()),
        (3, Shape::atomics()),
    ] {
        let (file, expected, strands) = recorded(seed, &shape);
        let mut reader = open(&file).expect("a trace");
        assert_eq!(reader.strands(), strands);
        assert_eq!(items(&mut reader, &strands), expected);
        assert!(reader.losses().is_empty());
        let mut lines = Vec::new();
        reader.lines(&mut lines);
        assert_eq!(lines, ["{\"event\":\"start\"}", "{\"event\":\"end\"}"]);
    }
}

#[test]
fn a_file_that_is_cut_yields_what_it_holds() {
    let (file, expected, strands) = recorded(5, &Shape::small());
    let mut most = 0;
    for length in 0..file.len() {
        let Ok(mut reader) = open(&file[..length]) else {
            assert!(length < 16, "{length} of {} bytes", file.len());
            continue;
        };
        let found = items(&mut reader, &strands);
        for (strand, list) in &found {
            assert!(expected[strand].starts_with(list), "at {length}");
        }
        most = most.max(found.values().map(Vec::len).sum());
        assert!(!reader.losses().is_empty(), "nothing said at {length}");
    }
    assert_eq!(most, expected.values().map(Vec::len).sum::<usize>());
}

#[test]
fn damage_is_said() {
    let (file, expected, strands) = recorded(6, &Shape::small());
    for at in 0..file.len() {
        for bit in [0, 5] {
            let mut bad = file.clone();
            bad[at] ^= 1 << bit;
            let Ok(mut reader) = open(&bad) else {
                assert!(at < 12, "byte {at}");
                continue;
            };
            let found = items(&mut reader, &strands);
            // Bytes that say nothing may change, and the version may become an older one.
            let silent = (8..16).contains(&at);
            let same = found == expected && reader.strands() == strands;
            assert!(
                same && silent || !reader.losses().is_empty(),
                "byte {at}, bit {bit}"
            );
        }
    }
}

#[test]
fn hostile_files_end_in_an_answer() {
    let (file, _, strands) = recorded(7, &Shape::small());
    let mut state = 0x1234_5678_9abc_def1u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for _ in 0..3000 {
        let mut bad = file.clone();
        for _ in 0..1 + next(8) {
            match next(4) {
                0 => {
                    let at = next(bad.len());
                    bad[at] = next(256) as u8;
                }
                1 => {
                    let (from, to) = (next(bad.len()), next(bad.len()));
                    let count = next(64).min(bad.len() - from.max(to));
                    bad.copy_within(from..from + count, to);
                }
                2 => {
                    bad.truncate(17 + next(bad.len()));
                }
                _ => {
                    let at = next(bad.len());
                    bad.splice(at..at, [0xff; 7]);
                }
            }
        }
        if let Ok(mut reader) = open(&bad) {
            items(&mut reader, &strands);
        }
    }
}
