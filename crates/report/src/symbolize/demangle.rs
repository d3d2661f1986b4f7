//! Readable names for C++ and Rust functions: no parameters, no hashes, no default template arguments.

use cpp_demangle::{DemangleOptions, ParseOptions, Symbol};

/// Short enough to read in a stack, exact enough to find in an editor.
pub fn short(linkage: &str) -> String {
    if let Some(name) = rust(linkage) {
        return name;
    }
    let options = DemangleOptions::new().no_params().no_return_type();
    match cpp(linkage, &options) {
        Some(name) => {
            let name = tidy(&name);
            name.strip_suffix(" const").unwrap_or(&name).to_owned()
        }
        None => linkage.to_owned(),
    }
}

/// With parameters, as ThreadSanitizer's suppressions see it.
pub fn full(linkage: &str) -> String {
    rust(linkage)
        .or_else(|| cpp(linkage, &DemangleOptions::new()))
        .unwrap_or_else(|| linkage.to_owned())
}

fn rust(linkage: &str) -> Option<String> {
    let name = rustc_demangle::try_demangle(linkage).ok()?;
    // The legacy scheme looks like C++; only names with its hash are Rust's.
    let legacy = linkage.starts_with("_ZN");
    let readable = format!("{name:#}");
    (!legacy || readable.len() < format!("{name}").len()).then_some(readable)
}

fn cpp(linkage: &str, options: &DemangleOptions) -> Option<String> {
    if !linkage.starts_with("_Z") && !linkage.starts_with("__Z") {
        return None;
    }
    let parse = ParseOptions::default().recursion_limit(128);
    let symbol = Symbol::new_with_options(linkage, &parse).ok()?;
    symbol.demangle_with_options(options).ok()
}

/// Takes out what the standard library's implementers put in.
pub fn tidy(name: &str) -> String {
    let mut text = name.to_owned();
    for (long, brief) in [
        ("[abi:cxx11]", ""),
        ("std::__cxx11::", "std::"),
        ("std::__1::", "std::"),
        ("(anonymous namespace)", "(anonymous)"),
        (
            "std::basic_string<char, std::char_traits<char>, std::allocator<char> >",
            "std::string",
        ),
        (
            "std::basic_string<char, std::char_traits<char>, std::allocator<char>>",
            "std::string",
        ),
    ] {
        if text.contains(long) {
            text = text.replace(long, brief);
        }
    }
    for default in [
        "std::allocator<",
        "std::char_traits<",
        "std::less<",
        "std::hash<",
        "std::equal_to<",
        "std::default_delete<",
    ] {
        text = without_argument(&text, default);
    }
    // An empty parameter pack leaves a comma behind.
    text.replace(" >", ">").replace(",>", ">")
}

/// Removes every `, start...>` up to its matching bracket.
fn without_argument(text: &str, start: &str) -> String {
    let pattern = format!(", {start}");
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(&pattern) {
        let after = &rest[at + pattern.len()..];
        let mut depth = 1usize;
        let end = after.char_indices().find_map(|(i, c)| {
            match c {
                '<' => depth += 1,
                '>' => depth -= 1,
                _ => {}
            }
            (depth == 0).then_some(i + 1)
        });
        let Some(end) = end else { break };
        out.push_str(&rest[..at]);
        rest = &after[end..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short() {
        for (linkage, expected) in [
            ("main", "main"),
            ("_Z3addii", "add"),
            ("_ZN4bank7Account7depositEi", "bank::Account::deposit"),
            (
                "_ZNSt6vectorIiSaIiEE9push_backERKi",
                "std::vector<int>::push_back",
            ),
            (
                "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEPKc",
                "std::string::append",
            ),
            (
                "_ZN4core3ptr13drop_in_place17h0123456789abcdefE",
                "core::ptr::drop_in_place",
            ),
            ("_ZNK4bank7Account3getEv", "bank::Account::get"),
            ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
            ("_Z", "_Z"),
        ] {
            assert_eq!(short(linkage), expected, "{linkage}");
        }
    }

    #[test]
    fn full_keeps_parameters() {
        assert_eq!(full("_Z3addii"), "add(int, int)");
    }
}
