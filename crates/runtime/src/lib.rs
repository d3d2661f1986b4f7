//! What is linked into the program under test.
