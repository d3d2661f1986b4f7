//! The compiler's side: the hooks that `-fsanitize=thread` calls, and how a thread finds its strand.

pub mod annotate;
pub mod api;
pub mod atomic;
pub mod fibers;
pub mod frames;
pub mod handler;
pub mod java;
pub mod life;
pub mod own_locks;
pub mod plain;
pub mod reports;
pub mod tls;
pub mod weak;
