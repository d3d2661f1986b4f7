//! Explain.
use crate::sinks::Options;
use deadheat_model::{FindingId, Report};
pub fn explain(_report: &Report, _id: FindingId, _options: &Options) -> Option<String> { None }
