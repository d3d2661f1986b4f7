//! Whole projects with make, a configure script, CMake and Meson, with both compilers.

mod common;

use common::{COMPILERS, Folder, check, succeed, text};
use std::process::Command;

const LIBRARY: &str = "int counter;\nvoid count(void) { counter++; }\n";
const PROGRAM: &str = r"#include <pthread.h>
#include <stdio.h>
void count(void);
static void *work(void *arg) { count(); return arg; }
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
";

fn project(name: &str, compiler: &str) -> Folder {
    let folder = Folder::new(&format!("{name}-{compiler}"));
    folder.file("count.c", LIBRARY);
    folder.file("main.c", PROGRAM);
    folder.file(
        "greet.cc",
        "#include <iostream>\nint main() { std::cout << `hello\\n`; }\n",
    );
    folder
}

fn tool(folder: &Folder, compiler: &str, program: &str, line: &str) -> Command {
    let mut command = folder.command(program);
    command
        .args(line.split_whitespace())
        .env("DEADHEAT_CC", compiler);
    command
}

/// The race in the library's counter is found in what was built, and the C++ program runs.
fn works(folder: &Folder, prog: &str, greet: &str) {
    check(&mut folder.deadheat(&format!("run {prog}")), 1, "counter");
    assert_eq!(text(&succeed(&mut folder.command(greet)).stdout), "hello\n");
}

#[test]
fn make() {
    for compiler in COMPILERS {
        let folder = project("make", compiler);
        folder.file(
            "Makefile",
            "CFLAGS = -O2 -Wall -Werror -MMD\nall: prog greet\nprog: main.o libcount.a\n\t$(CC) $(LDFLAGS) -o $@ $^ -lpthread\n\
             libcount.a: count.o\n\t$(AR) rcs $@ $^\ngreet: greet.o\n\t$(CXX) -o $@ $^\n-include *.d\n",
        );
        let own = env!("CARGO_BIN_EXE_deadheat");
        let mut command = tool(&folder, compiler, "make", "");
        succeed(
            command
                .arg(format!("CC={own} cc"))
                .arg(format!("CXX={own} c++")),
        );
        works(&folder, "./prog", "./greet");
    }
}

#[test]
fn configure() {
    for compiler in COMPILERS {
        let folder = project("configure", compiler);
        // The questions that a configure script of autoconf asks a compiler, in its way.
        folder.file(
            "configure",
            r"#!/bin/sh -e
echo 'int main(void) { return 0; }' > conftest.c
$CC conftest.c -o conftest && ./conftest
$CC --version > version.txt && $CC -v 2> verbose.txt
! $CC -V 2> /dev/null || true
$CC -c conftest.c && test -f conftest.o
echo 'choke me' > bad.c
if $CC -c bad.c 2> /dev/null; then echo 'accepts anything'; exit 1; fi
printf '#include <pthread.h>\nint main(void) { return pthread_self() == 0; }\n' > conftest.c
$CC -o conftest -Wall -Werror conftest.c -lpthread && ./conftest
printf 'char cos(); int main(void) { return cos(); }\n' > conftest.c
$CC -w -o conftest conftest.c -lm
$CC -E conftest.c > conftest.i
$CC -print-prog-name=ld > ld.txt
$CC -shared -fPIC -Wl,-z,defs -Wl,-soname,libx.so -o libx.so count.c
rm -f conftest*
sed `s|@CC@|$CC|; s|@CXX@|$CXX|` Makefile.in > Makefile
",
        );
        folder.file(
            "Makefile.in",
            "CC = @CC@\nCXX = @CXX@\nall: prog greet\nprog: main.c count.c\n\t$(CC) -O2 -o $@ main.c count.c -lpthread\ngreet: greet.cc\n\t$(CXX) -o $@ greet.cc\n",
        );
        let own = env!("CARGO_BIN_EXE_deadheat");
        let mut command = tool(&folder, compiler, "sh", "./configure");
        succeed(
            command
                .env("CC", format!("{own} cc"))
                .env("CXX", format!("{own} c++")),
        );
        succeed(&mut tool(&folder, compiler, "make", ""));
        works(&folder, "./prog", "./greet");
    }
}

const CMAKE: &str = "cmake_minimum_required(VERSION 3.13)\nproject(bank C CXX)\nfind_package(Threads REQUIRED)\n\
    add_library(count SHARED count.c)\nset_target_properties(count PROPERTIES LINK_FLAGS -Wl,--no-undefined)\n\
    add_executable(prog main.c)\ntarget_link_libraries(prog count Threads::Threads)\nadd_executable(greet greet.cc)\n\
    enable_testing()\nadd_test(NAME greet COMMAND greet)\nadd_test(NAME prog COMMAND prog)\n";

#[test]
fn cmake_with_the_toolchain_file() {
    for compiler in COMPILERS {
        let folder = project("cmake", compiler);
        folder.file("CMakeLists.txt", CMAKE);
        folder.file(
            "deadheat.cmake",
            &text(&folder.succeed("env --cmake").stdout),
        );
        let setup = "-G Ninja -S . -B build -DCMAKE_TOOLCHAIN_FILE=deadheat.cmake -DCMAKE_BUILD_TYPE=Release";
        succeed(&mut tool(&folder, compiler, "cmake", setup));
        succeed(&mut tool(&folder, compiler, "cmake", "--build build"));
        works(&folder, "build/prog", "build/greet");
        // A whole test suite under one run: one report, and the suite's own verdict inside.
        check(
            &mut folder.deadheat("run ctest --test-dir build"),
            1,
            "counter",
        );
    }
}

#[test]
fn cmake_with_variables() {
    for compiler in COMPILERS {
        let folder = project("cmake-cc", compiler);
        folder.file("CMakeLists.txt", CMAKE);
        let own = env!("CARGO_BIN_EXE_deadheat");
        let mut command = tool(&folder, compiler, "cmake", "-G Ninja -S . -B build");
        succeed(
            command
                .env("CC", format!("{own} cc"))
                .env("CXX", format!("{own} c++")),
        );
        succeed(&mut tool(&folder, compiler, "cmake", "--build build"));
        works(&folder, "build/prog", "build/greet");
    }
}

#[test]
fn meson() {
    for compiler in COMPILERS {
        let folder = project("meson", compiler);
        folder.file(
            "meson.build",
            "project('bank', 'c', 'cpp')\ncount = shared_library('count', 'count.c')\n\
             executable('prog', 'main.c', link_with: count, dependencies: dependency('threads'))\nexecutable('greet', 'greet.cc')\n",
        );
        folder.file("deadheat.ini", &text(&folder.succeed("env --meson").stdout));
        succeed(&mut tool(
            &folder,
            compiler,
            "meson",
            "setup --native-file deadheat.ini build",
        ));
        succeed(&mut tool(&folder, compiler, "ninja", "-C build"));
        works(&folder, "build/prog", "build/greet");
    }
}
