//! Stacks without what is nobody's code: the detector's own frames, and the loader's and the C library's below.

use crate::symbolize::Symbolized;

/// Frames of the runtime: hooks and interposed functions' insides.
const RUNTIME: [&str; 5] = [
    "__tsan_",
    "__deadheat_",
    "deadheat_rt::",
    "deadheat_runtime::",
    "deadheat_detect::",
];

/// What starts `main`, a thread, or a thread's function: everything from the first of these outwards is cut.
const BELOW: [&str; 13] = [
    "__libc_start_main",
    "__libc_start_main_impl",
    "__libc_start_call_main",
    "_start",
    "start_thread",
    "clone",
    "clone3",
    "__clone",
    "__clone3",
    "execute_native_thread_routine",
    "std::execute_native_thread_routine",
    "__pthread_start",
    "thrd_start_wrapper",
];

/// Wrappers of the standard library between a thread's start and the program's function.
const WRAPPERS: [&str; 6] = [
    "std::thread::_State_impl<",
    "std::thread::_Invoker<",
    "std::__invoke",
    "std::__thread_proxy",
    "std::__thread_execute",
    "void* std::__thread_proxy",
];

/// What Rust's standard library and its test harness call the last of their own frames before the program's.
const RUST_BEGIN: &str = "__rust_begin_short_backtrace";

/// Keeps the program's own frames; at least one frame always stays.
pub fn trim(mut stack: Vec<Symbolized>) -> Vec<Symbolized> {
    if stack.iter().any(|entry| !is_ours(entry)) {
        drop_ours(&mut stack);
    }
    cut_rust_start(&mut stack);
    let end = stack
        .iter()
        .position(|entry| BELOW.contains(&entry.frame.function.as_str()))
        .unwrap_or(stack.len());
    stack.truncate(end.max(1));
    // Below `main` is start-up code, whatever it is called.
    if let Some(main) = stack
        .iter()
        .position(|entry| entry.frame.function == "main" && !entry.frame.inlined)
    {
        stack.truncate(main + 1);
    }
    let all_standard = stack.iter().all(is_standard);
    while stack.len() > 1
        && stack.last().is_some_and(|entry| {
            starts_with_any(&entry.frame.function, &WRAPPERS)
                || is_nameless_library(entry)
                || (!all_standard && is_standard(entry))
        })
    {
        stack.pop();
    }
    stack
}

/// Cuts what Rust's library does between a thread's start and the closure that it was given.
fn cut_rust_start(stack: &mut Vec<Symbolized>) {
    let Some(begin) = stack
        .iter()
        .position(|entry| entry.frame.function.contains(RUST_BEGIN))
    else {
        return;
    };
    let own = stack[..begin]
        .iter()
        .rposition(|entry| !is_rust_library(entry));
    if let Some(own) = own {
        stack.truncate(own + 1);
    }
}

/// The way to an allocation, without what Rust's library does between the program's call and `malloc` but for the
/// function that the program called.
pub fn trim_allocation(mut stack: Vec<Symbolized>) -> Vec<Symbolized> {
    let rust = stack.iter().any(is_rust_library);
    let own = stack
        .iter()
        .position(|entry| entry.frame.file.is_some() && !is_rust_library(entry));
    if let (true, Some(own)) = (rust, own) {
        stack.drain(..own.saturating_sub(1));
    }
    stack
}

/// A function of Rust's standard library, compiled from wherever its makers had it.
fn is_rust_library(entry: &Symbolized) -> bool {
    entry
        .frame
        .file
        .as_deref()
        .is_some_and(|file| file.starts_with("/rustc/"))
}

/// The runtime's own code, wherever it stands: it starts threads, calls back, and copies on the program's behalf. What was
/// inlined into one of its functions goes with it.
fn drop_ours(stack: &mut Vec<Symbolized>) {
    let mut kept = Vec::with_capacity(stack.len());
    let mut from = 0;
    for entry in stack.drain(..) {
        let whole = !entry.frame.inlined;
        let ours = is_ours(&entry);
        kept.push(entry);
        if whole {
            if ours {
                kept.truncate(from);
            }
            from = kept.len();
        }
    }
    *stack = kept;
}

fn is_ours(entry: &Symbolized) -> bool {
    starts_with_any(&entry.frame.function, &RUNTIME)
        || entry
            .linkage
            .as_deref()
            .is_some_and(|name| name.contains("deadheat_runtime"))
}

