//! Where debug info lies when a program or library was stripped of it: by build id, or by `.gnu_debuglink`.

use std::path::{Path, PathBuf};

/// What a stripped file says about its debug info.
#[derive(Debug, Default)]
pub struct Clues {
    pub build_id: Vec<u8>,
    pub link: Option<(String, u32)>,
}

/// Files to try, most trusted first. Whoever opens one checks that it belongs to the program.
pub fn candidates(file: &Path, clues: &Clues, roots: &[PathBuf]) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    if let [first, rest @ ..] = clues.build_id.as_slice()
        && !rest.is_empty()
    {
        let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
        for root in roots {
            paths.push(root.join(format!(".build-id/{first:02x}/{rest}.debug")));
        }
    }
    if let Some((name, _)) = &clues.link
        && let Ok(real) = file.canonicalize()
        && let Some(folder) = real.parent()
    {
        paths.push(folder.join(name));
        paths.push(folder.join(".debug").join(name));
        for root in roots {
            let below = folder.strip_prefix("/").unwrap_or(folder);
            paths.push(root.join(below).join(name));
        }
        // A file that links to itself by name holds no debug info.
        paths.retain(|path| *path != real);
    }
    paths
}

/// The CRC-32 that `.gnu_debuglink` stores.
pub fn crc32(bytes: &[u8]) -> u32 {
    let mut table = [0u32; 256];
    for (slot, index) in table.iter_mut().zip(0u32..) {
        *slot = (0..8).fold(index, |c, _| {
            (c >> 1) ^ (0xEDB8_8320 & (c & 1).wrapping_neg())
        });
    }
    !bytes.iter().fold(!0u32, |crc, byte| {
        (crc >> 8) ^ table[((crc ^ u32::from(*byte)) & 0xFF) as usize]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc_is_the_usual_one() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn build_id_comes_first() {
        let clues = Clues {
            build_id: vec![0xab, 0xcd, 0xef],
            link: None,
        };
        let paths = candidates(
            Path::new("prog"),
            &clues,
            &[PathBuf::from("/usr/lib/debug")],
        );
        assert_eq!(
            paths,
            [PathBuf::from("/usr/lib/debug/.build-id/ab/cdef.debug")]
        );
    }
}
