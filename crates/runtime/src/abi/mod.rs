//! The compiler's side: the hooks that `-fsanitize=thread` calls, and how a thread finds its strand.

pub mod api;
pub mod atomic;
pub mod frames;
pub mod life;
pub mod plain;
pub mod tls;
pub mod weak;
