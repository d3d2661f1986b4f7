//! Writing JSON, one line at a time, for the raw stream. Only what that needs: objects, lists, numbers, strings.

use std_alloc::vec::Vec;

/// A line being written. Commas are put by themselves.
#[derive(Default)]
pub struct Json {
    pub bytes: Vec<u8>,
}

impl Json {
    pub const fn new() -> Self {
        Json { bytes: Vec::new() }
    }

    fn comma(&mut self) {
        if !matches!(self.bytes.last(), None | Some(b'{' | b'[' | b':' | b'\n')) {
            self.bytes.push(b',');
        }
    }

    pub fn key(&mut self, key: &str) -> &mut Self {
        self.string(key.as_bytes());
        self.bytes.push(b':');
        self
    }

    pub fn open(&mut self, bracket: u8) -> &mut Self {
        self.comma();
        self.bytes.push(bracket);
        self
    }

    pub fn close(&mut self, bracket: u8) -> &mut Self {
        self.bytes.push(bracket);
        self
    }

    pub fn number(&mut self, n: u64) -> &mut Self {
        self.comma();
        let mut digits = [0u8; 20];
        let mut at = digits.len();
        let mut left = n;
        loop {
            at -= 1;
            digits[at] = b'0' + (left % 10) as u8;
            left /= 10;
            if left == 0 {
                break;
            }
        }
        self.bytes.extend_from_slice(&digits[at..]);
        self
    }

    pub fn boolean(&mut self, b: bool) -> &mut Self {
        self.comma();
        self.bytes
            .extend_from_slice(if b { b"true" } else { b"false" });
        self
    }

    /// Any bytes; what is not UTF-8 becomes a replacement character.
    pub fn string(&mut self, s: &[u8]) -> &mut Self {
        self.comma();
        self.bytes.push(b'"');
        for chunk in s.utf8_chunks() {
            for c in chunk.valid().bytes() {
                match c {
                    b'"' | b'\\' => self.bytes.extend_from_slice(&[b'\\', c]),
                    b'\n' => self.bytes.extend_from_slice(b"\\n"),
                    b'\t' => self.bytes.extend_from_slice(b"\\t"),
                    0..0x20 => {
                        let hex = b"0123456789abcdef";
                        self.bytes.extend_from_slice(b"\\u00");
                        self.bytes
                            .extend_from_slice(&[hex[(c >> 4) as usize], hex[(c & 15) as usize]]);
                    }
                    _ => self.bytes.push(c),
                }
            }
            if !chunk.invalid().is_empty() {
                self.bytes.extend_from_slice("\u{fffd}".as_bytes());
            }
        }
        self.bytes.push(b'"');
        self
    }

    pub fn text(&mut self, s: &str) -> &mut Self {
        self.string(s.as_bytes())
    }

    pub fn numbers(&mut self, list: impl Iterator<Item = u64>) -> &mut Self {
        self.open(b'[');
        for n in list {
            self.number(n);
        }
        self.close(b']')
    }

    /// Begins an event's object.
    pub fn event(&mut self, name: &str) -> &mut Self {
        self.open(b'{').key("event").text(name)
    }

    /// Ends an event's object and its line.
    pub fn end_line(&mut self) -> &mut Self {
        self.bytes.extend_from_slice(b"}\n");
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_json() {
        let mut j = Json::new();
        j.event("x")
            .key("n")
            .number(0)
            .key("s")
            .string(b"a\"\\\n\x01\xff")
            .key("l")
            .numbers([1, 20].into_iter());
        j.key("o")
            .open(b'{')
            .key("b")
            .boolean(true)
            .close(b'}')
            .end_line();
        j.event("y").end_line();
        let text = String::from_utf8(j.bytes).unwrap();
        assert_eq!(
            text,
            "{\"event\":\"x\",\"n\":0,\"s\":\"a\\\"\\\\\\n\\u0001\u{fffd}\",\"l\":[1,20],\"o\":{\"b\":true}}\n{\"event\":\"y\"}\n"
        );
    }
}
