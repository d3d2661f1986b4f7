//! What is said about each kind of finding in GPU programs.

use crate::Severity;

/// All texts of one kind.
pub(crate) struct Texts {
    pub name: &'static str,
    pub title: &'static str,
    pub plural: &'static str,
    pub severity: Severity,
    pub meaning: &'static str,
    pub advice: &'static [&'static str],
}

pub(crate) const KERNEL_RACE: Texts = Texts {
    name: "kernel-race",
    title: "data race in a kernel",
    plural: "data races in kernels",
    severity: Severity::Error,
    meaning: "Two threads of a launch touch the same memory, at least one of them writes, and no barrier, fence or \
              atomic makes one come before the other. Which one comes first changes from run to run and from GPU to \
              GPU, and an optimizing compiler may keep either value in a register.",
    advice: &[
        "Between the warps of a block: put `__syncthreads()` (OpenCL: `barrier`) between the two accesses, where all \
         threads of the block reach it.",
        "Between the lanes of a warp: use `__syncwarp()` or a shuffle; since Volta lanes do not run in lockstep.",
        "Between blocks: use atomics, or split the kernel in two; a barrier does not reach another block. A flag needs \
         `__threadfence()` before it is set.",
        "If each thread should have its own place, look at the index: a stride, a size or the number of threads may \
         not be what the code assumes.",
    ],
};

pub(crate) const STREAM_RACE: Texts = Texts {
    name: "stream-race",
    title: "race between GPU operations",
    plural: "races between GPU operations",
    severity: Severity::Error,
    meaning: "A kernel, a copy or the host touches memory that another kernel or copy writes, or writes what the other \
              reads, and no stream order, event or synchronization makes one wait for the other. It works as long as \
              one of them happens to be done early.",
    advice: &[
        "Put both into the same stream, or record an event after the first and let the second stream wait for it \
         (`cudaEventRecord`, `cudaStreamWaitEvent`).",
        "Before the host uses the data, wait: `cudaStreamSynchronize`, `cudaEventSynchronize` or \
         `cudaDeviceSynchronize`.",
        "A stream made with `cudaStreamNonBlocking` does not wait for the default stream, nor the default stream for it.",
        "Do not reuse or free a buffer of an asynchronous copy before the copy is done.",
    ],
};

pub(crate) const UNIFORM_WRITE: Texts = Texts {
    name: "uniform-write",
    title: "unordered writes of the same value",
    plural: "unordered writes of the same value",
    severity: Severity::Warning,
    meaning: "Threads write the same value to the same place and nothing orders them. The result is the same whoever \
              comes last, so it is shown only on demand; the languages still call it a race.",
    advice: &[
        "Let one thread write it: `if (threadIdx.x == 0)`.",
        "If it is a flag that many may raise, use an atomic store or `atomicOr`.",
    ],
};

pub(crate) const BARRIER_DIVERGENCE: Texts = Texts {
    name: "barrier-divergence",
    title: "barrier in divergent code",
    plural: "barriers in divergent code",
    severity: Severity::Error,
    meaning: "Some threads of a block reach a barrier that others do not reach, because a condition on the way differs \
              between threads. CUDA and OpenCL leave the result undefined: the block hangs, or threads meet at \
              different barriers and what was ordered no longer is.",
    advice: &[
        "Move the barrier out of the condition, and keep only the work inside it.",
        "Make the condition the same for all threads of the block (a block id, a kernel argument, a value that all \
         read from one place after a barrier).",
        "In a loop, let all threads make the same number of turns and skip the work, not the barrier.",
    ],
};

pub(crate) const BARRIER_DEADLOCK: Texts = Texts {
    name: "barrier-deadlock",
    title: "barrier that is never completed",
    plural: "barriers that are never completed",
    severity: Severity::Error,
    meaning: "Warps wait at a barrier that the others never reach, because they wait at another one or the number of \
              threads that it names never comes. The kernel hangs.",
    advice: &[
        "Let all threads of the block come through the same barriers in the same order.",
        "With named barriers, check the number of threads: it counts whole warps.",
    ],
};

