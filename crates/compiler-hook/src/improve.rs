//! What is done with a function after LLVM has instrumented it: hooks where it has none, and none where another says the same.

use crate::Handle;
use crate::block::Block;
use crate::llvm::{Llvm, OF_FUNCTION};
use crate::loops::Loop;
use crate::repeats::Said;
use crate::steady::say_in_one_turn;

/// Attributes of functions that LLVM instruments, and of those that it leaves alone all the same.
const WANTED: &str = "sanitize_thread";
const LEFT_ALONE: [&str; 2] = ["naked", "disable_sanitizer_instrumentation"];

/// Puts hooks where the real pass has none, and takes away those that say nothing new.
///
/// # Safety
/// `body` is a function of LLVM's that the real pass has seen, with blocks.
pub unsafe fn improve(body: Handle) -> Option<()> {
    let llvm = Llvm::find()?;
    // SAFETY: by the contract; blocks are those of the function.
    unsafe {
        let has = |name: &str| {
            let kind = (llvm.attribute)(name.as_ptr(), name.len());
            !(llvm.attribute_of)(body, OF_FUNCTION, kind).is_null()
        };
        if !has(WANTED) || LEFT_ALONE.iter().any(|name| has(name)) {
            return None;
        }
        each_block(llvm, body, |block| block.open_copies());
        each_block(llvm, body, |block| block.see_wide());
        each_block(llvm, body, |block| {
            if block.starts_path() {
                block.say_once(&Said::NOTHING);
            }
        });
        each_block(llvm, body, |block| {
            if let Some(found) = Loop::at(block) {
                found.batch();
            }
        });
        each_block(llvm, body, |block| block.say_together());
        say_in_one_turn(llvm, body);
    }
    Some(())
}

/// # Safety
/// As [`improve`].
unsafe fn each_block(llvm: &'static Llvm, body: Handle, mut f: impl FnMut(Block<'static>)) {
    // SAFETY: by the contract.
    unsafe {
        let module = (llvm.module_of)(body);
        let layout = (llvm.layout_of)(module);
        let mut next = (llvm.first_block)(body);
        while !next.is_null() {
            f(Block {
                llvm,
                module,
                layout,
                body: next,
            });
            next = (llvm.next_block)(next);
        }
    }
}
