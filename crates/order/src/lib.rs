//! Which steps are concurrent: vector clocks and epochs.
