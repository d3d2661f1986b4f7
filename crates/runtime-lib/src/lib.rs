//! The linkable form of the runtime: gives it its allocator and its end in case of a panic, and nothing else.
#![no_std]

use core::panic::PanicInfo;

use deadheat_runtime::alloc::RuntimeAllocator;
use deadheat_runtime::sys;

#[global_allocator]
static ALLOCATOR: RuntimeAllocator = RuntimeAllocator;

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    sys::die("a broken invariant (please report this with the program that shows it)")
}

#[link(name = "c")]
unsafe extern "C" {}
