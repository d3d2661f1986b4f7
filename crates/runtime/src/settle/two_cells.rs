//! 16 bytes: two cells in a row, with one number.

use super::*;

/// For two cells in a row, in a page of the strand's own; else one after the other. The middle part says what becomes of both.
macro_rules! two_cells {
    ($known:expr, $middle:expr) => {
        concat!(
            "mov ecx, edi
             and ecx, {page_bytes} - 1
             cmp ecx, {page_bytes} - 16
             ja 80f\n",
            no_list!("80f"),
            $known,
            $middle,
            "jmp 62f
          61:
             mov qword ptr [rax], r10
             mov qword ptr [rax + 16], r10
             mov qword ptr [rax + 8], r11
             mov qword ptr [rax + 24], r11
             jmp 60f
          88:
          89:
             jmp 80f
          62:
             mov qword ptr [rax + 8], r11
             mov qword ptr [rax + 24], r11
             mov qword ptr [rax], r10
             mov qword ptr [rax + 16], r10\n",
            tail!(),
            "85:
             jmp 80b\n"
        )
    };
}

/// Both happened before the access, whatever they are.
macro_rules! both_known {
    () => {
        concat!(
            words!(),
            "mov r10, qword ptr [rax + 16]
             mov r11, qword ptr [rax + 24]\n",
            no_list!("80f"),
            known!()
        )
    };
}

/// The second one is as the first, and what that says happened before.
macro_rules! both_alike {
    () => {
        concat!(
            "cmp r10, qword ptr [rax + 16]
             jne 80f
             mov rcx, qword ptr [rax + 8]
             cmp rcx, qword ptr [rax + 24]
             jne 80f\n",
            words!()
        )
    };
}

settle! {
    /// A plain write of all bytes of two cells in a row.
    settle_write16, tested_write16, write_apart,
    two_cells!(both_known!(), becomes_written!())
}

settle! {
    /// A plain read of all bytes of two cells in a row.
    settle_read16, tested_read16, read_apart,
    two_cells!(both_alike!(), becomes_read!())
}

/// The one and then the other.
macro_rules! apart {
    ($(#[$doc:meta])* $name:ident, $settle:path) => {
        $(#[$doc])*
        #[unsafe(naked)]
        unsafe extern "C" fn $name(
            addr: usize,
            need: u64,
            s: &mut Strand,
            cell: *mut Cell,
            place: Place,
        ) {
            naked_asm!(
                "mov rax, rcx
                 mov r9, r8",
                keeping_registers!("call {settle}"),
                "add rdi, 8
                 add rax, 16
                 jmp {settle}",
                settle = sym $settle,
            )
        }
    };
}

apart! {
    /// # Safety
    /// As for [`unsettled`], with a read of all bytes of the cell and the next one in the same block.
    read_apart, settle_read8
}

apart! {
    /// # Safety
    /// As for [`unsettled`], with a write of all bytes of the cell and the next one in the same block.
    write_apart, settle_write8
}
