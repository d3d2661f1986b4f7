//! One file per detector.
