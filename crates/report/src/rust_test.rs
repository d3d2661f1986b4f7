//! Which `#[test]` a thread of a Rust test program runs.
//!
//! The harness names the thread after the test, but the kernel keeps only fifteen letters of that; the calls know all of it.

use crate::symbolize::Symbolized;

/// The harness's last frame before the test.
const HARNESS: &str = "test::__rust_begin_short_backtrace";

/// The test in whose calls this stack was taken.
pub fn of_stack(stack: &[Symbolized]) -> Option<String> {
    let begin = stack
        .iter()
        .position(|entry| entry.frame.function.starts_with(HARNESS))?;
    let own = stack[..begin].iter().rev().find(|entry| {
        let file = entry.frame.file.as_deref().unwrap_or_default();
        !file.is_empty() && !file.starts_with("/rustc/")
    })?;
    let name = own.frame.function.as_str();
    let name = name.split("::{{closure}}").next().unwrap_or(name);
    let name = name.split("::{closure").next().unwrap_or(name);
    Some(name.to_owned())
}

/// Whether a thread's short name can stand for this test: the harness leaves the crate's name out.
pub fn is_short_for(short: &str, test: &str) -> bool {
    const LONGEST: usize = 15;
    let inside = test.split_once("::").map_or(test, |(_, inside)| inside);
    !short.is_empty()
        && inside.starts_with(short)
        && (inside.len() == short.len() || short.len() == LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadheat_model::Frame;

    #[test]
    fn the_calls_tell_the_test() {
        let entry = |function: &str, file: &str| Symbolized {
            frame: Frame {
                function: function.to_owned(),
                file: Some(file.to_owned()),
                ..Frame::default()
            },
            linkage: None,
        };
        let stack = [
            entry("bank::touch", "/a/src/lib.rs"),
            entry("bank::tests::two_tellers", "/a/src/lib.rs"),
            entry("bank::tests::two_tellers::{{closure}}", "/a/src/lib.rs"),
            entry(
                "core::ops::function::FnOnce::call_once",
                "/rustc/5/library/core/src/x.rs",
            ),
            entry(
                "test::__rust_begin_short_backtrace::<..>",
                "/rustc/5/library/test/src/lib.rs",
            ),
        ];
        assert_eq!(
            of_stack(&stack).as_deref(),
            Some("bank::tests::two_tellers")
        );
        assert_eq!(of_stack(&stack[..4]), None);
        assert!(is_short_for("tests::two_tell", "bank::tests::two_tellers"));
        assert!(is_short_for("fast", "bank::fast"));
        assert!(!is_short_for("fast", "bank::faster"));
        assert!(!is_short_for("worker", "bank::tests::two_tellers"));
        assert!(!is_short_for("", "bank::tests::two_tellers"));
    }
}
