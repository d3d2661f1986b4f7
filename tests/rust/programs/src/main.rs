//! `programs CASE ok|racy` runs one of them; without arguments they are listed.
//!
//! The twins differ in the one thing that the case is about. Where a race needs the threads to come in some order, a
//! counter that the detector cannot see ([`hidden`]) makes them.

mod atomics;
mod channels;
mod crates;
mod handler;
mod hidden;
mod locks;
mod memory;
mod once;
mod passing;
mod shared;
mod threads;

use hidden::Hidden;
use std::process::ExitCode;
use std::thread;

/// A case: its name, the file it is in, the program that is right, and its twin.
type Case = (&'static str, &'static str, fn(), fn());

/// Lists the cases of a file.
#[macro_export]
macro_rules! pair {
    ($($name:ident: $ok:ident, $racy:ident;)*) => {
        pub const CASES: &[(&str, &str, fn(), fn())] = &[$((stringify!($name), file!(), $ok, $racy),)*];
    };
}

/// Runs two functions at once, in two threads, and waits for both.
///
/// Both threads are there before either begins: whoever drops the handle of a thread that has ended comes after it, so a
/// thread that is started then does, too.
pub fn both(first: impl FnOnce() + Send, second: impl FnOnce() + Send) {
    let begun = &Hidden::new();
    let wait = move || {
        begun.come();
        begun.await_count(2);
    };
    thread::scope(|scope| {
        scope.spawn(move || {
            wait();
            first();
        });
        scope.spawn(move || {
            wait();
            second();
        });
    });
}

fn main() -> ExitCode {
    let cases: Vec<&Case> = [
        locks::CASES,
        once::CASES,
        threads::CASES,
        channels::CASES,
        atomics::CASES,
        memory::CASES,
        crates::CASES,
        handler::CASES,
    ]
    .into_iter()
    .flatten()
    .collect();
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.is_empty() {
        for (name, file, ..) in cases {
            println!("{name} {file}");
        }
        return ExitCode::SUCCESS;
    }
    let found = cases.iter().find(|(name, ..)| *name == args[0]);
    match (found, args.get(1).map(String::as_str)) {
        (Some((_, _, ok, _)), Some("ok")) => ok(),
        (Some((_, _, _, racy)), Some("racy")) => racy(),
        _ => {
            eprintln!("usage: programs CASE ok|racy");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
