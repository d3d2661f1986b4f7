//! How many random traces a test draws.

/// The number of traces, or of what is to be seen in them: a part under `cargo deadheat test`, where each takes many times
/// longer and what matters is how the engine's own threads meet.
pub fn drawn(count: u64) -> u64 {
    if cfg!(deadheat) {
        count.div_ceil(10)
    } else {
        count
    }
}
