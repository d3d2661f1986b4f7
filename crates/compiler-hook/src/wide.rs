//! Plain accesses for which clang's instrumentation has no hook: those of vectors of more than 16 bytes, and of other odd sizes.

use core::ffi::{CStr, c_int, c_uint};

use crate::Handle;
use crate::block::Block;
use crate::llvm::{NOT_ATOMIC, kind, op};

const WRITES: &CStr = c"__tsan_write_range";
const READS: &CStr = c"__tsan_read_range";

impl Block<'_> {
    /// Puts hooks before the accesses of the block that have none.
    ///
    /// # Safety
    /// The block is one of a function of LLVM's that has been instrumented.
    pub unsafe fn see_wide(&self) {
        // SAFETY: the instructions of the block.
        unsafe {
            let mut at = (self.llvm.first)(self.body);
            while !at.is_null() {
                if let op::LOAD | op::STORE = (self.llvm.opcode)(at) {
                    self.announce(at, (self.llvm.opcode)(at) == op::STORE);
                }
                at = (self.llvm.next)(at);
            }
        }
    }

    /// Puts hooks before a load or store, if it is one that instrumentation has none for.
    unsafe fn announce(&self, access: Handle, writes: bool) {
        let llvm = self.llvm;
        // SAFETY: a load has its place first; a store its value, then its place.
        unsafe {
            let (value, place) = match writes {
                true => ((llvm.operand)(access, 0), (llvm.operand)(access, 1)),
                false => (access, (llvm.operand)(access, 0)),
            };
            let sort = (llvm.type_of)(value);
            if (llvm.kind_of)(sort) == kind::SCALABLE_VECTOR
                || (llvm.order)(access) != NOT_ATOMIC
                || (llvm.space)((llvm.type_of)(place)) != 0
            {
                return;
            }
            let size = (llvm.stored_size)(self.layout, sort);
            if matches!(size, 0 | 1 | 2 | 4 | 8 | 16) {
                return;
            }
            let lanes = match (llvm.kind_of)(sort) == kind::VECTOR {
                true => (llvm.lanes)(sort),
                false => 1,
            };
            let used = match writes || lanes > 64 || !size.is_multiple_of(lanes as u64) {
                true => None,
                false => self.used_lanes(access, lanes),
            };
            let Some(used) = used else {
                return self.put_hook(access, place, 0, size, writes);
            };
            // What the compiler loads beside what the program reads is no access.
            let each = size / lanes as u64;
            let mut lane = 0;
            while lane < lanes {
                let from = lane;
                while lane < lanes && used >> lane & 1 != 0 {
                    lane += 1;
                }
                if lane > from {
                    let (start, length) = (from as u64 * each, (lane - from) as u64 * each);
                    self.put_hook(access, place, start, length, writes);
                }
                lane += 1;
            }
        }
    }

    /// Which lanes of a loaded vector are ever used, a bit for each; none if that cannot be told.
    unsafe fn used_lanes(&self, load: Handle, lanes: c_uint) -> Option<u64> {
        let llvm = self.llvm;
        let mut used = 0u64;
        // SAFETY: a load of so many lanes; both operands of a shuffle have as many.
        unsafe {
            let mut each = (llvm.first_use)(load);
            while !each.is_null() {
                let user = (llvm.user)(each);
                each = (llvm.next_use)(each);
                let lane_of = |lane: c_int| 1u64 << (lane as c_uint % lanes);
                if !(llvm.as_shuffle)(user).is_null() {
                    let is_operand = [0, 1].map(|i| (llvm.operand)(user, i) == load);
                    for place in 0..(llvm.shuffled)(user) {
                        let lane = (llvm.shuffled_lane)(user, place);
                        if lane >= 0 && is_operand[(lane as c_uint >= lanes) as usize] {
                            used |= lane_of(lane);
                        }
                    }
                } else if !(llvm.as_extract)(user).is_null() {
                    used |= lane_of(self.number((llvm.operand)(user, 1))? as c_int);
                } else {
                    return None;
                }
            }
        }
        Some(used)
    }

    /// Puts a hook before an access: `length` bytes from `start` on.
    unsafe fn put_hook(
        &self,
        access: Handle,
        place: Handle,
        start: u64,
        length: u64,
        writes: bool,
    ) {
        let llvm = self.llvm;
        // SAFETY: the builder stands before the access and takes its line over.
        unsafe {
            let context = (llvm.context_of)((llvm.type_of)(place));
            let int64 = (llvm.int64)(context);
            let mut kinds = [(llvm.type_of)(place), int64];
            let name = if writes { WRITES } else { READS };
            let (callee, signature) = llvm.hook(self.module, name, &mut kinds);
            let builder = (llvm.make_builder)(context);
            (llvm.stand_before)(builder, access);
            let from = match start {
                0 => place,
                _ => llvm.beyond(builder, place, (llvm.constant)(int64, start, 0)),
            };
            let mut values = [from, (llvm.constant)(int64, length, 0)];
            let text = c"".as_ptr();
            (llvm.build_call)(builder, signature, callee, values.as_mut_ptr(), 2, text);
            (llvm.drop_builder)(builder);
        }
    }
}
