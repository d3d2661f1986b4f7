//! Command lines as build systems write them, and what they make.

use super::*;

fn read(line: &str) -> CommandLine {
    let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
    classify(&args).unwrap_or_else(|failure| panic!("{line}: {failure}"))
}

fn check(line: &str, expect: Output) {
    assert_eq!(read(line).output, expect, "for {line}");
}

#[test]
fn questions_are_answered_by_the_compiler_alone() {
    for line in [
        "",
        "-v",
        "--version",
        "-V",
        "-dumpversion",
        "-dumpfullversion",
        "-dumpmachine",
        "-dumpspecs",
        "-print-search-dirs",
        "-print-prog-name=ld",
        "-print-file-name=libc.so",
        "--print-file-name=crt1.o",
        "-print-multiarch",
        "-print-resource-dir",
        "-print-libgcc-file-name",
        "--help",
        "--help=warnings",
        "-qversion -v -O2",
        "-cc1 -emit-obj a.c",
        "-g -O2 -Wall",
        "-o x",
        "--version -c a.c",
    ] {
        check(line, Output::Answer);
    }
}

#[test]
fn what_stops_before_linking_is_compiled() {
    for line in [
        "-c a.c",
        "-c a.c -o a.o",
        "-S a.c",
        "-E a.c",
        "-E -",
        "-E -dM -x c /dev/null",
        "-M a.c",
        "-MM a.c",
        "-MM -MG a.c",
        "-c -MD -MF a.d -MT a.o a.c",
        "-fsyntax-only a.c",
        "-shared -c a.c",
        "-static -c a.c",
        "-r -c a.c",
        "-c a.s",
        "-c a.S",
        "-c a.c b.c c.c",
        "-x c -c -",
        "-x c++ -E -v /dev/null",
        "-x assembler-with-cpp -c a.c",
        "-Wl,-shared -c a.c",
        "-lm -c a.c",
        "a.c -c",
        "--compile a.c",
        "--precompile m.cppm",
    ] {
        check(line, Output::Compiled);
    }
}

#[test]
fn headers_alone_are_precompiled() {
    for line in [
        "all.h",
        "all.hpp -o all.hpp.gch",
        "-x c-header x.txt",
        "-xc++-header a.inc",
        "-x c++-header all.h -o all.gch",
        "a.h b.hh",
    ] {
        check(line, Output::Compiled);
    }
    check("-x c all.h", Output::Executable);
    check("-x c-header a.h -x none b.o", Output::Executable);
    check("-include all.h a.c", Output::Executable);
}

#[test]
fn programs_are_linked_with_the_runtime() {
    for line in [
        "a.c",
        "a.o",
        "a.c -o a",
        "-o a a.o b.o -lm",
        "a.o libx.a",
        "-L. -lx",
        "-l x",
        "a.c b.s",
        "-",
        "-x c -",
        "-xc - -o a",
        "-pie a.o",
        "-no-pie a.o",
        "-rdynamic a.o",
        "-nostdlib crt1.o a.o -lc",
        "-static-libgcc a.o",
        "-static-libstdc++ a.o",
        "-MD -MF a.d a.c",
        "-MMD a.c",
        "-Wl,-Bstatic -lx -Wl,-Bdynamic a.o",
        "-Wl,-rpath,/x a.o",
        "-T script.ld a.o",
        "-u main a.o",
        "-Xlinker -z -Xlinker now a.o",
        "-include config.h a.c",
        "-D X a.c",
        "-save-temps a.c",
        "-pipe -pthread a.c",
        "-flto a.o",
        "-### a.c",
        "-- a.c",
        "-v a.o",
        "--sysroot /x a.c",
        "-wrapper gdb,--args a.c",
    ] {
        check(line, Output::Executable);
    }
}

#[test]
fn values_of_options_are_no_inputs() {
    for option in TAKES_VALUE.iter().filter(|o| **o != "-l") {
        check(&format!("{option} a.c"), Output::Answer);
    }
    // ... and what looks like a flag in their place is none.
    check("a.c -o -c", Output::Executable);
    check("a.c -I -shared", Output::Executable);
    check("a.c -Xlinker -r", Output::Relocatable);
    check("a.c -MF -static", Output::Executable);
}

#[test]
fn libraries_and_relocatable_objects_get_no_runtime() {
    for line in [
        "-shared a.o",
        "a.o -shared -o liba.so",
        "-shared -fPIC a.c",
        "-shared -nostdlib crti.o a.o -lstdc++",
        "-Wl,-shared a.o",
        "-Wl,-z,defs,-shared a.o",
        "-shared -static-libgcc a.o",
        "-shared -Wl,-soname,liba.so.1 a.o",
    ] {
        check(line, Output::SharedLibrary);
    }
    for line in [
        "-r a.o b.o -o c.o",
        "-nostdlib -r a.o",
        "-Wl,-r a.o",
        "-Wl,--relocatable a.o",
        "-r -shared a.o",
    ] {
        check(line, Output::Relocatable);
    }
}

#[test]
fn static_programs_are_told_apart() {
    for line in [
        "-static a.c",
        "a.o -static",
        "-static-pie a.c",
        "--static a.c",
        "-static -pthread a.o -lm",
    ] {
        check(line, Output::StaticExecutable);
    }
}

#[test]
fn sanitizers_are_taken_over_or_refused() {
    let kept = |line: &str| {
        read(line)
            .args
            .iter()
            .map(|a| a.to_string_lossy().into_owned())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(kept("-fsanitize=thread a.c"), "a.c");
    assert_eq!(
        kept("-fsanitize=undefined,thread a.c"),
        "-fsanitize=undefined a.c"
    );
    assert_eq!(kept("-fsanitize=undefined a.c"), "-fsanitize=undefined a.c");
    assert_eq!(kept("a.c -ltsan -static-libtsan"), "a.c");
    assert!(read("-fsanitize=thread a.c").instrument);
    assert!(!read("-fno-sanitize=thread a.c").instrument);
    assert!(!read("-fsanitize=thread -fno-sanitize=all a.c").instrument);
    assert!(read("-fno-sanitize=thread -fsanitize=thread a.c").instrument);
    for name in CONFLICTS {
        let args = [
            OsString::from(format!("-fsanitize=undefined,{name}")),
            "a.c".into(),
        ];
        let failure = classify(&args).expect_err("two sanitizers");
        assert!(failure.what().contains(name), "{failure}");
    }
}

#[test]
fn what_else_matters_is_noticed() {
    assert!(read("-c a.s").assembles);
    assert!(read("-c a.c b.S").assembles);
    assert!(read("-x assembler -c -").assembles);
    assert!(!read("-c a.c").assembles);
    for line in [
        "-Wl,-z,defs a.o",
        "-Wl,--no-undefined a.o",
        "-z defs a.o",
        "-zdefs a.o",
        "-Xlinker -z -Xlinker defs a.o",
        "-Wl,-z -Wl,defs a.o",
        "-Wl,-zdefs a.o",
    ] {
        assert!(read(line).refuses_undefined, "{line}");
    }
    assert!(!read("-Wl,-z,defs -Wl,-z,undefs a.o").refuses_undefined);
    assert!(!read("-Wl,-z,now a.o").refuses_undefined);
    assert!(read("-nostdlib a.o").own_libraries);
    assert!(!read("-nostdinc a.o").own_libraries);
}

#[test]
fn nothing_else_of_a_command_line_is_changed() {
    let line = "-O2 -DNAME=\"x\" -I inc -Wl,-O1 a.c -- -b.c";
    let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
    assert_eq!(read(line).args, args);
}
