//! The words every other crate speaks: ids, accesses, events, findings.
