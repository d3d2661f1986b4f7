//! Where in the program a call came from: program counters, and the modules they lie in.

use std::ffi::{CStr, c_int, c_void};

use super::told::Module;

const DEEPEST: usize = 24;

#[repr(C)]
struct Context {
    _opaque: [u8; 0],
}

unsafe extern "C" {
    /// Of the compiler's own library, which std is linked with.
    fn _Unwind_Backtrace(
        each: extern "C" fn(*mut Context, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(context: *mut Context) -> usize;
}

struct Walk {
    pcs: Vec<u64>,
    own: (u64, u64),
}

extern "C" fn step(context: *mut Context, data: *mut c_void) -> c_int {
    const GO_ON: c_int = 0;
    const STOP: c_int = 5;
    // SAFETY: `data` is the `Walk` that `stack` passes, alive until the walk ends; the context is the unwinder's.
    let (walk, pc) = unsafe { (&mut *data.cast::<Walk>(), _Unwind_GetIP(context) as u64) };
    if pc == 0 || walk.pcs.len() >= DEEPEST {
        return STOP;
    }
    // Our own frames come first.
    if !(walk.own.0..walk.own.1).contains(&pc) || !walk.pcs.is_empty() {
        walk.pcs.push(pc);
    }
    GO_ON
}

/// The return addresses of the program's calls, innermost first.
pub fn stack() -> Vec<u64> {
    static OWN: std::sync::OnceLock<(u64, u64)> = std::sync::OnceLock::new();
    let own = *OWN.get_or_init(|| {
        let me = step as *const () as u64;
        let all = modules();
        all.iter()
            .find(|m| (m.start..m.end).contains(&me))
            .map_or((0, 0), |m| (m.start, m.end))
    });
    let mut walk = Walk {
        pcs: Vec::new(),
        own,
    };
    // SAFETY: `step` does not unwind, and `walk` outlives the call.
    unsafe { _Unwind_Backtrace(step, (&raw mut walk).cast()) };
    walk.pcs
}

unsafe extern "C" fn each(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: the loader passes its own structure and the list that `modules` gave it.
    let (info, out) = unsafe { (&*info, &mut *data.cast::<Vec<Module>>()) };
    let name = if info.dlpi_name.is_null() {
        String::new()
    } else {
        // SAFETY: a C string of the loader.
        unsafe { CStr::from_ptr(info.dlpi_name) }
            .to_string_lossy()
            .into_owned()
    };
    let path = if name.is_empty() && out.is_empty() {
        // The first one is the program itself.
        std::fs::read_link("/proc/self/exe")
            .map(|p| p.display().to_string())
            .unwrap_or_default()
    } else {
        name
    };
    // SAFETY: the loader says how many headers there are.
    let headers =
        unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let loads = headers.iter().filter(|h| h.p_type == libc::PT_LOAD);
    let bias = info.dlpi_addr;
    let start = loads.clone().map(|h| bias + h.p_vaddr).min();
    let end = loads.map(|h| bias + h.p_vaddr + h.p_memsz).max();
    if let (Some(start), Some(end), false) = (start, end, path.is_empty()) {
        out.push(Module {
            path,
            bias,
            start,
            end,
        });
    }
    0
}

/// All loaded modules.
pub fn modules() -> Vec<Module> {
    let mut out: Vec<Module> = Vec::new();
    // SAFETY: `each` has the signature that the loader calls, and the list outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut out).cast()) };
    out
}
