//! Hostile input: PTX and launch files cut, flipped and spliced. Whatever they hold, the answer is a result or an error
//! with a line, never a panic or a hang.

use deadheat_gpu::check::{self, Options, Scheme};
use deadheat_gpu::frontend::launch;
use deadheat_gpu::machine::texture::{Channel, Texels, Texture};
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

/// What works on more than a lane's registers.
const TILES: &str = r#"
.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n, .param .u64 t)
{
	.reg .pred %p<3>;
	.reg .b16 %h<3>;
	.reg .b32 %r<30>;
	.reg .f32 %f<30>;
	.reg .b64 %rd<9>;
	.shared .align 16 .b8 s[1024];
	.shared .align 8 .b8 b[8];
	.loc 1 3 5
	ld.param.u64 %rd1, [p];
	ld.param.u64 %rd2, [t];
	mov.u32 %r1, %tid.x;
	mul.lo.u32 %r2, %r1, 16;
	mov.u32 %r3, s;
	add.u32 %r4, %r3, %r2;
	cp.async.ca.shared.global [%r4], [%rd1], 16;
	cp.async.commit_group;
	cp.async.wait_group 0;
	mov.u32 %r5, b;
	mbarrier.init.shared.b64 [%r5], 64;
	bar.sync 0;
	mbarrier.arrive.shared.b64 %rd3, [%r5];
	mbarrier.test_wait.shared.b64 %p1, [%r5], %rd3;
	tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd2, {%f5, %f6}];
	tld4.r.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd2, {%f5, %f6}];
	tex.a1d.v4.s32.f32 {%r6, %r7, %r8, %r9}, [%rd2, {%r1, %f6}];
	suld.b.2d.v2.b32.clamp {%r6, %r7}, [%rd2, {%r1, %r2}];
	sust.b.1d.b16.trap [%rd2, {%r1}], {%h1};
	txq.width.b32 %r6, [%rd2];
	ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r10, %r11}, [%r4];
	wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r12, %r13, %r14, %r15, %r16, %r17, %r18, %r19}, [%r3], 16;
	mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f7, %f8, %f9, %f10}, {%r12, %r13, %r14, %r15}, {%r10, %r11}, {%f7, %f8, %f9, %f10};
	cvt.rna.tf32.f32 %r20, %f7;
	st.global.f32 [%rd1], %f7;
	ret;
}
"#;
const KERNELS: [&str; 2] = [KERNEL, TILES];

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
        params.extend(3u64.to_le_bytes());
        let object = memory.add_texture(Texture {
            texels: Texels {
                base: buffer,
                size: [32, 16, 2],
                pitch: 128,
                slice: 2048,
                bits: [32, 0, 0, 0],
                channel: Channel::Float,
            },
            ..Texture::default()
        });
        params.extend(object.to_le_bytes());
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
    for kernel in KERNELS {
        let memory = Memory::new();
        let loaded = Loaded::new(kernel, &memory).expect("good PTX");
        loaded.program("k").expect("good PTX");
        swallow(kernel);
    }
}

#[test]
fn cut_anywhere() {
    for kernel in KERNELS {
        for n in 0..kernel.len() {
            swallow(&kernel[..n]);
        }
    }
}

#[test]
fn flipped_and_spliced() {
    let words = KERNELS.map(|k| k.split_inclusive([' ', '\n', ',', ';']).collect::<Vec<_>>());
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
        "0f7F7FFFFF",
        "m65535n65535k65535",
    ];
    let mut d = Dice(0x1234_5678_9abc_def1);
    for round in 0..6000 {
        let mut w: Vec<&str> = words[round % 2].clone();
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
    for round in 0..4000 {
        let mut b = KERNELS[round % 2].as_bytes().to_vec();
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
