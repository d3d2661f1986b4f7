//! By how much the values of a loop grow in each turn, and what they are in the first one.

use core::ffi::c_uint;

use super::Loop;
use crate::Handle;
use crate::llvm::{kind, op};

impl Loop<'_> {
    /// Is the value a number of 64 bits?
    pub(super) unsafe fn is_int64(&self, value: Handle) -> bool {
        // SAFETY: a value of the function.
        unsafe {
            let sort = (self.llvm.type_of)(value);
            (self.llvm.kind_of)(sort) == kind::INTEGER && (self.llvm.width)(sort) == 64
        }
    }

    /// Is the value a place in memory, of the usual kind?
    pub(super) unsafe fn is_pointer(&self, value: Handle) -> bool {
        // SAFETY: a value of the function.
        unsafe {
            let sort = (self.llvm.type_of)(value);
            (self.llvm.kind_of)(sort) == kind::POINTER && (self.llvm.space)(sort) == 0
        }
    }

    /// What a phi of the loop is at first, and in the next turn.
    pub(super) unsafe fn phi(&self, phi: Handle) -> Option<(Handle, Handle)> {
        let llvm = self.llvm;
        // SAFETY: a phi of the loop.
        unsafe {
            if (llvm.incoming)(phi) != 2 {
                return None;
            }
            let (a, b) = ((llvm.incoming_value)(phi, 0), (llvm.incoming_value)(phi, 1));
            match (llvm.incoming_block)(phi, 0) == self.body {
                true => Some((b, a)),
                false => Some((a, b)),
            }
        }
    }

    /// By how much a value grows in each turn; none if that is not known.
    pub(super) unsafe fn stride(&self, value: Handle, depth: usize) -> Option<i64> {
        let llvm = self.llvm;
        // SAFETY: a value of the function, and so are its operands.
        unsafe {
            if !self.inside(value) {
                return Some(0);
            }
            if depth == 0 {
                return None;
            }
            let opcode = (llvm.opcode)(value);
            if opcode != op::ELEMENT_PTR && opcode != op::PHI {
                // Narrower numbers may wrap.
                if !self.is_int64(value) {
                    return None;
                }
            }
            let of = |i| self.stride((llvm.operand)(value, i), depth - 1);
            let number = |i| self.number((llvm.operand)(value, i));
            match opcode {
                op::PHI => self.phi_step(value),
                op::ADD => of(0)?.checked_add(of(1)?),
                op::SUB => of(0)?.checked_sub(of(1)?),
                op::OR if (llvm.disjoint)(value) != 0 => {
                    // One of the two must stay as it is.
                    let (a, b) = (of(0)?, of(1)?);
                    (a == 0 || b == 0).then_some(a + b)
                }
                op::MUL => match (number(0), number(1)) {
                    (_, Some(by)) => of(0)?.checked_mul(by),
                    (Some(by), _) => of(1)?.checked_mul(by),
                    _ => None,
                },
                op::SHL => match number(1)? {
                    by @ 0..=32 => of(0)?.checked_mul(1 << by),
                    _ => None,
                },
                op::ELEMENT_PTR => {
                    let mut all = of(0)?;
                    self.each_index(value, |index, scale| {
                        let grows = self.stride(index, depth - 1)?;
                        all = all.checked_add(grows.checked_mul(scale)?)?;
                        Some(())
                    })?;
                    Some(all)
                }
                _ => None,
            }
        }
    }

    /// By how much a phi grows: its next value must be itself and a number.
    pub(super) unsafe fn phi_step(&self, phi: Handle) -> Option<i64> {
        let llvm = self.llvm;
        // SAFETY: a phi of the loop.
        unsafe {
            let (_, next) = self.phi(phi)?;
            if !self.inside(next) {
                return None;
            }
            let by = match (llvm.opcode)(next) {
                op::ADD if (llvm.operand)(next, 0) == phi => {
                    if !self.is_int64(phi) {
                        return None;
                    }
                    self.number((llvm.operand)(next, 1))?
                }
                op::ELEMENT_PTR if (llvm.operand)(next, 0) == phi => self.constant_offset(next)?,
                _ => return None,
            };
            (by != 0).then_some(by)
        }
    }

    /// Calls `f` with each index of an address and by how many bytes one more of it is further. The field of a structure is a
    /// constant.
    unsafe fn each_index(
        &self,
        value: Handle,
        mut f: impl FnMut(Handle, i64) -> Option<()>,
    ) -> Option<()> {
        let llvm = self.llvm;
        // SAFETY: an address in the function.
        unsafe {
            let mut sort = (llvm.element_type)(value);
            for i in 1..(llvm.operands)(value) as c_uint {
                let index = (llvm.operand)(value, i);
                if i > 1 {
                    sort = match (llvm.kind_of)(sort) {
                        kind::ARRAY => (llvm.item_type)(sort),
                        kind::STRUCT => {
                            let field = self.number(index)?;
                            sort = (llvm.field_type)(sort, field as c_uint);
                            continue;
                        }
                        _ => return None,
                    };
                }
                if self.inside(index) && !self.is_int64(index) {
                    return None;
                }
                f(index, (llvm.size_of)(self.layout, sort) as i64)?;
            }
        }
        Some(())
    }

    /// What the value is in the first turn, computed before the loop. Only for values that have a stride.
    pub(super) unsafe fn at_first(&self, builder: Handle, value: Handle) -> Handle {
        let llvm = self.llvm;
        // SAFETY: a value of the function; the builder stands at the end of the block before the loop.
        unsafe {
            if !self.inside(value) {
                return value;
            }
            if (llvm.opcode)(value) == op::PHI {
                return self.phi(value).map_or(value, |(start, _)| start);
            }
            let copy = (llvm.copy)(value);
            for i in 0..(llvm.operands)(value) as c_uint {
                let first = self.at_first(builder, (llvm.operand)(value, i));
                (llvm.set_operand)(copy, i, first);
            }
            (llvm.insert)(builder, copy);
            copy
        }
    }
}
