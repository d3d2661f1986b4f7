//! The PTX inside a program: plain text as `gpu cc` embeds it, or NVIDIA's container.

use std::io::Read;

const MAGIC: u32 = 0xba55_ed50;

/// The container's bytes: bounded by its own header, or the text up to its zero byte.
///
/// # Safety
/// `data` points to a container or to text that ends in a zero byte.
pub unsafe fn bytes<'a>(data: *const u8) -> &'a [u8] {
    if data.is_null() {
        return &[];
    }
    // SAFETY: by contract there are at least the four bytes of a magic or of text and its zero.
    let first = unsafe { data.cast::<u32>().read_unaligned() };
    if first == MAGIC {
        // SAFETY: a container has a 16-byte header with its own sizes.
        let (header, size) = unsafe {
            (
                data.add(6).cast::<u16>().read_unaligned(),
                data.add(8).cast::<u64>().read_unaligned(),
            )
        };
        let n = usize::from(header) + usize::try_from(size).unwrap_or(0);
        // SAFETY: the header says that this many bytes follow.
        return unsafe { std::slice::from_raw_parts(data, n) };
    }
    let mut n = 0;
    // SAFETY: the text ends in a zero byte.
    while n < crate::ptx::lex::MAX_TEXT && unsafe { *data.add(n) } != 0 {
        n += 1;
    }
    // SAFETY: all these bytes were read just now.
    unsafe { std::slice::from_raw_parts(data, n) }
}

/// All PTX texts in a container, newest architecture last.
///
/// # Errors
/// Says why there is none.
pub fn ptx(data: &[u8]) -> Result<Vec<String>, String> {
    if data.len() < 16 || u32::from_le_bytes([data[0], data[1], data[2], data[3]]) != MAGIC {
        let text = String::from_utf8_lossy(data).into_owned();
        return if text.contains(".version") {
            Ok(vec![text])
        } else {
            Err("the program's device code is in a form that is not known".into())
        };
    }
    let u16_at = |k: usize| {
        data.get(k..k + 2)
            .map_or(0, |b| u16::from_le_bytes([b[0], b[1]]))
    };
    let u32_at = |k: usize| {
        data.get(k..k + 4)
            .map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    };
    let u64_at = |k: usize| u64::from(u32_at(k)) | u64::from(u32_at(k + 4)) << 32;
    let mut at = usize::from(u16_at(6));
    let (mut out, mut odd, mut binary) = (Vec::new(), String::new(), 0);
    while at + 16 <= data.len() {
        let (kind, header, size) = (u16_at(at), u32_at(at + 4) as usize, u64_at(at + 8) as usize);
        if header == 0 {
            break;
        }
        let body = at.saturating_add(header);
        let end = body.saturating_add(size).min(data.len());
        if kind == 1 {
            let content = data.get(body..end).unwrap_or_default();
            // Where an entry is packed, its header tells both sizes.
            let (small, flags, large) = if header >= 64 {
                (u32_at(at + 16) as usize, u32_at(at + 40), u64_at(at + 56))
            } else {
                (0, 0, 0)
            };
            match unpack(content, small, flags, large) {
                Ok(t) if t.contains(".version") => {
                    out.push(t.trim_end_matches('\0').to_string());
                }
                Ok(_) => odd = "its PTX is in a form that is not known".to_string(),
                Err(e) => odd = e,
            }
        } else {
            binary += 1;
        }
        at = body.saturating_add(size);
    }
    if out.is_empty() {
        return Err(if !odd.is_empty() {
            format!("{odd}; build it with -no-compress, or with: deadheat gpu cc")
        } else if binary == 0 {
            "it holds no device code".into()
        } else {
            format!(
                "it holds only {binary} binaries for real GPUs; build it with -gencode arch=compute_80,code=compute_80, or with: deadheat gpu cc"
            )
        });
    }
    Ok(out)
}

const LZ4: u32 = 0x2000;
const ZSTD: u32 = 0x8000;

/// The text of an entry, whichever way it was packed.
fn unpack(content: &[u8], small: usize, flags: u32, large: u64) -> Result<String, String> {
    let bad = |e: String| format!("its PTX cannot be unpacked ({e})");
    let large = usize::try_from(large)
        .ok()
        .filter(|n| *n <= crate::ptx::lex::MAX_TEXT)
        .ok_or_else(|| bad("it claims to be too large".into()))?;
    let packed = content.get(..small).unwrap_or(content);
    let text = if flags & ZSTD != 0 {
        let mut out = Vec::new();
        let frame =
            ruzstd::decoding::StreamingDecoder::new(packed).map_err(|e| bad(e.to_string()))?;
        frame
            .take(large as u64)
            .read_to_end(&mut out)
            .map_err(|e| bad(e.to_string()))?;
        out
    } else if flags & LZ4 != 0 {
        lz4_flex::block::decompress(packed, large).map_err(|e| bad(e.to_string()))?
    } else {
        content.to_vec()
    };
    Ok(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_containers() {
        assert_eq!(ptx(b".version 6.0\n").unwrap().len(), 1);
        assert!(ptx(b"\x7fELF").is_err());
        let body = b".version 7.0 .target sm_80\0";
        let mut c = Vec::new();
        c.extend(MAGIC.to_le_bytes());
        c.extend(1u16.to_le_bytes());
        c.extend(16u16.to_le_bytes());
        c.extend((64 + body.len() as u64).to_le_bytes());
        c.extend(1u16.to_le_bytes());
        c.extend(1u16.to_le_bytes());
        c.extend(64u32.to_le_bytes());
        c.extend((body.len() as u64).to_le_bytes());
        c.extend([0u8; 48]);
        c.extend(body);
        assert_eq!(
            ptx(&c).unwrap(),
            vec![".version 7.0 .target sm_80".to_string()]
        );
        c[16] = 2;
        assert!(ptx(&c).unwrap_err().contains("real GPUs"));
        c[16] = 1;
        // packed in either way, but nonsense inside
        for flag in [LZ4, ZSTD] {
            let mut bad = c.clone();
            bad[16 + 40..16 + 44].copy_from_slice(&flag.to_le_bytes());
            bad[16 + 56..16 + 64].copy_from_slice(&4096u64.to_le_bytes());
            assert!(ptx(&bad).unwrap_err().contains("cannot be unpacked"));
            bad[16 + 56..16 + 64].copy_from_slice(&u64::MAX.to_le_bytes());
            assert!(ptx(&bad).unwrap_err().contains("too large"));
            for k in 0..bad.len() {
                for bit in 0..8 {
                    let mut flipped = bad.clone();
                    flipped[k] ^= 1 << bit;
                    let _ = ptx(&flipped);
                }
            }
        }
        // cut anywhere, it must not panic
        for n in 0..c.len() {
            let _ = ptx(&c[..n]);
        }
    }
}
