//! Races in GPU kernels, found without a GPU.
//!
//! `ptx` reads PTX, `cfg` finds where diverged lanes meet again, `machine` runs kernels on the CPU warp by warp,
//! `check` watches them for races, `analyze` decides what can be decided before running, `frontend` compiles CUDA
//! and OpenCL and serves the command line, `cudart` stands in for NVIDIA's runtime library under whole programs,
//! `instrument` writes PTX that checks itself on a real GPU.

pub mod analyze;
pub mod cfg;
pub mod check;
pub mod cudart;
pub mod frontend;
pub mod instrument;
pub mod machine;
pub mod ptx;
