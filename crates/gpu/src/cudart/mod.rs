//! The stand-in for libcudart: whole CUDA programs run on our machine, with checking on.
//!
//! Ground rules: every function is called from someone else's program, so none may panic across the boundary; bad
//! arguments become CUDA error codes. Device memory is memory of this process, so copies are plain copies. Work is
//! done when it is asked for, in program order, which is one of the orders that the program allowed; `ops` and `order`
//! find out what would have met in the others.

mod arrays;
mod copies;
mod device;
mod fatbin;
mod guard;
mod hostcall;
mod launch;
mod memory;
mod objects;
mod ops;
mod order;
mod per_thread;
mod runtime;
mod streams;
pub mod told;

/// CUDA error codes, as the header has them.
pub type Code = i32;
pub const SUCCESS: Code = 0;
pub const INVALID_VALUE: Code = 1;
pub const NO_MEMORY: Code = 2;
pub const INVALID_CONFIGURATION: Code = 9;
pub const INVALID_SYMBOL: Code = 13;
pub const INVALID_DEVICE_POINTER: Code = 17;
pub const INVALID_DIRECTION: Code = 21;
pub const INVALID_FUNCTION: Code = 98;
pub const INVALID_DEVICE: Code = 101;
pub const NO_KERNEL_IMAGE: Code = 209;
pub const INVALID_HANDLE: Code = 400;
pub const ILLEGAL_ADDRESS: Code = 700;
pub const ASSERT: Code = 710;
pub const LAUNCH_FAILURE: Code = 719;
