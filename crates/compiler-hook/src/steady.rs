//! Hooks in a loop that say the same in each turn: they are called in the first turn that comes to them, and in no other.
//!
//! If nothing in the loop ends a step of its thread, what such a hook says is said for all turns. A byte on the stack, cleared
//! where the loop is entered, remembers that it was.
//!
//! ```text
//!   before: store 0, said                  loop:   ...
//!           br loop                                br said, rest, say
//!                                          say:    call __tsan_read8(p)
//!   loop:   ...                                    store 1, said
//!           call __tsan_read8(p)   =>              br rest
//!           ...                            rest:   ...
//! ```

use core::ffi::c_uint;

use crate::Handle;
use crate::block::Block;
use crate::graph::{Graph, Loop};
use crate::hooks::Called;
use crate::llvm::{Llvm, op};
use crate::memory::Array;

/// More hooks and loops than this are not looked at in one function.
const MOST: usize = 512;
const MOST_LOOPS: usize = 128;
/// Addresses that are made of more than this are not looked at.
const DEEPEST: usize = 8;

/// A hook, and the largest loop in which it always says the same.
#[derive(Clone, Copy)]
struct Steady {
    call: Handle,
    block: usize,
    in_loop: usize,
}

/// Calls the hooks of a function that say the same in each turn of a loop in one turn only.
///
/// # Safety
/// `body` is a function of LLVM's that has been instrumented, with blocks.
pub unsafe fn say_in_one_turn(llvm: &'static Llvm, body: Handle) -> Option<()> {
    // SAFETY: by the contract. What is found is found before anything is changed.
    unsafe {
        let graph = Graph::of(llvm, body)?;
        let module = (llvm.module_of)(body);
        let block = |body| Block {
            llvm,
            module,
            layout: (llvm.layout_of)(module),
            body,
        };
        let mut loops = [const { None }; MOST_LOOPS];
        let mut count = 0;
        let mut ends_step = Array::filled(false, graph.blocks.len());
        for (ends, &body) in ends_step.iter_mut().zip(graph.blocks.iter()) {
            *ends = block(body).ends_step();
        }
        graph.each_loop(llvm, |found: Loop| {
            let ends_step = ends_step
                .iter()
                .zip(found.has.iter())
                .any(|(&ends, &has)| ends && has);
            if !ends_step && count < MOST_LOOPS {
                loops[count] = Some(found);
                count += 1;
            }
        });
        if count == 0 {
            return None;
        }
        let mut steady = Array::filled(
            Steady {
                call: core::ptr::null_mut(),
                block: 0,
                in_loop: 0,
            },
            MOST,
        );
        let mut found = 0;
        for (i, &here) in graph.blocks.iter().enumerate() {
            block(here).each_hook(|place, call| {
                let fits = |each: &(usize, &Loop)| {
                    each.1.has[i] && is_steady(llvm, &graph, each.1, place, DEEPEST)
                };
                let largest = loops
                    .iter()
                    .flatten()
                    .enumerate()
                    .filter(fits)
                    .max_by_key(|each| each.1.size);
                if let Some((in_loop, _)) = largest
                    && found < MOST
                {
                    steady[found] = Steady {
                        call,
                        block: i,
                        in_loop,
                    };
                    found += 1;
                }
            });
        }
        let mut at = 0;
        while at < found {
            // Those of one block in one loop are said together.
            let Steady { block, in_loop, .. } = steady[at];
            let together = steady[at..found]
                .iter()
                .take_while(|other| other.block == block && other.in_loop == in_loop)
                .count();
            if let Some(around) = &loops[in_loop] {
                let said = flag(llvm, body, &graph, around);
                for i in at..at + together {
                    let last = i + 1 == at + together;
                    guard(llvm, body, graph.blocks[block], steady[i].call, said, last);
                }
            }
            at += together;
        }
    }
    Some(())
}

