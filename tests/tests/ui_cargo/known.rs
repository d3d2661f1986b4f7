//! Races that are a well-known crate's own: counted, shown if one wants, and never taken for the program's.

use crate::{Project, expect};
use libtest_mimic::Failed;

/// A stand-in for crossbeam-deque with the same functions, whose race depends on no schedule.
const DEQUE: &str = "
pub mod deque {
    use std::sync::Arc;
    struct Buffer<T>(*mut T);
    impl<T> Buffer<T> {
        unsafe fn read(&self) -> T { unsafe { self.0.read_volatile() } }
        unsafe fn write(&self, value: T) { unsafe { self.0.write_volatile(value) } }
    }
    pub struct Worker<T>(Arc<Buffer<T>>);
    pub struct Stealer<T>(Arc<Buffer<T>>);
    unsafe impl<T: Send> Send for Worker<T> {}
    unsafe impl<T: Send> Send for Stealer<T> {}
    impl<T> Worker<T> {
        pub fn new(value: T) -> Self { Worker(Arc::new(Buffer(Box::into_raw(Box::new(value))))) }
        pub fn stealer(&self) -> Stealer<T> { Stealer(self.0.clone()) }
        pub fn push(&self, value: T) { unsafe { self.0.write(value) } }
        /// Not the same instructions as in `steal`, or the compiler makes one function of both.
        pub fn pop(&self) -> T { std::hint::black_box(unsafe { self.0.read() }) }
        /// What no program can do: the crate's owner has no second one.
        pub fn twin(&self) -> Worker<T> { Worker(self.0.clone()) }
    }
    impl<T> Stealer<T> {
        pub fn steal(&self) -> T { unsafe { self.0.read() } }
    }
}
";

/// A thief beside the owner, which is the crate's affair, and a second owner, which is the program's. Innermost both read and
/// write at the same places, and the block is the same.
const MAIN: &str = "
use crossbeam_deque::deque::Worker;
fn main() {
    let owner = Worker::new(1_u64);
    let (thief, second) = (owner.stealer(), owner.twin());
    let beside = std::thread::spawn(move || thief.steal());
    owner.push(2);
    beside.join().unwrap();
    if std::env::args().len() > 1 {
        let beside = std::thread::spawn(move || second.pop());
        owner.push(3);
        beside.join().unwrap();
    }
}
";

pub fn crates_own(project: &Project) -> Result<(), Failed> {
    project
        .manifest("[dependencies]\ncrossbeam-deque = { path = \"deque\" }\n")?
        .write("src/main.rs", MAIN)?
        .write(
            "deque/Cargo.toml",
            "[package]\nname = \"crossbeam-deque\"\nversion = \"0.0.0\"\nedition = \"2024\"\n",
        )?
        .write("deque/src/lib.rs", DEQUE)?;
    let run = |args: &[&str]| project.run(project.command(args));
    let counted = [
        "1 finding by `crossbeam-deque: a thief reads",
        "--crate-races",
    ];
    for profile in ["dev", "release"] {
        let quiet = run(&["run", "--profile", profile])?;
        expect(&quiet, 0, &counted)?;
        expect(&quiet, 0, &["nothing found; 1 suppressed"])?;
        let both = run(&["run", "--profile", profile, "--", "both"])?;
        expect(&both, 1, &counted)?;
        let own = ["1 finding (1 data race)", "Worker<T>::pop"];
        expect(&both, 1, &own)?;
    }
    expect(
        &run(&["--crate-races", "run"])?,
        1,
        &["1 finding (1 data race)", "Stealer<T>::steal"],
    )
}
