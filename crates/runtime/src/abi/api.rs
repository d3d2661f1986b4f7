//! ThreadSanitizer's interface for programs: annotations, fibers, reports.

/// Tells the program, if it wants to know, that something was reported.
pub fn on_report() {
    if let Some(f) = crate::abi::weak::on_report() {
        f(core::ptr::null());
    }
}
