//! The symbolizer on real programs: gcc and clang, C, C++ and Rust, stripped, compressed and separate debug info.

mod common;

use common::{BIAS, Built, bank, compile, manifest, symbols};
use deadheat_report::symbolize::{Mapped, Symbolizer};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

fn load(path: &Path, debug_roots: &[PathBuf]) -> Symbolizer {
    let mut symbolizer = Symbolizer::new(debug_roots.to_vec());
    symbolizer.map(Mapped {
        path: path.display().to_string(),
        bias: BIAS,
        start: BIAS,
        end: BIAS + 0x100_0000,
        ..Mapped::default()
    });
    symbolizer
}

fn functions(symbolizer: &mut Symbolizer, pc: u64) -> Vec<(String, Option<u32>, bool)> {
    symbolizer
        .frames(pc)
        .iter()
        .map(|entry| {
            (
                entry.frame.function.clone(),
                entry.frame.line,
                entry.frame.inlined,
            )
        })
        .collect()
}

/// Line of the first place in a program where a text stands.
fn line_of(program: &str, text: &str) -> Option<u32> {
    let source =
        std::fs::read_to_string(manifest().join("tests/programs").join(program)).expect("there");
    let at = source
        .lines()
        .position(|line| line.contains(text))
        .unwrap_or_else(|| panic!("no `{text}`"));
    u32::try_from(at + 1).ok()
}

#[test]
fn inlined_frames_and_cpp_names() {
    for (compiler, flags) in [
        ("g++", ["-O1", "-gdwarf-5"]),
        ("g++", ["-O2", "-gdwarf-4"]),
        ("clang++-19", ["-O1", "-gdwarf-5"]),
        ("clang++-19", ["-O0", "-gz=zlib"]),
    ] {
        let built = compile(
            "names.cc",
            compiler,
            &flags,
            &format!("names-{compiler}-{}", flags.concat()),
        );
        let mut symbolizer = load(&built.path, &[]);
        let frames = functions(&mut symbolizer, built.at("spot_inner"));
        let names: Vec<&str> = frames.iter().map(|(name, _, _)| name.as_str()).collect();
        assert_eq!(
            names,
            ["shop::inner", "shop::middle", "shop::Item::rename"],
            "{compiler} {flags:?}"
        );
        assert_eq!(frames[0].1, line_of("names.cc", "touch(&item.at.y"));
        assert_eq!(frames[1].1, line_of("names.cc", "inner(value + 1);"));
        assert_eq!(
            frames.iter().map(|frame| frame.2).collect::<Vec<_>>(),
            [true, true, false]
        );
        let twice = functions(&mut symbolizer, built.at("spot_twice"));
        assert_eq!(
            twice.last().expect("a frame").0,
            "shop::twice<int>",
            "{compiler} {flags:?}"
        );
        let lambda = functions(&mut symbolizer, built.at("spot_lambda"));
        assert!(lambda[0].0.ends_with("operator()"), "{}", lambda[0].0);
        assert!(
            lambda[0].2 || lambda[0].0.starts_with("main::"),
            "{}",
            lambda[0].0
        );
    }
}

fn global(symbolizer: &mut Symbolizer, address: u64) -> String {
    symbolizer
        .global(address)
        .map_or_else(|| "none".to_owned(), |found| found.variable.path.clone())
}

#[test]
fn globals_with_members() {
    for compiler in ["g++", "clang++-19"] {
        let built = compile("names.cc", compiler, &[], &format!("members-{compiler}"));
        let mut symbolizer = load(&built.path, &[]);
        let item = built.at("_ZN4shop4itemE");
        for (offset, expected) in [
            (0, "shop::item.id"),
            (8, "shop::item.at.x"),
            (12, "shop::item.at.y"),
            (16 + 8 * 4 + 4, "shop::item.corners[1][1].y"),
            (16 + 48, "shop::item.uses"),
            (16 + 48 + 4, "shop::item.high"),
        ] {
            let name = global(&mut symbolizer, item + offset);
            let same =
                name == expected || (expected == "shop::item.high" && name == "shop::item.low");
            assert!(same, "{compiler}: {name} at {offset}, not {expected}");
        }
        let found = symbolizer.global(item + 12).expect("item");
        assert_eq!(found.variable.object, "shop::item");
        assert_eq!(found.start, item);
        let declared = found.variable.declared.clone().expect("declared");
        assert_eq!(declared.line, line_of("names.cc", "Item item;"));
        assert!(
            declared.file.ends_with("/tests/programs/names.cc"),
            "{}",
            declared.file
        );
        assert_eq!(
            global(&mut symbolizer, built.at("_ZN4shop4Item4madeE")),
            "shop::Item::made"
        );
        let calls = built
            .symbols
            .keys()
            .find(|name| name.contains("renameE") && name.contains("calls"))
            .expect("the static local has a symbol")
            .clone();
        assert_eq!(
            global(&mut symbolizer, built.at(&calls)),
            "shop::Item::rename::calls"
        );
        assert_eq!(global(&mut symbolizer, built.at("main")), "none");
        assert_eq!(global(&mut symbolizer, 0x10), "none");
    }
}

