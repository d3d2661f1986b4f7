//! `deadheat cc` and `c++` as build systems call them, with both compilers.

mod common;

use common::{CLEAN, COMPILERS, Folder, check, run, succeed, text};

const MAIN: &str = "int add(int, int);\nint main(void) { return add(2, 3) == 5 ? 0 : 9; }\n";
const ADD: &str = "int calls;\nint add(int a, int b) { calls++; return a + b; }\n";

/// Whether an object was instrumented.
fn instrumented(folder: &Folder, name: &str) -> bool {
    text(&succeed(folder.command("nm").arg(name)).stdout).contains("__tsan_func_entry")
}

fn each(name: &str, test: impl Fn(&Folder, &str)) {
    for compiler in COMPILERS {
        let folder = Folder::new(&format!("{name}-{compiler}"));
        folder.file("main.c", MAIN);
        folder.file("add.c", ADD);
        test(&folder, compiler);
    }
}

#[test]
fn one_step_and_two_steps() {
    each("steps", |folder, compiler| {
        folder.succeed(&format!("cc --compiler {compiler} main.c add.c -o one"));
        succeed(&mut folder.command("./one"));
        folder.succeed(&format!("cc --compiler {compiler} -c main.c add.c"));
        assert!(instrumented(folder, "add.o"));
        folder.succeed(&format!("cc --compiler={compiler} main.o add.o -o two -lm"));
        succeed(&mut folder.command("./two"));
        folder.succeed(&format!("cc --compiler {compiler} add.c main.o"));
        succeed(&mut folder.command("./a.out"));
    });
}

#[test]
fn static_and_pie_programs() {
    each("static", |folder, compiler| {
        for flag in [
            "-static",
            "-static-pie",
            "-no-pie",
            "-pie",
            "-static-libgcc",
        ] {
            folder.succeed(&format!(
                "cc --compiler {compiler} {flag} main.c add.c -o prog"
            ));
            succeed(&mut folder.command("./prog"));
        }
    });
}

#[test]
fn optimized_at_link_time() {
    each("lto", |folder, compiler| {
        let linker = if compiler == "gcc" {
            ""
        } else {
            "-fuse-ld=lld-19"
        };
        folder.succeed(&format!(
            "cc --compiler {compiler} {linker} -O2 -flto main.c add.c -o prog"
        ));
        succeed(&mut folder.command("./prog"));
    });
}

#[test]
fn shared_libraries_use_the_runtime_of_the_program() {
    each("shared", |folder, compiler| {
        folder.succeed(&format!(
            "cc --compiler {compiler} -shared -fPIC -Wl,--no-undefined add.c -o libadd.so"
        ));
        let needed = text(&succeed(folder.command("readelf").args(["-d", "libadd.so"])).stdout);
        assert!(
            !needed.contains("libdeadheat") && !needed.contains("libtsan"),
            "{needed}"
        );
        folder.succeed(&format!(
            "cc --compiler {compiler} main.c -L. -ladd -Wl,-rpath,. -o prog"
        ));
        succeed(&mut folder.command("./prog"));
        folder.file(
            "load.c",
            "#include <dlfcn.h>\n#include <stdio.h>\nint main(void) {\n void *lib = dlopen(`./libadd.so`, RTLD_NOW);\n \
             if (!lib) { puts(dlerror()); return 1; }\n int (*add)(int, int) = dlsym(lib, `add`);\n return add(1, 2) - 3;\n}\n",
        );
        folder.succeed(&format!("cc --compiler {compiler} load.c -o load"));
        succeed(&mut folder.command("./load"));
    });
}

#[test]
fn every_kind_of_input_and_output() {
    each("kinds", |folder, compiler| {
        let cc = format!("cc --compiler {compiler}");
        folder.succeed(&format!("{cc} -S add.c -o add.s"));
        folder.succeed(&format!("{cc} -c add.s -o from-s.o"));
        assert!(instrumented(folder, "from-s.o"));
        folder.succeed(&format!("{cc} -E add.c -o add.i"));
        folder.succeed(&format!("{cc} -c add.i -o from-i.o"));
        assert!(instrumented(folder, "from-i.o"));
        folder.file(
            "nop.S",
            "#define NAME nop_\n.globl NAME\nNAME: ret\n.section .note.GNU-stack,``,@progbits\n",
        );
        folder.succeed(&format!("{cc} -c nop.S"));
        folder.succeed(&format!("{cc} main.c add.c nop.S -o with-s"));
        succeed(&mut folder.command("./with-s"));
        folder.succeed(&format!("{cc} -r add.o nop.o -o both.o").replace("add.o", "from-s.o"));
        folder.succeed(&format!("{cc} main.c both.o -o with-r"));
        succeed(&mut folder.command("./with-r"));
        let rules = text(&folder.succeed(&format!("{cc} -MM add.c")).stdout);
        assert!(rules.starts_with("add.o: add.c"), "{rules}");
        folder.succeed(&format!("{cc} -MD -MF deps.d -c add.c -o add.o"));
        assert!(folder.read("deps.d").contains("add.c"));
        folder.file("all.h", "#include <stdio.h>\nint add(int, int);\n");
        let header = if compiler == "gcc" {
            "all.h.gch"
        } else {
            "all.h.pch"
        };
        folder.succeed(&format!("{cc} -x c-header all.h -o {header}"));
        folder.succeed(&format!(
            "{cc} -include all.h -Winvalid-pch main.c add.c -o with-pch"
        ));
        succeed(&mut folder.command("./with-pch"));
        folder.succeed(&format!("{cc} -nostdlib -r add.o -o alone.o"));
        folder.succeed(&format!("{cc} -fsyntax-only -Wall -Werror main.c"));
    });
}

