//! PTX text to tokens, each with its line. Never panics, whatever the bytes.

use super::PtxError;

/// One token. Directives and modifiers keep their leading dot out of the text.
#[derive(Clone, Debug, PartialEq)]
pub enum Tok<'a> {
    /// Names: `add`, `%r1`, `$L__BB0_2`, `_Z1kPf`.
    Ident(&'a str),
    /// `.loc`, `.u32`, `.shared::cta` without the dot.
    Dot(&'a str),
    /// An integer; negative numbers are a `-` token and an integer.
    Int(u64),
    /// `0f3F800000`.
    F32(u32),
    /// `0d3FF0000000000000` or a decimal literal such as `1.5`.
    F64(u64),
    Str(&'a str),
    Punct(char),
}

/// A token and the line it starts on.
#[derive(Clone, Debug)]
pub struct Token<'a> {
    pub tok: Tok<'a>,
    pub line: u32,
}

/// More text than this is refused: no compiler writes it, and every later pass is linear in it.
pub const MAX_TEXT: usize = 256 << 20;

fn is_name_start(c: u8) -> bool {
    c.is_ascii_alphabetic() || matches!(c, b'_' | b'$' | b'%')
}

fn is_name(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b'_' | b'$')
}

/// Cuts `text` into tokens.
///
/// # Errors
/// Names the line of the first character or literal that is not PTX.
pub fn lex(text: &str) -> Result<Vec<Token<'_>>, PtxError> {
    if text.len() > MAX_TEXT {
        return Err(PtxError::new(
            1,
            format!("more than {} MiB of PTX", MAX_TEXT >> 20),
        ));
    }
    let b = text.as_bytes();
    let mut out = Vec::with_capacity(b.len() / 5);
    let (mut i, mut line) = (0usize, 1u32);
    while i < b.len() {
        let c = b[i];
        let start = i;
        match c {
            b'\n' => {
                line += 1;
                i += 1;
            }
            b' ' | b'\t' | b'\r' | 0 | 0x0b | 0x0c => i += 1,
            b'/' if b.get(i + 1) == Some(&b'/') => {
                while i < b.len() && b[i] != b'\n' {
                    i += 1;
                }
            }
            b'/' if b.get(i + 1) == Some(&b'*') => {
                let opened = line;
                i += 2;
                loop {
                    match b.get(i) {
                        None => return Err(PtxError::new(opened, "this comment is never closed")),
                        Some(b'*') if b.get(i + 1) == Some(&b'/') => {
                            i += 2;
                            break;
                        }
                        Some(&x) => {
                            line += u32::from(x == b'\n');
                            i += 1;
                        }
                    }
                }
            }
            b'"' => {
                i += 1;
                while i < b.len() && b[i] != b'"' && b[i] != b'\n' {
                    i += 1 + usize::from(b[i] == b'\\' && i + 1 < b.len());
                }
                if b.get(i) != Some(&b'"') {
                    return Err(PtxError::new(line, "this string is never closed"));
                }
                i += 1;
                let text = text.get(start + 1..i - 1).unwrap_or("");
                out.push(Token {
                    tok: Tok::Str(text),
                    line,
                });
            }
            b'.' if b
                .get(i + 1)
                .is_some_and(|&c| is_name_start(c) || c.is_ascii_digit()) =>
            {
                i += 1;
                loop {
                    while i < b.len() && is_name(b[i]) {
                        i += 1;
                    }
                    let scoped = b.get(i) == Some(&b':')
                        && b.get(i + 1) == Some(&b':')
                        && b.get(i + 2).is_some_and(|&c| is_name(c));
                    if !scoped {
                        break;
                    }
                    i += 2;
                }
                if i == start + 1 {
                    i += 1; // `.%name` cannot be PTX; the parser will say where
                }
                out.push(Token {
                    tok: Tok::Dot(text.get(start + 1..i).unwrap_or("")),
                    line,
                });
            }
            c if is_name_start(c) => {
                i += 1;
                while i < b.len() && is_name(b[i]) {
                    i += 1;
                }
                out.push(Token {
                    tok: Tok::Ident(&text[start..i]),
                    line,
                });
            }
            c if c.is_ascii_digit() => {
                while i < b.len() && (b[i].is_ascii_alphanumeric() || b[i] == b'.') {
                    let exponent = matches!(b[i], b'e' | b'E')
                        && matches!(b.get(i + 1), Some(b'+' | b'-'))
                        && !b[start..i]
                            .iter()
                            .any(|c| matches!(c, b'x' | b'X' | b'f' | b'd'));
                    i += 1 + usize::from(exponent);
                }
                let tok = number(&text[start..i]).ok_or_else(|| {
                    PtxError::new(line, format!("`{}` is not a number", &text[start..i]))
                })?;
                out.push(Token { tok, line });
            }
            c if c.is_ascii() => {
                i += 1;
                out.push(Token {
                    tok: Tok::Punct(char::from(c)),
                    line,
                });
            }
            _ => {
                return Err(PtxError::new(
                    line,
                    "a character that is not ASCII outside a string",
                ));
            }
        }
    }
    Ok(out)
}

fn number(s: &str) -> Option<Tok<'static>> {
    let lower = s.to_ascii_lowercase();
    if let Some(hex) = lower.strip_prefix("0f")
        && hex.len() == 8
    {
        return u32::from_str_radix(hex, 16).ok().map(Tok::F32);
    }
    if let Some(hex) = lower.strip_prefix("0d")
        && hex.len() == 16
    {
        return u64::from_str_radix(hex, 16).ok().map(Tok::F64);
    }
    let int = lower.strip_suffix('u').unwrap_or(&lower);
    let (digits, radix) = if let Some(h) = int.strip_prefix("0x") {
        (h, 16)
    } else if let Some(h) = int.strip_prefix("0b") {
        (h, 2)
    } else if int.len() > 1 && int.starts_with('0') && int.bytes().all(|c| c.is_ascii_digit()) {
        (&int[1..], 8)
    } else {
        (int, 10)
    };
    if let Ok(v) = u64::from_str_radix(digits, radix) {
        return Some(Tok::Int(v));
    }
    lower.parse::<f64>().ok().map(|v| Tok::F64(v.to_bits()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_names_and_comments() {
        let t =
            lex("ld.shared::cta.u32 %r1, [0x10]; // x\n/* y\n */ 0f3F800000 1.5 017 3U").unwrap();
        let kinds: Vec<_> = t.iter().map(|t| t.tok.clone()).collect();
        assert_eq!(kinds[1], Tok::Dot("shared::cta"));
        assert_eq!(kinds[6], Tok::Int(16));
        assert_eq!(kinds[9], Tok::F32(0x3f80_0000));
        assert_eq!(kinds[10], Tok::F64(1.5f64.to_bits()));
        assert_eq!(kinds[11], Tok::Int(15));
        assert_eq!(t[9].line, 3);
    }

    #[test]
    fn bad_text_names_its_line() {
        assert_eq!(lex("\n\n\"abc").unwrap_err().line, 3);
        assert_eq!(lex("\n/* ").unwrap_err().line, 2);
        assert_eq!(lex("é").unwrap_err().line, 1);
        assert_eq!(lex("\n0xZZ").unwrap_err().line, 2);
    }
}
