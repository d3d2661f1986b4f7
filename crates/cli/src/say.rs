//! Short messages to standard error that never fail: nobody loses an exit status over a closed descriptor.

use std::io::Write;

/// Writes one message, with a line end.
pub fn say(text: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
