//! Deadheat's own tests.
