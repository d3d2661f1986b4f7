//! The hooks in a block, as instrumentation has put them there.

use crate::Handle;
use crate::block::{Block, Root};
use crate::llvm::op;

/// More hooks than this are not looked at in one block.
pub const MOST: usize = 48;

/// A hook, whose address grows by `stride` in each turn if its block is a loop.
#[derive(Clone, Copy)]
pub struct Hook {
    pub call: Handle,
    pub place: Handle,
    /// Its address is `offset` beyond this.
    pub root: Root,
    pub offset: i64,
    pub stride: i64,
    pub size: i64,
    pub writes: bool,
}

impl Hook {
    pub const NONE: Hook = Hook {
        call: core::ptr::null_mut(),
        place: core::ptr::null_mut(),
        root: Root::NONE,
        offset: 0,
        stride: 0,
        size: 0,
        writes: false,
    };
}

/// What a call is.
pub enum Called {
    /// Nothing that matters here.
    Arithmetic,
    /// A hook: how many bytes, and whether it writes.
    Hook(i64, bool),
    /// Something else that ends no step of its thread.
    SameStep,
    Other,
}

fn called(name: &[u8]) -> Called {
    if name.starts_with(b"llvm.") {
        // What ends a step or a turn has no such name but these. Copies have hooks of their own before them.
        let other: [&[u8]; 4] = [
            b"llvm.trap",
            b"llvm.eh.",
            b"llvm.coro.",
            b"llvm.experimental.",
        ];
        // Nobody is told of these, and what a thread does with its own stack it does in one step.
        if name.starts_with(b"llvm.lifetime.") {
            return Called::SameStep;
        }
        return match other.iter().any(|other| name.starts_with(other)) {
            true => Called::Other,
            false => Called::Arithmetic,
        };
    }
    if name.starts_with(b"__deadheat_touch_") {
        return Called::SameStep;
    }
    let Some(rest) = name.strip_prefix(b"__tsan_") else {
        return Called::Other;
    };
    if let b"memcpy" | b"memmove" | b"memset" = rest {
        return Called::SameStep;
    }
    let rest = rest.strip_prefix(b"unaligned_").unwrap_or(rest);
    let (size, writes) = match (rest.strip_prefix(b"read"), rest.strip_prefix(b"write")) {
        (Some(size), _) => (size, false),
        (_, Some(size)) => (size, true),
        _ => return Called::Other,
    };
    match size {
        b"1" => Called::Hook(1, writes),
        b"2" => Called::Hook(2, writes),
        b"4" => Called::Hook(4, writes),
        b"8" => Called::Hook(8, writes),
        b"16" => Called::Hook(16, writes),
        _ => Called::Other,
    }
}

impl Block<'_> {
    /// What an instruction calls, if it is a call.
    pub unsafe fn called(&self, instruction: Handle) -> Option<Called> {
        let llvm = self.llvm;
        // SAFETY: an instruction of the function.
        unsafe {
            match (llvm.opcode)(instruction) {
                op::CALL => {}
                // A call that may throw, or go elsewhere.
                op::INVOKE | op::CALL_BRANCH => return Some(Called::Other),
                _ => return None,
            }
            let Some(name) = self.callee(instruction) else {
                return Some(Called::Other);
            };
            let ranges: [&[u8]; 2] = [b"__tsan_read_range", b"__tsan_write_range"];
            if name.starts_with(b"__tsan_atomic") && name.ends_with(b"_load") {
                // Without an order nothing is learned by it.
                return Some(match self.number((llvm.operand)(instruction, 1)) {
                    Some(0) => Called::SameStep,
                    _ => Called::Other,
                });
            }
            Some(match ranges.iter().position(|range| *range == name) {
                None => called(name),
                Some(writes) => match self.number((llvm.operand)(instruction, 1)) {
                    Some(size @ 1..=255) => Called::Hook(size, writes == 1),
                    _ => Called::Other,
                },
            })
        }
    }

    /// The name of the function that an instruction calls, if it is known.
    pub unsafe fn callee(&self, instruction: Handle) -> Option<&[u8]> {
        let llvm = self.llvm;
        // SAFETY: an instruction of the function; names live as long as it.
        unsafe {
            if (llvm.opcode)(instruction) != op::CALL {
                return None;
            }
            let callee = (llvm.called)(instruction);
            if (llvm.as_function)(callee).is_null() {
                return None;
            }
            let mut length = 0;
            let name = (llvm.name_of)(callee, &mut length);
            Some(core::slice::from_raw_parts(name.cast(), length))
        }
    }

    /// The hook that a call is.
    pub unsafe fn hook(&self, call: Handle, size: i64, writes: bool) -> Hook {
        // SAFETY: a call of a hook, which has its place first.
        unsafe {
            let place = (self.llvm.operand)(call, 0);
            let (root, offset) = self.root(place);
            Hook {
                call,
                place,
                root,
                offset,
                stride: 0,
                size,
                writes,
            }
        }
    }
}