#[test]
fn sources_from_standard_input() {
    each("stdin", |folder, compiler| {
        let mut command =
            folder.deadheat(&format!("cc --compiler {compiler} -x c - -o from-stdin"));
        command.stdin(std::fs::File::open(folder.file("in.c", CLEAN)).expect("a file"));
        succeed(&mut command);
        succeed(&mut folder.command("./from-stdin"));
    });
}

#[test]
fn response_files() {
    each("response", |folder, compiler| {
        folder.file("inner", "add.c -fsanitize=thread");
        folder.file("args", "main.c\n`-o` 'with space' @inner\n");
        folder.succeed(&format!("cc --compiler {compiler} @args"));
        succeed(&mut folder.command("./with space"));
        let symbols = text(&succeed(folder.command("readelf").args(["-d", "with space"])).stdout);
        assert!(!symbols.contains("libtsan"), "{symbols}");
    });
}

#[test]
fn a_command_line_longer_than_the_kernel_takes() {
    each("long", |folder, compiler| {
        folder.succeed(&format!("cc --compiler {compiler} -c add.c"));
        succeed(folder.command("ar").args(["rcs", "libadd.a", "add.o"]));
        let many = format!("{}libadd.a\n", "./".repeat(50)).repeat(4000);
        folder.file("args", &format!("main.c -o long\n{many}"));
        folder.succeed(&format!("cc --compiler {compiler} @args"));
        succeed(&mut folder.command("./long"));
    });
}

#[test]
fn macros_and_cxx() {
    each("macros", |folder, compiler| {
        folder.file(
            "detect.cc",
            "#include <iostream>\n#include <thread>\n#if defined(__has_feature)\n#if !__has_feature(thread_sanitizer)\n#error no feature\n#endif\n\
             #elif !defined(__SANITIZE_THREAD__)\n#error no macro\n#endif\n\
             int main() { std::thread t([] { std::cout << `hello\\n`; }); t.join(); }\n",
        );
        folder.succeed(&format!(
            "c++ --compiler {compiler} -std=c++20 -fsanitize=thread detect.cc -o detect"
        ));
        assert_eq!(
            text(&succeed(&mut folder.command("./detect")).stdout),
            "hello\n"
        );
        folder.file("plain.c", "#if defined(__SANITIZE_THREAD__)\n#error still on\n#endif\nint x; void f(void) { x++; }\n");
        folder.succeed(&format!(
            "cc --compiler {compiler} -fno-sanitize=thread -c plain.c"
        ));
        assert!(!instrumented(folder, "plain.o"));
    });
}

#[test]
fn fences_bring_no_warnings() {
    each("fences", |folder, compiler| {
        folder.file(
            "fence.c",
            "#include <stdatomic.h>\nvoid f(void) { atomic_thread_fence(memory_order_acquire); }\n",
        );
        folder.succeed(&format!(
            "cc --compiler {compiler} -Wall -Wextra -Werror -O2 -c fence.c"
        ));
    });
}

#[test]
fn other_sanitizers() {
    each("sanitizers", |folder, compiler| {
        check(
            &mut folder.deadheat(&format!(
                "cc --compiler {compiler} -fsanitize=address main.c"
            )),
            2,
            "deadheat: -fsanitize=address and Deadheat cannot be in one program",
        );
    });
}

#[test]
fn questions_get_the_compilers_own_answers() {
    each("questions", |folder, compiler| {
        for question in [
            "--version",
            "-dumpmachine",
            "-print-file-name=libc.so",
            "-print-search-dirs",
        ] {
            let ours = folder.succeed(&format!("cc --compiler {compiler} {question}"));
            let theirs = succeed(folder.command(compiler).arg(question));
            assert_eq!(text(&ours.stdout), text(&theirs.stdout), "{question}");
        }
    });
}

#[test]
fn mistakes_are_the_compilers_to_tell() {
    each("mistakes", |folder, compiler| {
        folder.file("broken.c", "int main( {\n");
        let ours = run(&mut folder.deadheat(&format!("cc --compiler {compiler} -c broken.c")));
        let theirs = run(folder.command(compiler).args(["-c", "broken.c"]));
        assert_eq!(ours.status.code(), theirs.status.code());
        assert_eq!(text(&ours.stderr), text(&theirs.stderr));
    });
}

#[test]
fn the_compiler_is_chosen_by_flag_then_variable_then_file() {
    let folder = Folder::new("choice");
    let version =
        |command: &mut std::process::Command| text(&succeed(command).stdout).to_lowercase();
    let clang = |text: &str| text.contains("clang");
    assert!(
        clang(&version(&mut folder.deadheat("cc --version"))),
        "clang is the default where it is"
    );
    assert!(!clang(&version(
        folder.deadheat("cc --version").env("DEADHEAT_CC", "gcc")
    )));
    assert!(!clang(&version(
        folder.deadheat("c++ --version").env("DEADHEAT_CC", "gcc")
    )));
    assert!(clang(&version(
        folder
            .deadheat("cc --compiler clang-19 --version")
            .env("DEADHEAT_CC", "gcc")
    )));
    folder.file("deadheat.toml", "compiler = `gcc`\n");
    assert!(!clang(&version(&mut folder.deadheat("cc --version"))));
    assert!(clang(&version(
        folder
            .deadheat("cc --version")
            .env("DEADHEAT_CC", "clang-19")
    )));
    check(
        &mut folder.deadheat("cc --compiler nonesuch -c x.c"),
        2,
        "the compiler nonesuch was not found on the PATH",
    );
    let own = env!("CARGO_BIN_EXE_deadheat");
    check(
        &mut folder.deadheat(&format!("cc --compiler {own} -c x.c")),
        2,
        "is Deadheat itself",
    );
}
