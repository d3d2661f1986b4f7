//! Tells the processor which memory will be needed soon. The only unsafe code of this crate, because the intrinsic takes a raw
//! pointer; it changes nothing but the time that things take.

/// The memory at `place` will be needed.
#[inline(always)]
#[allow(unsafe_code)]
pub fn fetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint about the address of something that is there; it neither reads nor writes for the program.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(place).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}
