//! Where recorded accesses are checked: on this machine's cores, or on a GPU.

#![allow(unsafe_code)]

use crate::error::{Failure, Result};
use crate::say::say;
use deadheat_pipeline::{Other, Settings};
use std::env;
use std::process::Command;

/// Keeps Mesa's layer that chooses among displays' GPUs away: it complains where there is no display.
const NO_LAYER: &str = "NODEVICE_SELECT";

/// The engine that was asked for with `flag`; none is the cores'.
pub fn asked(flag: &str, place: &str, how: &Settings) -> Result<Option<Other>> {
    let fall_back = match place {
        "" | "cpu" => return Ok(None),
        "gpu" => false,
        "gpu,cpu" => true,
        other => {
            return Err(
                Failure::new(format!("{flag} is cpu, gpu or gpu,cpu, not `{other}`"))
                    .next("gpu needs a GPU with Vulkan, or Mesa's software Vulkan; gpu,cpu takes the cores if there is none"),
            );
        }
    };
    match open(how) {
        Ok(engine) => Ok(Some(engine)),
        Err(error) if fall_back => {
            say(format_args!(
                "deadheat: {error}; so the cores of this machine check"
            ));
            Ok(None)
        }
        Err(error) if cfg!(not(feature = "gpu-engine")) => Err(Failure::new(error).next(format!(
            "leave {flag}=gpu out, or build the command with its default features"
        ))),
        Err(error) => {
            let advice = format!(
                "apt-get install mesa-vulkan-drivers libvulkan1 (runs the kernels in software), or {flag}=gpu,cpu, \
                 or leave {flag}=gpu out"
            );
            Err(Failure::new(error).next(advice))
        }
    }
}

#[cfg(feature = "gpu-engine")]
fn open(how: &Settings) -> std::result::Result<Other, String> {
    use deadheat_gpu_engine::{Gpu, Limits};
    use nix::sys::signal::{SigSet, SigmaskHow};

    if env::var_os(NO_LAYER).is_none() && env::var_os("XDG_RUNTIME_DIR").is_none() {
        // SAFETY: this command has no other thread yet.
        unsafe { env::set_var(NO_LAYER, "1") };
    }
    // The driver starts threads, which must not take the signals that this command waits for.
    let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK);
    let engine =
        Gpu::open().and_then(|gpu| deadheat_gpu_engine::engine(&gpu, how, Limits::default()));
    if let Ok(before) = before {
        let _ = before.thread_set_mask(); // it was the mask a moment ago
    }
    engine.map_err(|error| error.to_string())
}

#[cfg(not(feature = "gpu-engine"))]
fn open(_: &Settings) -> std::result::Result<Other, String> {
    Err("this deadheat was built without its feature gpu-engine".to_owned())
}

/// What was set for ourselves is not for the program.
pub fn hide(command: &mut Command) {
    if env::var_os(NO_LAYER).is_some() && env::var_os("XDG_RUNTIME_DIR").is_none() {
        command.env_remove(NO_LAYER);
    }
}