#[test]
fn c_structures_and_arrays() {
    for compiler in ["gcc", "clang-19"] {
        let built = compile("bank.c", compiler, &[], &format!("bank-{compiler}"));
        let mut symbolizer = load(&built.path, &[]);
        assert_eq!(
            global(&mut symbolizer, built.at("accounts") + 56 * 3 + 8),
            "accounts[3].balance"
        );
        assert_eq!(
            global(&mut symbolizer, built.at("accounts") + 56 * 3 + 16),
            "accounts[3].lock"
        );
        assert_eq!(global(&mut symbolizer, built.at("books")), "books");
    }
}

#[test]
fn thread_locals_by_their_place_below_the_thread_pointer() {
    for (compiler, flags) in [
        ("g++", &["-gdwarf-5"][..]),
        ("clang++-19", &["-gdwarf-5"]),
        ("g++", &["-g0"]),
    ] {
        let built = compile("names.cc", compiler, flags, &format!("tls-{compiler}"));
        let mut symbolizer = Symbolizer::new(Vec::new());
        let mapped = |path: &Path, start: u64, tls: u64| Mapped {
            path: path.display().to_string(),
            bias: start,
            start,
            end: start + 0x10_0000,
            tls: Some(tls),
            ..Mapped::default()
        };
        symbolizer.map(mapped(&built.path, BIAS, 0x40));
        symbolizer.map(mapped(Path::new("/no/such/library.so"), BIAS * 2, 0x80));
        let name = |symbolizer: &mut Symbolizer, below: u64| {
            symbolizer
                .thread_local(below)
                .map(|(variable, _)| variable.path)
        };
        let offset = built.symbols["_ZN4shopL4mineE"];
        for byte in 0..4 {
            assert_eq!(
                name(&mut symbolizer, 0x40 - offset - byte).as_deref(),
                Some("shop::mine"),
                "{compiler}"
            );
        }
        assert_eq!(name(&mut symbolizer, 0x40 - offset - 4), None);
        assert_eq!(name(&mut symbolizer, 0x80), None, "another module's");
        assert_eq!(name(&mut symbolizer, 0x81), None, "nobody's");
    }
}

#[test]
fn locals_by_their_frame() {
    for compiler in ["gcc", "clang-19"] {
        let built = compile(
            "bank.c",
            compiler,
            &["-fno-omit-frame-pointer"],
            &format!("locals-{compiler}"),
        );
        let mut symbolizer = load(&built.path, &[]);
        let pc = built.at("spot_main_audit");
        let cfa = 0x7ffc_0000_1000;
        let mut names: Vec<String> = (1..200)
            .filter_map(|below| symbolizer.local(pc, cfa, cfa - below))
            .map(|variable| variable.path)
            .collect();
        names.sort();
        names.dedup();
        assert_eq!(names, ["book", "one", "two"], "{compiler}");
    }
}

fn run(command: &mut Command) {
    let status = command
        .status()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?}");
}

fn stripped(built: &Built, folder: &str, add_link: bool) -> (PathBuf, PathBuf) {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(folder);
    std::fs::create_dir_all(&folder).expect("folder");
    let program = folder.join("prog");
    let debug = folder.join("prog.debug");
    run(Command::new("objcopy")
        .arg("--only-keep-debug")
        .arg(&built.path)
        .arg(&debug));
    run(Command::new("objcopy")
        .arg("--strip-all")
        .arg(&built.path)
        .arg(&program));
    if add_link {
        run(Command::new("objcopy")
            .arg(format!("--add-gnu-debuglink={}", debug.display()))
            .arg(&program));
    }
    (program, debug)
}

#[test]
fn debug_info_by_link() {
    let built = compile("bank.c", "gcc", &["-Wl,--build-id=none"], "link");
    let (program, debug) = stripped(&built, "by-link", true);
    let mut symbolizer = load(&program, &[]);
    let frames = functions(&mut symbolizer, built.at("spot_audit_balance"));
    assert_eq!(
        frames,
        [(
            "audit".to_owned(),
            line_of("bank.c", "sum += accounts"),
            false
        )]
    );
    assert_eq!(global(&mut symbolizer, built.at("books")), "books");
    // A debug file of another build must not be believed.
    std::fs::copy(bank("link-other").path, &debug).expect("copied");
    let mut symbolizer = load(&program, &[]);
    assert_eq!(
        functions(&mut symbolizer, built.at("spot_audit_balance"))[0].1,
        None
    );
}

