//! Hostile input: PTX and launch files cut, flipped and spliced. Whatever they hold, the answer is a result or an error
//! with a line, never a panic or a hang.

use deadheat_gpu::check::{self, Options, Scheme};
use deadheat_gpu::frontend::launch;
use deadheat_gpu::machine::{Launch, Loaded, Memory};

const KERNEL: &str = r#"
.version 6.0
.target sm_70
.address_size 64
.global .align 4 .b8 table[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
.extern .shared .align 4 .b8 dyn[];
.func (.param .b32 r) twice(.param .b32 a)
{
	.reg .b32 %r<3>;
	ld.param.u32 %r1, [a];
	add.s32 %r2, %r1, %r1;
	st.param.b32 [r+0], %r2;
	ret;
}
.visible .entry k(.param .u64 p, .param .u32 n)
{
	.reg .pred %p<3>;
	.reg .b32 %r<9>;
	.reg .b64 %rd<9>;
	.shared .align 4 .b8 s[256];
	ld.param.u64 %rd1, [p];
	ld.param.u32 %r1, [n];
	cvta.to.global.u64 %rd2, %rd1;
	mov.u32 %r2, %tid.x;
	mul.wide.u32 %rd3, %r2, 4;
	add.s64 %rd4, %rd2, %rd3;
	mov.u64 %rd5, s;
	add.s64 %rd6, %rd5, %rd3;
	st.shared.u32 [%rd6], %r2;
	bar.sync 0;
$loop:
	{
	.param .b32 a0;
	st.param.b32 [a0+0], %r2;
	.param .b32 r0;
	call.uni (r0), twice, (a0);
	ld.param.b32 %r3, [r0+0];
	}
	sub.s32 %r1, %r1, 1;
	setp.gt.s32 %p1, %r1, 0;
	@%p1 bra $loop;
	ld.shared.u32 %r4, [%rd6+-4];
	add.s32 %r5, %r3, %r4;
	atom.global.add.u32 %r6, [%rd4], %r5;
	ret;
}
"#;

struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}

/// Parses, loads and, if there is a kernel, runs with a small step limit.
fn swallow(text: &str) {
    let memory = Memory::new();
    let Ok(loaded) = Loaded::new(text, &memory) else {
        return;
    };
    let names: Vec<String> = loaded.module.kernels().map(|k| k.name.clone()).collect();
    for name in names {
        let Ok(p) = loaded.program(&name) else {
            continue;
        };
        let buffer = memory.alloc("buffer", 4096, false).expect("memory");
        let mut params = buffer.to_le_bytes().to_vec();
        params.extend(3u32.to_le_bytes());
        params.resize(params.len().max(p.param_bytes as usize), 0);
        let l = Launch {
            grid: [2, 1, 1],
            block: [64, 1, 1],
            dynamic_shared: 64,
            params,
            workers: 1,
            step_limit: 3000,
            independent: false,
            grid_id: 1,
        };
        for scheme in [Scheme::Both, Scheme::Off] {
            let o = Options {
                scheme,
                ..Options::default()
            };
            let _ = check::run(&p, &memory, &l, o, Vec::new(), &|_| {});
        }
    }
}

#[test]
fn the_kernel_itself_runs() {
    let memory = Memory::new();
    let loaded = Loaded::new(KERNEL, &memory).expect("good PTX");
    assert!(loaded.program("k").is_ok());
    swallow(KERNEL);
}

#[test]
fn cut_anywhere() {
    for n in 0..KERNEL.len() {
        swallow(&KERNEL[..n]);
    }
}

#[test]
fn flipped_and_spliced() {
    let words: Vec<&str> = KERNEL.split_inclusive([' ', '\n', ',', ';']).collect();
    let odd = [
        "",
        "{",
        "}",
        "[",
        "%r1",
        "%rd99",
        "-1",
        "0xffffffffffffffff",
        "18446744073709551615",
        ".b128",
        "<4294967295>",
        ";",
        "bra",
        "\"",
        "@",
        "$loop",
        "%tid.x",
        "0f3F800000",
    ];
    let mut d = Dice(0x1234_5678_9abc_def1);
    for _ in 0..4000 {
        let mut w: Vec<&str> = words.clone();
        for _ in 0..=d.below(3) {
            let k = d.below(w.len());
            match d.below(4) {
                0 => w[k] = odd[d.below(odd.len())],
                1 => {
                    let j = d.below(w.len());
                    w.swap(k, j);
                }
                2 => {
                    w.remove(k);
                }
                _ => {
                    let x = w[d.below(w.len())];
                    w.insert(k, x);
                }
            }
        }
        swallow(&w.concat());
    }
}

#[test]
fn bytes_of_any_kind() {
    let mut d = Dice(99);
    for _ in 0..3000 {
        let mut b = KERNEL.as_bytes().to_vec();
        for _ in 0..=d.below(6) {
            let k = d.below(b.len());
            b[k] = d.below(256) as u8;
        }
        swallow(&String::from_utf8_lossy(&b));
    }
}

#[test]
fn deep_and_large_things_end_in_an_error() {
    let head = ".version 6.0\n.target sm_70\n.address_size 64\n";
    let deep = format!("{head}.entry k() {{ {} }}", "{".repeat(100_000));
    assert!(Loaded::new(&deep, &Memory::new()).is_err());
    let init = format!("{head}.global .b8 a[4] = {};", "{".repeat(100_000));
    assert!(Loaded::new(&init, &Memory::new()).is_err());
    let large = format!("{head}.global .b8 a[99999999999999];");
    assert!(Loaded::new(&large, &Memory::new()).is_err());
    let endless = format!("{head}.entry k() {{ l: bra l; }}");
    swallow(&endless);
    let recursion =
        format!("{head}.func f() {{ call.uni f; ret; }} .entry k() {{ call.uni f; ret; }}");
    swallow(&recursion);
    let unknown =
        format!("{head}.entry k() {{\n .reg .b32 %r<3>;\n frobnicate.u32 %r1, %r2, 3;\n}}");
    let l = Loaded::new(&unknown, &Memory::new()).expect("it parses");
    let e = l
        .program("k")
        .expect_err("the machine has no such instruction");
    assert_eq!(e.line, 6);
    assert!(e.what.contains("frobnicate.u32"), "{e}");
}

#[test]
fn launch_files() {
    let good = "[[launch]]\nkernel='k'\ngrid=[2,3]\nblock=[32]\nshared=64\nargs=[{buffer='f32',count=4,init='random=1,2'},7,1.5,'i32:2:iota',{local=16}]\n";
    assert!(launch::file(good, "good").is_ok());
    let mut d = Dice(7);
    for n in 0..good.len() {
        let _ = launch::file(&good[..n], "cut");
    }
    for _ in 0..3000 {
        let mut b = good.as_bytes().to_vec();
        for _ in 0..=d.below(4) {
            let k = d.below(b.len());
            b[k] = (d.below(95) + 32) as u8;
        }
        let _ = launch::file(&String::from_utf8_lossy(&b), "bent");
    }
}
