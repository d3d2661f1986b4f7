//! A block of a function, and what is known of the values in it: which are numbers, and which addresses are a number of bytes
//! apart.

use core::ffi::c_uint;

use crate::Handle;
use crate::llvm::{Llvm, kind, op};

/// A block of a function.
#[derive(Clone, Copy)]
pub struct Block<'a> {
    pub llvm: &'a Llvm,
    pub module: Handle,
    pub layout: Handle,
    pub body: Handle,
}

/// What addresses have in common that are a number of bytes apart: what they are made of, and an index with its scale.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Root {
    base: Handle,
    index: Handle,
    scale: i64,
}

impl Root {
    pub const NONE: Root = Root {
        base: core::ptr::null_mut(),
        index: core::ptr::null_mut(),
        scale: 0,
    };
}

impl<'a> Block<'a> {
    /// Is the value an instruction of the block?
    pub unsafe fn inside(&self, value: Handle) -> bool {
        // SAFETY: a value of the function.
        unsafe {
            !(self.llvm.as_instruction)(value).is_null() && (self.llvm.block_of)(value) == self.body
        }
    }

    /// The number that the value is, if it is one.
    pub unsafe fn number(&self, value: Handle) -> Option<i64> {
        // SAFETY: a value of the function; numbers of more than 64 bits are not asked for.
        unsafe {
            let sort = (self.llvm.type_of)(value);
            let small = (self.llvm.kind_of)(sort) == kind::INTEGER && (self.llvm.width)(sort) <= 64;
            (small && !(self.llvm.as_number)(value).is_null()).then(|| (self.llvm.number)(value))
        }
    }

    /// How far an address is beyond what it is made of, if that is a number.
    pub unsafe fn constant_offset(&self, value: Handle) -> Option<i64> {
        let llvm = self.llvm;
        let mut all = 0i64;
        // SAFETY: an address in the function.
        unsafe {
            let mut sort = (llvm.element_type)(value);
            for i in 1..(llvm.operands)(value) as c_uint {
                let index = self.number((llvm.operand)(value, i))?;
                if i > 1 {
                    match (llvm.kind_of)(sort) {
                        kind::ARRAY => sort = (llvm.item_type)(sort),
                        kind::STRUCT => {
                            let field = index as c_uint;
                            all += (llvm.field_offset)(self.layout, sort, field) as i64;
                            sort = (llvm.field_type)(sort, field);
                            continue;
                        }
                        _ => return None,
                    }
                }
                let size = (llvm.size_of)(self.layout, sort) as i64;
                all = all.checked_add(index.checked_mul(size)?)?;
            }
        }
        Some(all)
    }

    /// Is the value the place of something in something else?
    pub unsafe fn is_place(&self, value: Handle) -> bool {
        let llvm = self.llvm;
        // SAFETY: a value of the function.
        unsafe {
            !(llvm.as_instruction)(value).is_null() && (llvm.opcode)(value) == op::ELEMENT_PTR
        }
    }

    /// What an address is a number of bytes beyond. Wherever its parts are computed: where one of them is used, it is made of what
    /// the others are there, since each is computed anew whenever one that it is made of is.
    pub unsafe fn root(&self, place: Handle) -> (Root, i64) {
        let llvm = self.llvm;
        let (mut base, mut offset) = (place, 0i64);
        // SAFETY: a value of the function.
        unsafe {
            while self.is_place(base) {
                let below = (llvm.operand)(base, 0);
                if let Some(more) = self.constant_offset(base) {
                    (base, offset) = (below, offset.wrapping_add(more));
                } else if (llvm.operands)(base) == 2 {
                    let size = (llvm.size_of)(self.layout, (llvm.element_type)(base)) as i64;
                    let (index, scale, more) = self.scaled((llvm.operand)(base, 1), size);
                    offset = offset.wrapping_add(more);
                    let (base, more) = self.without_offset(below);
                    let root = Root { base, index, scale };
                    return (root, offset.wrapping_add(more));
                } else {
                    break;
                }
            }
        }
        let root = Root {
            base,
            index: core::ptr::null_mut(),
            scale: 0,
        };
        (root, offset)
    }

    /// An address, wherever it is computed, without the number of bytes that is added to it.
    pub unsafe fn without_offset(&self, place: Handle) -> (Handle, i64) {
        let llvm = self.llvm;
        let (mut base, mut offset) = (place, 0i64);
        // SAFETY: a value of the function.
        unsafe {
            while self.is_place(base)
                && let Some(more) = self.constant_offset(base)
            {
                (base, offset) = ((llvm.operand)(base, 0), offset.wrapping_add(more));
            }
        }
        (base, offset)
    }

    /// An index that counts so many bytes: what it is a multiple of, how many bytes that counts, and how many more it is.
    unsafe fn scaled(&self, index: Handle, bytes: i64) -> (Handle, i64, i64) {
        let llvm = self.llvm;
        let (mut index, mut scale, mut offset) = (index, bytes, 0i64);
        // SAFETY: a value of the function.
        unsafe {
            loop {
                let (below, more) = self.without_number(index);
                offset = offset.wrapping_add(more.wrapping_mul(scale));
                index = below;
                if !self.is_wide(index) || (llvm.opcode)(index) != op::SHL {
                    return (index, scale, offset);
                }
                let Some(by @ 0..=32) = self.number((llvm.operand)(index, 1)) else {
                    return (index, scale, offset);
                };
                index = (llvm.operand)(index, 0);
                scale = scale.wrapping_mul(1 << by);
            }
        }
    }

    /// Is the value computed, as a number of 64 bits? Narrower ones may wrap.
    unsafe fn is_wide(&self, value: Handle) -> bool {
        let llvm = self.llvm;
        // SAFETY: a value of the function.
        unsafe {
            let sort = (llvm.type_of)(value);
            !(llvm.as_instruction)(value).is_null()
                && (llvm.kind_of)(sort) == kind::INTEGER
                && (llvm.width)(sort) == 64
        }
    }

    /// An index without the number that is added to it.
    pub unsafe fn without_number(&self, index: Handle) -> (Handle, i64) {
        let llvm = self.llvm;
        // SAFETY: a value of the function.
        unsafe {
            let adds = self.is_wide(index)
                && match (llvm.opcode)(index) {
                    op::ADD => true,
                    op::OR => (llvm.disjoint)(index) != 0,
                    _ => false,
                };
            match adds
                .then(|| self.number((llvm.operand)(index, 1)))
                .flatten()
            {
                Some(more) => ((llvm.operand)(index, 0), more),
                None => (index, 0),
            }
        }
    }
}
