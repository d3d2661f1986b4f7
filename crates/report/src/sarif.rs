//! SARIF.
use crate::sinks::Options;
use deadheat_model::Report;
pub fn render(_report: &Report, _options: &Options) -> String { String::new() }
