//! Deadheat's own bench.