/// A function of the C++ library's headers: at the outer end it leads from a thread's start to what the program gave it
/// (`std::async` goes through a dozen).
fn is_standard(entry: &Symbolized) -> bool {
    let own = entry
        .frame
        .file
        .as_deref()
        .is_some_and(|file| file.contains("/include/c++/"));
    own && entry.frame.function.starts_with("std::")
}

/// Stripped system libraries start threads, too.
fn is_nameless_library(entry: &Symbolized) -> bool {
    const LIBRARIES: [&str; 5] = [
        "libc.so",
        "libstdc++.so",
        "libc++.so",
        "libpthread.so",
        "ld-",
    ];
    let module = entry.frame.module.as_deref().unwrap_or_default();
    let name = module.rsplit('/').next().unwrap_or(module);
    entry.frame.function.is_empty() && starts_with_any(name, &LIBRARIES)
}

fn starts_with_any(name: &str, prefixes: &[&str]) -> bool {
    prefixes.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadheat_model::Frame;

    fn check(names: &[&str], expected: &[&str]) {
        let stack = names
            .iter()
            .map(|name| Symbolized {
                frame: Frame {
                    function: (*name).to_owned(),
                    ..Frame::default()
                },
                linkage: None,
            })
            .collect();
        let left: Vec<String> = trim(stack)
            .into_iter()
            .map(|entry| entry.frame.function)
            .collect();
        assert_eq!(left, expected);
    }

    #[test]
    fn the_way_of_the_cpp_library_to_a_threads_function_is_cut() {
        let entry = |function: &str, file: &str| Symbolized {
            frame: Frame {
                function: function.to_owned(),
                file: Some(file.to_owned()),
                ..Frame::default()
            },
            linkage: None,
        };
        let header = "/usr/include/c++/12/future";
        let left = trim(vec![
            entry("compare", "/a/main.cc"),
            entry("std::sort<int*>", header),
            entry("work", "/a/main.cc"),
            entry("std::_Function_handler<void ()>::_M_invoke", header),
            entry("std::__future_base::_State_baseV2::_M_do_set", header),
        ]);
        let names: Vec<&str> = left.iter().map(|e| e.frame.function.as_str()).collect();
        assert_eq!(names, ["compare", "std::sort<int*>", "work"]);
    }

    #[test]
    fn the_way_of_rusts_library_to_a_closure_is_cut() {
        let entry = |function: &str, file: &str| Symbolized {
            frame: Frame {
                function: function.to_owned(),
                file: Some(file.to_owned()),
                ..Frame::default()
            },
            linkage: None,
        };
        let names = |stack: Vec<Symbolized>| -> Vec<String> {
            stack.into_iter().map(|e| e.frame.function).collect()
        };
        let library = "/rustc/59807616/library/core/src/x.rs";
        let stack = vec![
            entry("alloc::vec::Vec<T>::push", library),
            entry("bank::work", "/a/main.rs"),
            entry("core::ops::function::FnOnce::call_once", library),
            entry("std::sys::backtrace::__rust_begin_short_backtrace", library),
            entry("std::thread::start", library),
        ];
        assert_eq!(
            names(trim(stack.clone())),
            ["alloc::vec::Vec<T>::push", "bank::work"]
        );
        assert_eq!(names(trim(stack[3..].to_vec())).len(), 2);
        let mut made = vec![entry("__rdl_alloc", library)];
        made.extend_from_slice(&stack[..2]);
        assert_eq!(
            names(trim_allocation(made)),
            ["alloc::vec::Vec<T>::push", "bank::work"]
        );
    }

    #[test]
    fn only_the_program_stays() {
        check(
            &["__tsan_write4", "add", "worker", "start_thread", "clone3"],
            &["add", "worker"],
        );
        check(
            &["f", "main", "__libc_start_call_main", "_start"],
            &["f", "main"],
        );
        check(
            &[
                "work",
                "std::__invoke_impl<void>",
                "std::thread::_Invoker<x>::operator()",
            ],
            &["work"],
        );
        check(
            &[
                "f",
                "once_routine",
                "deadheat_runtime::interpose::once::run",
                "pthread_once",
                "worker",
                "deadheat_runtime::interpose::threads::posix_start",
            ],
            &["f", "once_routine", "pthread_once", "worker"],
        );
        check(&["_start"], &["_start"]);
        check(&["__tsan_write4"], &["__tsan_write4"]);
        check(&[], &[]);
    }
}