/// Is the address the same in each turn of the loop?
unsafe fn is_steady(
    llvm: &Llvm,
    graph: &Graph,
    around: &Loop,
    value: Handle,
    deepest: usize,
) -> bool {
    // SAFETY: a value of the function.
    unsafe {
        if (llvm.as_instruction)(value).is_null() {
            return true;
        }
        match graph.place((llvm.block_of)(value)) {
            Some(block) if !around.has[block] => true,
            _ => {
                deepest > 0
                    && (llvm.opcode)(value) == op::ELEMENT_PTR
                    && (0..(llvm.operands)(value) as c_uint).all(|i| {
                        is_steady(llvm, graph, around, (llvm.operand)(value, i), deepest - 1)
                    })
            }
        }
    }
}

/// A byte on the stack that is 0 where the loop is entered.
unsafe fn flag(llvm: &Llvm, body: Handle, graph: &Graph, around: &Loop) -> Handle {
    // SAFETY: blocks of the function, which have terminators.
    unsafe {
        let entry = (llvm.first)((llvm.first_block)(body));
        let context = (llvm.context_of)((llvm.type_of)(body));
        let byte = (llvm.int8)(context);
        let builder = (llvm.make_builder)(context);
        (llvm.stand_before)(builder, entry);
        let said = (llvm.build_alloca)(builder, byte, c"".as_ptr());
        for before in graph.before(around.head) {
            if !around.has[before] {
                (llvm.stand_before)(builder, (llvm.terminator)(graph.blocks[before]));
                (llvm.build_store)(builder, (llvm.constant)(byte, 0, 0), said);
            }
        }
        (llvm.drop_builder)(builder);
        said
    }
}

/// Lets the hook be called only while the flag is 0, and sets it afterwards if this is the last hook that it is for.
///
/// What comes before the hook moves to a block of its own, so that whoever comes after finds the block that he came from.
unsafe fn guard(llvm: &Llvm, body: Handle, block: Handle, hook: Handle, said: Handle, last: bool) {
    // SAFETY: a call in a block of the function, and its flag.
    unsafe {
        let context = (llvm.context_of)((llvm.type_of)(body));
        let byte = (llvm.int8)(context);
        let builder = (llvm.make_builder)(context);
        let text = c"".as_ptr();
        let head = (llvm.insert_block)(context, block, text);
        let say = (llvm.insert_block)(context, block, text);
        // Whoever went on in the block goes on in its head. Those after it still come from the block, which LLVM would
        // change too if it saw its end.
        let end = (llvm.terminator)(block);
        (llvm.take_out)(end);
        (llvm.use_instead)((llvm.as_value)(block), (llvm.as_value)(head));
        (llvm.stand_at_end)(builder, block);
        (llvm.insert)(builder, end);
        (llvm.stand_at_end)(builder, head);
        loop {
            let next = (llvm.first)(block);
            if next == hook {
                break;
            }
            (llvm.take_out)(next);
            (llvm.insert)(builder, next);
        }
        let was = (llvm.build_load)(builder, byte, said, text);
        let zero = (llvm.constant)(byte, 0, 0);
        let new = (llvm.build_compare)(builder, op::EQUAL, was, zero, text);
        (llvm.build_branch_if)(builder, new, say, block);
        (llvm.stand_at_end)(builder, say);
        (llvm.take_out)(hook);
        (llvm.insert)(builder, hook);
        if last {
            (llvm.build_store)(builder, (llvm.constant)(byte, 1, 0), said);
        }
        (llvm.build_branch)(builder, block);
        (llvm.drop_builder)(builder);
    }
}

impl Block<'_> {
    /// May something in the block end a step?
    unsafe fn ends_step(&self) -> bool {
        let llvm = self.llvm;
        // SAFETY: the instructions of the block.
        unsafe {
            let mut at = (llvm.first)(self.body);
            while !at.is_null() {
                if let Some(Called::Other) = self.called(at) {
                    return true;
                }
                at = (llvm.next)(at);
            }
        }
        false
    }

    /// Calls `f` with the address and the call of each hook.
    unsafe fn each_hook(&self, mut f: impl FnMut(Handle, Handle)) {
        let llvm = self.llvm;
        // SAFETY: the instructions of the block.
        unsafe {
            let mut at = (llvm.first)(self.body);
            while !at.is_null() {
                if let Some(Called::Hook(..)) = self.called(at) {
                    f((llvm.operand)(at, 0), at);
                }
                at = (llvm.next)(at);
            }
        }
    }
}
