//! The deadheat command.
