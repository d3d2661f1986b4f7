//! The program's executable and libraries: where they are mapped, and which of them carry the compiler's hooks.

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use std_alloc::boxed::Box;
use std_alloc::vec::Vec;

use crate::json::Json;
use crate::sync::{Locked, SpinLock};
use crate::sys;

#[repr(C)]
struct PhdrInfo {
    addr: u64,
    name: *const c_char,
    phdr: *const Phdr,
    phnum: u16,
    adds: u64,
    subs: u64,
    tls_module: usize,
    tls_data: usize,
}

#[repr(C)]
struct Phdr {
    kind: u32,
    flags: u32,
    offset: u64,
    vaddr: u64,
    paddr: u64,
    filesz: u64,
    memsz: u64,
    align: u64,
}

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PT_NOTE: u32 = 4;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_GNU_HASH: u64 = 0x6fff_fef5;
/// Bytes of a symbol; its name comes first.
const SYMBOL: u64 = 24;

unsafe extern "C" {
    fn dl_iterate_phdr(
        f: extern "C" fn(*const PhdrInfo, usize, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
}

/// A mapped executable or library.
#[derive(Clone)]
pub struct Module {
    pub path: Vec<u8>,
    pub bias: u64,
    pub start: u64,
    pub end: u64,
    pub build_id: Vec<u8>,
    /// How far below every thread's thread pointer its thread-local variables begin, if it has any there.
    pub tls: Option<usize>,
}

/// Thread-local variables this far below the thread pointer are not in its block but in one of their own.
const FARTHEST_TLS: usize = 1 << 20;

/// All modules, as of the last look.
pub struct Modules {
    known: Locked<Vec<Module>>,
    /// Addresses inside modules that called `__tsan_init`.
    instrumented: Locked<Vec<u64>>,
    /// How many libraries have been loaded, by the loader's count at the last look.
    looked_at: AtomicU64,
}

impl Modules {
    pub const fn new() -> Self {
        Modules {
            known: Locked::new(Vec::new()),
            instrumented: Locked::new(Vec::new()),
            looked_at: AtomicU64::new(0),
        }
    }

    /// Calls `f` for each lock that is held over a fork.
    pub fn each_lock(&self, f: &dyn Fn(&SpinLock)) {
        f(self.known.spin());
        f(self.instrumented.spin());
    }

    /// In the child of a fork: all are told again, for it.
    pub fn after_fork(&self) {
        self.known.lock().clear();
    }

    /// The module with code at `pc` is instrumented.
    pub fn add_instrumented(&self, pc: u64) {
        self.instrumented.lock().push(pc);
    }

    /// The libraries that import `__tsan_init` are instrumented.
    pub fn add_importers(&self) {
        let mut found: Vec<u64> = Vec::new();
        // SAFETY: the callback only reads what the loader has mapped, and `found` outlives the call.
        unsafe { dl_iterate_phdr(each_importer, (&raw mut found).cast()) };
        let mut known = self.instrumented.lock();
        for pc in found {
            if !known.contains(&pc) {
                known.push(pc);
            }
        }
    }

    /// Is this code of the C library or of the loader?
    pub fn is_c_library(&self, pc: u64) -> bool {
        let known = self.instrumented.lock().clone();
        loaded().iter().any(|m| {
            let range = m.start..m.end;
            let name = m.path.rsplit(|b| *b == b'/').next().unwrap_or_default();
            range.contains(&pc)
                && !known.iter().any(|known| range.contains(known))
                && (name.starts_with(b"libc.so") || name.starts_with(b"ld-"))
        })
    }

    /// Does the module with code at `pc` carry the compiler's hooks?
    pub fn is_instrumented(&self, pc: u64) -> bool {
        let instrumented = self.instrumented.lock().clone();
        self.mapped().iter().any(|&(start, end)| {
            let module = start..end;
            module.contains(&pc) && instrumented.iter().any(|known| module.contains(known))
        })
    }

    /// The module that `addr` lies in, if it is mapped from one.
    pub fn find(&self, addr: u64) -> Option<Module> {
        self.known
            .lock()
            .iter()
            .find(|m| (m.start..m.end).contains(&addr))
            .cloned()
    }

    /// Where the libraries are mapped now.
    pub fn mapped(&self) -> Vec<(u64, u64)> {
        loaded().iter().map(|m| (m.start, m.end)).collect()
    }

    /// A library is gone; what comes to its place is told anew.
    pub fn unmapped(&self, start: u64, end: u64) {
        self.known
            .lock()
            .retain(|m| m.start != start || m.end != end);
        self.instrumented
            .lock()
            .retain(|pc| !(start..end).contains(pc));
    }

    /// Looks at the loader's list, and writes a `module` line for each that the stream does not know yet.
    pub fn announce(&self, out: &mut Json) {
        self.announce_these(loaded(), out);
    }

    /// The same for a list that was asked for before: not to wait for the loader with the stream's lock held.
    pub fn announce_these(&self, found: Vec<Module>, out: &mut Json) {
        self.looked_at.store(found.len() as u64, Ordering::Relaxed);
        let mut known = self.known.lock();
        let instrumented = self.instrumented.lock();
        for mut module in found {
            if known.iter().any(|k| {
                k.start == module.start && k.end == module.end && k.build_id == module.build_id
            }) {
                continue;
            }
            if module.path.is_empty() {
                module.path = own_path();
            }
            out.event("module")
                .key("path")
                .string(&module.path)
                .key("bias")
                .number(module.bias);
            out.key("start")
                .number(module.start)
                .key("end")
                .number(module.end)
                .key("build_id");
            let hex: Vec<u8> = module
                .build_id
                .iter()
                .flat_map(|b| {
                    [
                        b"0123456789abcdef"[(b >> 4) as usize],
                        b"0123456789abcdef"[(b & 15) as usize],
                    ]
                })
                .collect();
            out.string(&hex).key("instrumented");
            out.boolean(
                instrumented
                    .iter()
                    .any(|pc| (module.start..module.end).contains(pc)),
            );
            if let Some(tls) = module.tls {
                out.key("tls").number(tls as u64);
            }
            out.end_line();
            known.push(module);
        }
    }
}

/// What the loader has loaded now.
pub fn loaded() -> Vec<Module> {
    let mut found: Vec<Module> = Vec::new();
    // SAFETY: the callback only reads what the loader hands it, and `found` outlives the call.
    unsafe { dl_iterate_phdr(each_module, (&raw mut found).cast()) };
    found
}

impl Default for Modules {
    fn default() -> Self {
        Modules::new()
    }
}

/// The path of this program's executable, as it was at its start: later it may be out of reach.
pub fn own_path() -> Vec<u8> {
    static PATH: AtomicPtr<Vec<u8>> = AtomicPtr::new(core::ptr::null_mut());
    let known = PATH.load(Ordering::Acquire);
    if !known.is_null() {
        // SAFETY: put there below, never freed.
        return unsafe { (*known).clone() };
    }
    let mut buffer = [0u8; 4096];
    // SAFETY: a terminated path and a buffer of that length.
    let n = unsafe {
        sys::syscall(
            sys::nr::READLINK,
            [
                c"/proc/thread-self/exe".as_ptr() as usize,
                buffer.as_mut_ptr() as usize,
                buffer.len(),
                0,
                0,
                0,
            ],
        )
    };
    let path = buffer[..n.max(0) as usize].to_vec();
    if n > 0 {
        PATH.store(Box::into_raw(Box::new(path.clone())), Ordering::Release);
    }
    path
}

/// This thread's thread pointer, from which the places of thread-local variables are counted.
fn thread_pointer() -> usize {
    let pointer: usize;
    // SAFETY: the first word there is its own address, by the ABI.
    unsafe {
        core::arch::asm!("mov {}, qword ptr fs:[0]", out(reg) pointer, options(nostack, readonly, preserves_flags))
    };
    pointer
}

extern "C" fn each_module(info: *const PhdrInfo, size: usize, data: *mut c_void) -> c_int {
    // SAFETY: the loader hands a valid entry, `data` is the vector of `announce`.
    unsafe {
        let info = &*info;
        let found: &mut Vec<Module> = &mut *data.cast();
        let phdrs = core::slice::from_raw_parts(info.phdr, info.phnum as usize);
        let mut module = Module {
            path: sys::bytes_of(info.name).to_vec(),
            bias: info.addr,
            start: u64::MAX,
            end: 0,
            build_id: Vec::new(),
            tls: None,
        };
        if size >= size_of::<PhdrInfo>() && info.tls_data != 0 {
            module.tls = thread_pointer()
                .checked_sub(info.tls_data)
                .filter(|&below| below < FARTHEST_TLS);
        }
        for phdr in phdrs {
            let at = info.addr + phdr.vaddr;
            if phdr.kind == PT_LOAD {
                module.start = module.start.min(at);
                module.end = module.end.max(at + phdr.memsz);
            } else if phdr.kind == PT_NOTE && module.build_id.is_empty() {
                let note = core::slice::from_raw_parts(at as *const u8, phdr.memsz as usize);
                module.build_id = build_id(note).unwrap_or_default().to_vec();
            }
        }
        if module.start < module.end {
            found.push(module);
        }
    }
    0
}

/// Puts an address inside the module into the list if it imports `__tsan_init`.
extern "C" fn each_importer(info: *const PhdrInfo, _size: usize, data: *mut c_void) -> c_int {
    // SAFETY: the loader hands a valid entry, `data` is the vector of `add_importers`; its tables are mapped as the dynamic
    // section says, and addresses in it are either whole already or relative to the module.
    unsafe {
        let info = &*info;
        let found: &mut Vec<u64> = &mut *data.cast();
        let phdrs = core::slice::from_raw_parts(info.phdr, info.phnum as usize);
        let Some(dynamic) = phdrs.iter().find(|phdr| phdr.kind == PT_DYNAMIC) else {
            return 0;
        };
        let base = info.addr;
        let (mut symbols, mut names, mut hash) = (0u64, 0u64, 0u64);
        let mut entry = (base + dynamic.vaddr) as *const [u64; 2];
        while (*entry)[0] != 0 {
            let [tag, value] = *entry;
            let at = if value < base { base + value } else { value };
            match tag {
                DT_STRTAB => names = at,
                DT_SYMTAB => symbols = at,
                DT_GNU_HASH => hash = at,
                _ => {}
            }
            entry = entry.add(1);
        }
        if symbols == 0 || names == 0 || hash == 0 {
            return 0;
        }
        // The table of hashes has only what the module defines; its second word says how many symbols come before.
        let imports = *(hash as *const u32).add(1);
        for i in 1..imports as u64 {
            let name = *((symbols + i * SYMBOL) as *const u32);
            let name = (names + u64::from(name)) as *const c_char;
            if sys::bytes_of(name) == b"__tsan_init" {
                found.push(base + dynamic.vaddr);
                break;
            }
        }
    }
    0
}

/// The build id in the notes of a segment.
fn build_id(mut notes: &[u8]) -> Option<&[u8]> {
    const NT_GNU_BUILD_ID: u32 = 3;
    loop {
        let word = |i: usize| Some(u32::from_le_bytes(notes.get(i..i + 4)?.try_into().ok()?));
        let (name, desc, kind) = (word(0)? as usize, word(4)? as usize, word(8)?);
        let desc_at = 12 + name.next_multiple_of(4);
        if kind == NT_GNU_BUILD_ID && notes.get(12..16)? == b"GNU\0" {
            return notes.get(desc_at..desc_at + desc);
        }
        notes = notes.get(desc_at + desc.next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_is_among_them() {
        let modules = Modules::new();
        let mut out = Json::new();
        modules.announce(&mut out);
        let here = this_program_is_among_them as *const () as u64;
        assert!(modules.find(here).is_some());
        assert!(!out.bytes.is_empty());
        out.bytes.clear();
        modules.announce(&mut out);
        assert!(out.bytes.is_empty(), "told only once");
    }

    #[test]
    fn damaged_notes_have_no_build_id() {
        assert_eq!(build_id(&[]), None);
        assert_eq!(
            build_id(&[
                4, 0, 0, 0, 255, 255, 255, 127, 3, 0, 0, 0, b'G', b'N', b'U', 0
            ]),
            None
        );
    }
}
