//! Signals: handlers run only outside the runtime, and delivery orders nothing by itself.

use crate::strand::Strand;

/// Runs the handlers of signals that arrived while `s` was inside the runtime.
pub fn deliver_pending(_s: &mut Strand) {}
