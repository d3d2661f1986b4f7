//! Global memory: real memory of this process, in allocations that every access is checked against.
//!
//! Kernels may race, so every access is a relaxed atomic of its own size. The only unsafe code of the machine is
//! here, and each function says what its caller has checked.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

use super::texture::Texture;

/// One allocation.
#[derive(Clone, Debug)]
pub struct Alloc {
    pub start: u64,
    pub len: u64,
    pub name: String,
    /// Made here (freed here), or memory of somebody else.
    owned: bool,
    /// Free space for blocks that asked for it on the device.
    pub device_heap: bool,
}

/// A checked range that an access may use.
#[derive(Clone, Copy, Debug, Default)]
pub struct Range {
    pub start: u64,
    pub end: u64,
    pub generation: u64,
}

/// All allocations.
#[derive(Debug, Default)]
pub struct Memory {
    map: RwLock<BTreeMap<u64, Alloc>>,
    /// Texture and surface objects by handle.
    textures: RwLock<BTreeMap<u64, Arc<Texture>>>,
    generation: AtomicU64,
}

const ALIGN: usize = 256;

fn layout(len: u64) -> Option<Layout> {
    Layout::from_size_align(usize::try_from(len.max(1)).ok()?, ALIGN).ok()
}

impl Memory {
    pub fn new() -> Self {
        Self::default()
    }

    /// New zeroed memory, or nothing if there is none.
    pub fn alloc(&self, name: &str, len: u64, device_heap: bool) -> Option<u64> {
        if len > 1 << 40 {
            return None;
        }
        let l = layout(len)?;
        // SAFETY: the layout's size is at least one.
        let p = unsafe { alloc_zeroed(l) };
        if p.is_null() {
            return None;
        }
        let start = p as u64;
        let a = Alloc {
            start,
            len,
            name: name.to_string(),
            owned: true,
            device_heap,
        };
        self.map.write().ok()?.insert(start, a);
        self.generation.fetch_add(1, Ordering::Release);
        Some(start)
    }

