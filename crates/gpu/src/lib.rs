//! Races in GPU kernels, found without a GPU.
