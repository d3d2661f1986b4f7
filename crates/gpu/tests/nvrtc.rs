//! PTX that NVIDIA's runtime compiler makes from a string, where `scripts/setup.sh test` could install it.

#[path = "common/mod.rs"]
mod common;

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;

use deadheat_gpu::frontend::cli;
use deadheat_gpu::frontend::finding::lines;
use deadheat_gpu::frontend::session::check_ptx;
use deadheat_model::FindingKind;
use libloading::Library;

const SOURCE: &str = r#"
extern "C" __global__ void sum(const float *in, float *out) {
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * 256 + t];
  __syncthreads();
  for (int k = 128; k > 0; k >>= 1) {
    if (t < k) s[t] += s[t + k];
    BARRIER;
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
"#;

/// Compiles a source with these options.
fn compile(lib: &Path, source: &str, options: &[&str]) -> String {
    let options: Vec<CString> = options
        .iter()
        .map(|o| CString::new(*o).expect("no zero"))
        .collect();
    let pointers: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();
    let source = CString::new(source).expect("no zero");
    type Create = unsafe extern "C" fn(
        *mut *mut c_void,
        *const c_char,
        *const c_char,
        c_int,
        *const c_void,
        *const c_void,
    ) -> c_int;
    type Compile = unsafe extern "C" fn(*mut c_void, c_int, *const *const c_char) -> c_int;
    type Size = unsafe extern "C" fn(*mut c_void, *mut usize) -> c_int;
    type Get = unsafe extern "C" fn(*mut c_void, *mut c_char) -> c_int;
    // SAFETY: the library's own functions, with the signatures of its header, on a program it made.
    unsafe {
        let lib = Library::new(lib).expect("nvrtc");
        let create = lib.get::<Create>(b"nvrtcCreateProgram\0").expect("create");
        let compile = lib
            .get::<Compile>(b"nvrtcCompileProgram\0")
            .expect("compile");
        let size = lib.get::<Size>(b"nvrtcGetPTXSize\0").expect("size");
        let get = lib.get::<Get>(b"nvrtcGetPTX\0").expect("PTX");
        let none = std::ptr::null();
        let mut program = std::ptr::null_mut();
        let name = c"sum.cu".as_ptr();
        assert_eq!(
            create(&raw mut program, source.as_ptr(), name, 0, none, none),
            0
        );
        assert_eq!(
            compile(program, pointers.len() as c_int, pointers.as_ptr()),
            0
        );
        let mut n = 0;
        assert_eq!(size(program, &raw mut n), 0);
        let mut text = vec![0u8; n];
        assert_eq!(get(program, text.as_mut_ptr().cast()), 0);
        let text = CStr::from_bytes_until_nul(&text).expect("a string");
        text.to_string_lossy().into_owned()
    }
}

#[test]
fn its_ptx_runs_and_its_race_is_found() {
    let Some(tools) = common::nvidia() else {
        return;
    };
    let lib = tools.join("lib/libnvrtc.so.13");
    if !lib.is_file() {
        println!("{} is not there, so this is not tried", lib.display());
        return;
    }
    let args = [
        "sum.ptx", "--kernel", "sum", "--grid", "4", "--block", "256",
    ];
    let args: Vec<String> = args.iter().map(|s| (*s).to_string()).collect();
    for (define, races) in [("-DBARRIER=__syncthreads()", 0), ("-DBARRIER=", 1)] {
        let options = ["--gpu-architecture=compute_80", "-lineinfo", define];
        let ptx = compile(&lib, SOURCE, &options);
        for analyze in [false, true] {
            let mut o = cli::parse(&args).expect("options").check;
            o.analyze = analyze;
            let r = check_ptx(&ptx, &o, &|_| {}).expect("runs");
            let found: Vec<_> = r.findings().collect();
            assert_eq!(found.len(), races, "{define} {analyze}: {found:#?}");
            for f in found {
                assert_eq!(f.kind, FindingKind::KernelRace);
                assert!(lines(f).iter().all(|l| l.1 == 8), "{f:#?}");
            }
        }
    }
}
