//! Mangled C++ names, read just far enough to show and to match them.

/// `_Z6reducePiS_i` to `reduce`, `_ZZ1kPfiE1s` to `s`, `_ZN2ns4scanEv` to `ns::scan`; anything else stays.
pub fn short(mangled: &str) -> String {
    let mangled = mangled
        .split(crate::ptx::blame::MARK)
        .next()
        .unwrap_or(mangled);
    let own = mangled.rsplit("::").next().unwrap_or(mangled);
    if let Some(local) = own.strip_prefix("_ZZ") {
        // The last `E` that a length and a name follow ends the enclosing function.
        for (k, _) in local
            .match_indices('E')
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
        {
            if let Some((name, _)) = source_name(&local[k + 1..]) {
                return name.to_string();
            }
        }
        return mangled.to_string();
    }
    let Some(rest) = own.strip_prefix("_Z") else {
        return own.to_string();
    };
    if let Some(mut nested) = rest.strip_prefix('N') {
        let mut parts = Vec::new();
        while let Some((name, tail)) = source_name(nested) {
            parts.push(name);
            nested = tail;
        }
        if !parts.is_empty() {
            return parts.join("::").replace("_GLOBAL__N_1", "(anonymous)");
        }
    }
    let rest = rest.strip_prefix('L').unwrap_or(rest);
    source_name(rest).map_or_else(|| mangled.to_string(), |(n, _)| n.to_string())
}

fn source_name(s: &str) -> Option<(&str, &str)> {
    let digits = s.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 || digits > 6 {
        return None;
    }
    let n: usize = s[..digits].parse().ok()?;
    let end = digits.checked_add(n)?;
    (n > 0 && s.is_char_boundary(end.min(s.len())) && end <= s.len())
        .then(|| (&s[digits..end], &s[end..]))
}

/// Types of a function's parameters from its mangled name: true for pointers, none if they cannot be read.
pub fn pointer_params(mangled: &str) -> Option<Vec<bool>> {
    let rest = mangled.strip_prefix("_Z")?;
    let (_, mut s) = source_name(rest)?;
    let mut out: Vec<bool> = Vec::new();
    while let Some(c) = s.chars().next() {
        match c {
            'P' => {
                out.push(true);
                s = skip_type(&s[1..])?;
            }
            'S' => {
                // a repeated type; all such in kernels are pointers
                let end = s.find('_')?;
                out.push(true);
                s = &s[end + 1..];
            }
            'K' | 'V' | 'r' | 'L' => s = &s[1..],
            c if c.is_ascii_lowercase() => {
                out.push(false);
                s = &s[1..];
            }
            _ => {
                out.push(false);
                s = skip_type(s)?;
            }
        }
    }
    Some(out)
}

fn skip_type(s: &str) -> Option<&str> {
    let c = s.chars().next()?;
    match c {
        'P' | 'K' | 'V' | 'r' => skip_type(&s[1..]),
        c if c.is_ascii_lowercase() => Some(&s[1..]),
        'S' => Some(&s[s.find('_')? + 1..]),
        c if c.is_ascii_digit() => source_name(s).map(|(_, t)| t),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(short("_Z6reducePiS_i"), "reduce");
        assert_eq!(short("_ZZ6reducePiS_iE1s"), "s");
        assert_eq!(short("_ZN2ns4scanEv"), "ns::scan");
        assert_eq!(short("plain"), "plain");
        assert_eq!(short("_Z"), "_Z");
        assert_eq!(short("_Z999999x"), "_Z999999x");
        assert_eq!(
            pointer_params("_Z6reducePiS_i"),
            Some(vec![true, true, false])
        );
        assert_eq!(pointer_params("_Z1kPKfm"), Some(vec![true, false]));
        assert_eq!(pointer_params("k"), None);
    }
}