    /// Lets kernels use memory that somebody else owns.
    ///
    /// # Safety
    /// `start..start + len` must stay readable and writable until `forget(start)`.
    pub unsafe fn adopt(&self, name: &str, start: u64, len: u64) {
        if let Ok(mut m) = self.map.write() {
            m.insert(
                start,
                Alloc {
                    start,
                    len,
                    name: name.to_string(),
                    owned: false,
                    device_heap: false,
                },
            );
        }
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// Frees (or, for adopted memory, only forgets); false if nothing starts there.
    pub fn free(&self, start: u64) -> bool {
        let Ok(mut m) = self.map.write() else {
            return false;
        };
        let Some(a) = m.remove(&start) else {
            return false;
        };
        self.generation.fetch_add(1, Ordering::Release);
        if a.owned
            && let Some(l) = layout(a.len)
        {
            // SAFETY: it came from `alloc` with this layout, and removing it from the map makes this the only free.
            unsafe { dealloc(a.start as *mut u8, l) };
        }
        true
    }

    /// A new texture or surface object; its handle is never null, and is not used again.
    pub fn add_texture(&self, t: Texture) -> u64 {
        let handle = self.generation.fetch_add(1, Ordering::AcqRel) + 1;
        if let Ok(mut m) = self.textures.write() {
            m.insert(handle, Arc::new(t));
        }
        handle
    }

    pub fn texture(&self, handle: u64) -> Option<Arc<Texture>> {
        self.textures.read().ok()?.get(&handle).cloned()
    }

    /// False if there is no such object.
    pub fn remove_texture(&self, handle: u64) -> bool {
        self.textures
            .write()
            .is_ok_and(|mut m| m.remove(&handle).is_some())
    }

    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// The allocation that holds `addr`.
    pub fn find(&self, addr: u64) -> Option<Alloc> {
        let m = self.map.read().ok()?;
        let (_, a) = m.range(..=addr).next_back()?;
        (addr - a.start < a.len).then(|| a.clone())
    }

    /// Like `find`, for the cache of a warp.
    pub fn range(&self, addr: u64) -> Option<Range> {
        let generation = self.generation();
        let m = self.map.read().ok()?;
        let (_, a) = m.range(..=addr).next_back()?;
        (addr - a.start < a.len).then_some(Range {
            start: a.start,
            end: a.start + a.len,
            generation,
        })
    }

    /// The nearest allocation below `addr`, to explain an access out of bounds.
    pub fn nearest(&self, addr: u64) -> Option<Alloc> {
        let m = self.map.read().ok()?;
        m.range(..=addr).next_back().map(|(_, a)| a.clone())
    }

    pub fn all(&self) -> Vec<Alloc> {
        self.map
            .read()
            .map(|m| m.values().cloned().collect())
            .unwrap_or_default()
    }

    /// Copies bytes in; false if they do not fit one allocation.
    pub fn write(&self, addr: u64, bytes: &[u8]) -> bool {
        let Some(r) = self.range(addr) else {
            return bytes.is_empty();
        };
        if bytes.len() as u64 > r.end - addr {
            return false;
        }
        for (k, b) in bytes.iter().enumerate() {
            // SAFETY: inside a live allocation, checked above.
            unsafe { store(addr + k as u64, 1, u64::from(*b)) };
        }
        true
    }

    /// Copies bytes out.
    pub fn read(&self, addr: u64, len: u64) -> Option<Vec<u8>> {
        if len == 0 {
            return Some(Vec::new());
        }
        let r = self.range(addr)?;
        if len > r.end - addr {
            return None;
        }
        // SAFETY: inside a live allocation, checked above.
        Some(
            (0..len)
                .map(|k| unsafe { load(addr + k, 1) } as u8)
                .collect(),
        )
    }

    /// A C string, at most `max` bytes.
    pub fn text(&self, addr: u64, max: u64) -> Option<String> {
        let r = self.range(addr)?;
        let mut out = Vec::new();
        for a in addr..r.end.min(addr + max) {
            // SAFETY: inside a live allocation.
            let b = unsafe { load(a, 1) } as u8;
            if b == 0 {
                break;
            }
            out.push(b);
        }
        Some(String::from_utf8_lossy(&out).into_owned())
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let starts: Vec<u64> = self.all().iter().map(|a| a.start).collect();
        for s in starts {
            self.free(s);
        }
    }
}

/// Reads 1, 2, 4 or 8 bytes.
///
/// # Safety
/// The bytes lie in a live allocation and `addr` is a multiple of `bytes`.
#[inline(always)]
pub unsafe fn load(addr: u64, bytes: u32) -> u64 {
    // SAFETY: by contract.
    unsafe {
        match bytes {
            1 => u64::from(AtomicU8::from_ptr(addr as *mut u8).load(Ordering::Relaxed)),
            2 => u64::from(AtomicU16::from_ptr(addr as *mut u16).load(Ordering::Relaxed)),
            4 => u64::from(AtomicU32::from_ptr(addr as *mut u32).load(Ordering::Relaxed)),
            _ => AtomicU64::from_ptr(addr as *mut u64).load(Ordering::Relaxed),
        }
    }
}

/// Writes 1, 2, 4 or 8 bytes.
///
/// # Safety
/// As for `load`.
#[inline(always)]
pub unsafe fn store(addr: u64, bytes: u32, v: u64) {
    // SAFETY: by contract.
    unsafe {
        match bytes {
            1 => AtomicU8::from_ptr(addr as *mut u8).store(v as u8, Ordering::Relaxed),
            2 => AtomicU16::from_ptr(addr as *mut u16).store(v as u16, Ordering::Relaxed),
            4 => AtomicU32::from_ptr(addr as *mut u32).store(v as u32, Ordering::Relaxed),
            _ => AtomicU64::from_ptr(addr as *mut u64).store(v, Ordering::Relaxed),
        }
    }
}

/// Atomic read-modify-write of 2, 4 or 8 bytes; returns the old value. Sequentially consistent, so that programs
/// which build locks from it work whatever the host's memory order.
///
/// # Safety
/// As for `load`.
pub unsafe fn update(addr: u64, bytes: u32, f: impl Fn(u64) -> u64) -> u64 {
    macro_rules! go {
        ($t:ty, $u:ty) => {{
            // SAFETY: by contract.
            let p = unsafe { <$t>::from_ptr(addr as *mut $u) };
            let mut old = p.load(Ordering::SeqCst);
            loop {
                match p.compare_exchange_weak(
                    old,
                    f(u64::from(old)) as $u,
                    Ordering::SeqCst,
                    Ordering::SeqCst,
                ) {
                    Ok(v) => break u64::from(v),
                    Err(v) => old = v,
                }
            }
        }};
    }
    match bytes {
        1 => go!(AtomicU8, u8),
        2 => go!(AtomicU16, u16),
        4 => go!(AtomicU32, u32),
        _ => go!(AtomicU64, u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocations_are_found_bounded_and_freed() {
        let m = Memory::new();
        let a = m.alloc("a", 10, false).unwrap();
        assert!(m.write(a, &[1, 2, 3]));
        assert_eq!(m.read(a, 3), Some(vec![1, 2, 3]));
        assert_eq!(m.read(a + 8, 3), None);
        assert!(m.find(a + 10).is_none());
        assert!(m.free(a));
        assert!(!m.free(a));
        assert!(m.find(a).is_none());
    }
}