#[test]
fn debug_info_by_build_id() {
    let built = compile(
        "bank.c",
        "gcc",
        &["-Wl,--build-id=0xabcdef0123456789"],
        "build-id",
    );
    let (program, debug) = stripped(&built, "by-id", false);
    let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("by-id/root");
    let folder = root.join(".build-id/ab");
    std::fs::create_dir_all(&folder).expect("folder");
    std::fs::copy(debug, folder.join("cdef0123456789.debug")).expect("copied");
    let mut symbolizer = load(&program, &[root]);
    let frames = functions(&mut symbolizer, built.at("spot_audit_balance"));
    assert_eq!(frames[0].0, "audit");
    assert_eq!(frames[0].1, line_of("bank.c", "sum += accounts"));
}

#[test]
fn without_debug_info_symbols_remain() {
    let built = compile("bank.c", "gcc", &["-g0"], "no-debug");
    let mut symbolizer = load(&built.path, &[]);
    assert_eq!(
        functions(&mut symbolizer, built.at("spot_audit_balance")),
        [("audit".to_owned(), None, false)]
    );
    assert_eq!(
        global(&mut symbolizer, built.at("accounts") + 60),
        "accounts"
    );
    assert_eq!(symbolizer.problems(), &[] as &[String]);
}

#[test]
fn split_dwarf_keeps_lines() {
    for compiler in ["gcc", "clang-19"] {
        let built = compile(
            "bank.c",
            compiler,
            &["-gsplit-dwarf"],
            &format!("split-{compiler}"),
        );
        let mut symbolizer = load(&built.path, &[]);
        let frames = functions(&mut symbolizer, built.at("spot_audit_balance"));
        assert_eq!(
            frames,
            [(
                "audit".to_owned(),
                line_of("bank.c", "sum += accounts"),
                false
            )],
            "{compiler}"
        );
    }
}

#[test]
fn rust_names() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join("rusty");
    run(Command::new("rustc")
        .current_dir(manifest())
        .args([
            "-g",
            "-Copt-level=0",
            "--edition=2024",
            "tests/programs/rusty.rs",
            "-o",
        ])
        .arg(&path));
    let symbols = symbols(&path);
    let (name, address) = symbols
        .iter()
        .find(|(name, _)| name.contains("deposit"))
        .expect("deposit");
    let mut symbolizer = load(&path, &[]);
    let frames = functions(&mut symbolizer, BIAS + address + 8);
    assert_eq!(frames[0].0, "rusty::bank::deposit", "{name}");
    let (_, total) = symbols
        .iter()
        .find(|(name, _)| name.contains("TOTAL"))
        .expect("TOTAL");
    assert!(global(&mut symbolizer, BIAS + total).starts_with("rusty::bank::TOTAL"));
}

#[test]
fn an_interposed_function_is_named_by_its_start() {
    let built = bank("interposed");
    let mut symbolizer = load(&built.path, &[]);
    let stack = symbolizer.stack(&[built.at("audit"), built.at("spot_main_audit")]);
    let names: Vec<&str> = stack
        .iter()
        .map(|entry| entry.frame.function.as_str())
        .collect();
    assert_eq!(names, ["audit", "main"]);
    assert_eq!(
        (stack[0].frame.line, stack[0].frame.module.as_deref()),
        (None, None)
    );
    assert_eq!(
        stack[1].frame.line,
        line_of("bank.c", "total = (int)audit();")
    );
    // Only the innermost entry can be one: elsewhere it is a return address like any other.
    let stack = symbolizer.stack(&[built.at("spot_main_audit"), built.at("audit")]);
    assert_ne!(stack[1].frame.function, "audit");
}

#[test]
fn missing_files_and_unknown_addresses_are_told() {
    let mut symbolizer = load(Path::new("/nowhere/prog"), &[]);
    let frames = symbolizer.frames(BIAS + 0x1001);
    assert_eq!(frames[0].frame.module.as_deref(), Some("/nowhere/prog"));
    assert_eq!(frames[0].frame.offset.map(|at| at.0), Some(0x1000));
    assert_eq!(symbolizer.frames(3)[0].frame.module, None);
    assert_eq!(symbolizer.problems().len(), 1);
    let _ = symbolizer.frames(BIAS + 0x2001);
    assert_eq!(symbolizer.problems().len(), 1, "told once");
}

#[test]
fn a_thousand_stacks_are_quick() {
    let built = compile("names.cc", "g++", &["-O2"], "names-quick");
    let mut symbolizer = load(&built.path, &[]);
    let start = built.at("main");
    let _ = symbolizer.frames(start + 4);
    let _ = symbolizer.global(built.at("_ZN4shop4itemE"));
    let before = Instant::now();
    for finding in 0..1000_u64 {
        let pcs: Vec<u64> = (0..20)
            .map(|depth| start + (finding * 7 + depth) % 400)
            .collect();
        let _ = symbolizer.stack(&pcs);
        let _ = symbolizer.global(built.at("_ZN4shop4itemE") + finding % 64);
    }
    // Far above what it takes even unoptimized on a busy machine; a lost cache takes longer.
    assert!(before.elapsed().as_secs() < 5, "{:?}", before.elapsed());
}