pub(crate) const OUT_OF_BOUNDS: Texts = Texts {
    name: "out-of-bounds",
    title: "access out of bounds",
    plural: "accesses out of bounds",
    severity: Severity::Error,
    meaning: "A thread touches memory outside every allocation, or behind the end of its array. On hardware it reads \
              or destroys somebody else's data, or ends the program with an illegal address.",
    advice: &[
        "Guard the access with the size: the last block is often not full (`if (i < n)`).",
        "Check the size given to the allocation and to the launch, in bytes and in elements.",
    ],
};

pub(crate) const MISALIGNED: Texts = Texts {
    name: "misaligned",
    title: "misaligned access",
    plural: "misaligned accesses",
    severity: Severity::Error,
    meaning: "An address is no multiple of the size that is read or written there. GPUs do not do such accesses: the \
              kernel ends with an error.",
    advice: &[
        "Cast a pointer to a wider type (`float4`, `double`) only if its address is a multiple of that size.",
        "Give arrays inside one buffer offsets that keep the alignment of each.",
    ],
};

pub(crate) const UNINITIALIZED_SHARED: Texts = Texts {
    name: "uninitialized-shared",
    title: "read of uninitialised shared memory",
    plural: "reads of uninitialised shared memory",
    severity: Severity::Error,
    meaning: "Shared memory is read before any thread of the block wrote it. It holds what an earlier block left \
              there, so the result changes from run to run.",
    advice: &[
        "Fill the array before the first barrier, also the parts beyond the number of threads (halo, padding).",
        "Check that the threads that write cover all that is read.",
    ],
};

pub(crate) const DEVICE_ASSERT: Texts = Texts {
    name: "device-assert",
    title: "assertion failed in a kernel",
    plural: "assertions failed in kernels",
    severity: Severity::Error,
    meaning: "An `assert` in device code was false. The kernel ends there and the program gets an error.",
    advice: &[
        "Look at the thread that is named: its ids say which element it worked on.",
        "Print the values with `printf` before the assertion.",
    ],
};

pub(crate) const DEVICE_TRAP: Texts = Texts {
    name: "device-trap",
    title: "kernel stopped itself",
    plural: "kernels stopped themselves",
    severity: Severity::Error,
    meaning: "A thread executed a trap instruction: `__trap()`, or a place that the compiler takes for unreachable.",
    advice: &[
        "If it is no `__trap()` of the source, look for a function without a return, or a division by zero.",
        "Check the values that lead to this place for the thread that is named.",
    ],
};

pub(crate) const BAD_CALL: Texts = Texts {
    name: "bad-call",
    title: "call of something that is no function",
    plural: "calls of things that are no functions",
    severity: Severity::Error,
    meaning: "A function pointer in device code does not point to a device function. A host function's address, or \
              memory that was never set, are the usual reasons.",
    advice: &[
        "Take the address of a `__device__` function in device code, not on the host.",
        "Initialise tables of function pointers before the kernel uses them.",
    ],
};

pub(crate) const BAD_FREE: Texts = Texts {
    name: "bad-free",
    title: "invalid free in a kernel",
    plural: "invalid frees in kernels",
    severity: Severity::Error,
    meaning: "Device code frees an address that its `malloc` did not return, or that was freed before.",
    advice: &[
        "Free exactly what `malloc` in device code returned, once, by one thread.",
        "Memory of `cudaMalloc` is freed on the host with `cudaFree`.",
    ],
};

pub(crate) const STACK_OVERFLOW: Texts = Texts {
    name: "stack-overflow",
    title: "stack overflow in a kernel",
    plural: "stack overflows in kernels",
    severity: Severity::Error,
    meaning: "Calls in device code are nested deeper than the stack of a thread allows: most often a recursion that \
              does not end.",
    advice: &[
        "Check the condition that ends the recursion for the thread that is named.",
        "Turn the recursion into a loop, or keep large arrays out of the function's locals.",
    ],
};

pub(crate) const STEP_LIMIT: Texts = Texts {
    name: "step-limit",
    title: "kernel stopped at the step limit",
    plural: "kernels stopped at the step limit",
    severity: Severity::Error,
    meaning: "The kernel ran longer than the limit allows. It may be slow, or it may wait for something that never \
              comes: a flag without a writer, a lock that lanes of one warp fight for.",
    advice: &[
        "Raise the limit with --max-steps if the kernel is only long.",
        "Look for loops that wait for another thread: in lockstep, a lane cannot wait for a lane of its own warp \
         (try --warps independent).",
    ],
};
