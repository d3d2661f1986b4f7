//! Expectations against findings: each expectation must have its own finding, and no finding may be left.

use crate::directive::{CountRule, Expectation, Program};
use crate::seen::{Seen, SeenAccess, SeenFrame, own};
use std::fmt::Write;

/// Whether the findings are those expected; the error shows both.
pub fn judge(program: &Program, expected: &[Expectation], seen: &[Seen]) -> Result<(), String> {
    let fits: Vec<Vec<Result<(), String>>> = expected
        .iter()
        .map(|e| seen.iter().map(|s| fit(program, e, s)).collect())
        .collect();
    let mut taken = vec![false; seen.len()];
    if expected.len() == seen.len() && place(&fits, &mut taken) {
        return Ok(());
    }
    Err(explain(expected, seen, &fits))
}

/// Gives each expectation a finding of its own, if there is a way.
fn place(fits: &[Vec<Result<(), String>>], taken: &mut [bool]) -> bool {
    let Some((first, rest)) = fits.split_first() else {
        return true;
    };
    for index in 0..taken.len() {
        if !taken[index] && first[index].is_ok() {
            taken[index] = true;
            if place(rest, taken) {
                return true;
            }
            taken[index] = false;
        }
    }
    false
}

fn explain(expected: &[Expectation], seen: &[Seen], fits: &[Vec<Result<(), String>>]) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "expected {} findings, got {}",
        expected.len(),
        seen.len()
    );
    for (expectation, row) in expected.iter().zip(fits) {
        if row.iter().any(Result::is_ok) {
            continue;
        }
        let _ = writeln!(text, "  missing: {expectation}");
        for (number, reason) in row.iter().enumerate() {
            if let Err(reason) = reason {
                let _ = writeln!(text, "    not finding {}: {reason}", number + 1);
            }
        }
    }
    for (number, finding) in seen.iter().enumerate() {
        let wanted = fits.iter().any(|row| row[number].is_ok());
        let _ = writeln!(
            text,
            "  {} {}: {finding}",
            if wanted { "finding" } else { "UNEXPECTED" },
            number + 1
        );
    }
    text
}

fn fit(program: &Program, expectation: &Expectation, seen: &Seen) -> Result<(), String> {
    if expectation.kind != seen.kind {
        return Err(format!("it is of kind {}", seen.kind));
    }
    match expectation.count {
        Some(CountRule::Exactly(count)) if seen.count != count => {
            return Err(format!("seen {} times", seen.count));
        }
        Some(CountRule::AtLeast(count)) if seen.count < count => {
            return Err(format!("seen {} times", seen.count));
        }
        _ => {}
    }
    memory(program, expectation, seen)?;
    if let (Some(cycle), Some(locks)) = (expectation.keys.get("cycle"), seen.locks)
        && cycle[0] != locks.to_string()
    {
        return Err(format!("it is about {locks} locks"));
    }
    if seen.accesses.is_empty() {
        return stacks(program, expectation, seen);
    }
    if let [first, second] = seen.accesses.as_slice() {
        let straight = sides(program, expectation, [first, second]);
        return straight
            .or_else(|why| sides(program, expectation, [second, first]).map_err(|_| why));
    }
    let Some(access) = seen.accesses.first() else {
        return Ok(());
    };
    side(program, expectation, access, 0)
}

fn memory(program: &Program, expectation: &Expectation, seen: &Seen) -> Result<(), String> {
    let Some(memory) = &seen.memory else {
        return Ok(());
    };
    for kind in ["global", "stack", "tls"] {
        if let Some(name) = expectation.keys.get(kind)
            && (memory.kind != kind || memory.name != name[0])
        {
            return Err(format!("the memory is {} `{}`", memory.kind, memory.name));
        }
    }
    if let Some(size) = expectation.keys.get("heap")
        && (memory.kind != "heap" || memory.size.map(|s| s.to_string()).as_ref() != Some(&size[0]))
    {
        return Err(format!(
            "the memory is {} of size {:?}",
            memory.kind, memory.size
        ));
    }
    if let Some(kind) = expectation.keys.get("memory")
        && memory.kind != kind[0]
    {
        return Err(format!("the memory is {}", memory.kind));
    }
    if let Some(mark) = expectation.keys.get("alloc") {
        at(program, &memory.allocated, &mark[0]).map_err(|why| format!("allocated {why}"))?;
    }
    Ok(())
}

/// Whether the innermost frame of the program's own file is at the mark.
fn at(program: &Program, stack: &[SeenFrame], mark: &str) -> Result<(), String> {
    let line = own(stack, program.file_name())
        .first()
        .map(|frame| frame.line);
    if line.is_some() && line == program.line(mark) {
        return Ok(());
    }
    Err(format!(
        "at line {} instead of {mark}",
        line.map_or("?".to_owned(), |l| l.to_string())
    ))
}

fn stacks(program: &Program, expectation: &Expectation, seen: &Seen) -> Result<(), String> {
    let Some(lines) = expectation.keys.get("lines") else {
        return Ok(());
    };
    let mut left: Vec<&Vec<SeenFrame>> = seen.stacks.iter().collect();
    for mark in lines {
        let Some(index) = left
            .iter()
            .position(|stack| at(program, stack, mark).is_ok())
        else {
            return Err(format!("no stack is at {mark}"));
        };
        left.remove(index);
    }
    Ok(())
}

fn sides(
    program: &Program,
    expectation: &Expectation,
    accesses: [&SeenAccess; 2],
) -> Result<(), String> {
    side(program, expectation, accesses[0], 0)?;
    side(program, expectation, accesses[1], 1)
}

fn side(
    program: &Program,
    expectation: &Expectation,
    access: &SeenAccess,
    index: usize,
) -> Result<(), String> {
    let wanted = |key: &str| {
        expectation
            .keys
            .get(key)
            .and_then(|values| values.get(index))
    };
    if let Some(mark) = wanted("lines") {
        at(program, &access.stack, mark).map_err(|why| format!("the {} is {why}", access.op))?;
    }
    let own = own(&access.stack, program.file_name());
    let path = own
        .iter()
        .map(|frame| frame.function.as_str())
        .collect::<Vec<_>>()
        .join(">");
    for (key, got) in [
        ("op", Some(access.op.clone())),
        ("size", Some(access.size.to_string())),
        ("locks", access.locks.map(|locks| locks.to_string())),
        ("threads", Some(access.thread.clone())),
        ("path", Some(path)),
        ("depth", Some(own.len().to_string())),
    ] {
        if let (Some(wanted), Some(got)) = (wanted(key), got)
            && *wanted != got
        {
            return Err(format!(
                "{key} of access {} is {got} instead of {wanted}",
                index + 1
            ));
        }
    }
    Ok(())
}
