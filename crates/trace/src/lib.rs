//! The text form of a trace, its reader and writer.
