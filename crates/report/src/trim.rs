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

/// Keeps the program's own frames; at least one frame always stays.
pub fn trim(mut stack: Vec<Symbolized>) -> Vec<Symbolized> {
    if stack.iter().any(|entry| !is_ours(entry)) {
        drop_ours(&mut stack);
    }
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
    while stack.len() > 1
        && stack.last().is_some_and(|entry| {
            starts_with_any(&entry.frame.function, &WRAPPERS)
                || starts_with_any(&entry.frame.function, &RUNTIME)
                || is_nameless_library(entry)
        })
    {
        stack.pop();
    }
    stack
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
