//! Format strings of `printf` and `scanf`: which arguments are read or written through, and how far.
//!
//! Arguments may be named by position, so a format is read as a whole first: what sort each argument is, and what is
//! done with it. Then the arguments are fetched in order.

use core::ffi::{c_char, c_void};

use crate::access::leave;
use crate::interpose::Call;
use crate::interpose::strings::length_up_to;
use crate::interpose::variadic::VaList;

/// Formats with more arguments than this are followed up to here.
const MOST: usize = 32;

/// A character of a format: a byte, or a wide one.
pub trait Unit: Copy {
    fn code(self) -> u32;
}

impl Unit for c_char {
    fn code(self) -> u32 {
        self as u8 as u32
    }
}

impl Unit for i32 {
    fn code(self) -> u32 {
        self as u32
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Absent,
    Word,
    Double,
    LongDouble,
}

/// How long the integer behind a `%n` or a `scanf` target is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Length {
    Char,
    Short,
    Int,
    Long,
    LongDouble,
}

impl Length {
    fn bytes(self) -> usize {
        match self {
            Length::Char => 1,
            Length::Short => 2,
            Length::Int => 4,
            Length::Long | Length::LongDouble => 8,
        }
    }
}

#[derive(Clone, Copy)]
enum Limit {
    None,
    Number(usize),
    Argument(usize),
}

#[derive(Clone, Copy)]
enum Use {
    ReadText(Limit),
    ReadWide(Limit),
    Write(usize),
}

/// What a format does with its arguments.
struct Plan {
    sorts: [Sort; MOST],
    count: usize,
    uses: [(usize, Use); MOST],
    used: usize,
}

impl Plan {
    fn argument(&mut self, at: usize, sort: Sort) {
        if at < MOST {
            self.sorts[at] = sort;
            self.count = self.count.max(at + 1);
        }
    }

    fn uses(&mut self, at: usize, what: Use) {
        if self.used < MOST && at < MOST {
            self.uses[self.used] = (at, what);
            self.used += 1;
        }
    }
}

/// Reads a format from its beginning.
struct Reader<U> {
    at: *const U,
}

impl<U: Unit> Reader<U> {
    fn peek(&self) -> u32 {
        // SAFETY: formats end with a zero, behind which nobody goes.
        unsafe { self.at.read_volatile() }.code()
    }

    fn skip(&mut self) {
        self.at = self.at.wrapping_add(1);
    }

    fn next(&mut self) -> u32 {
        let c = self.peek();
        if c != 0 {
            self.skip();
        }
        c
    }

    fn eat(&mut self, c: char) -> bool {
        let found = self.peek() == c as u32;
        if found {
            self.skip();
        }
        found
    }

    fn number(&mut self) -> Option<usize> {
        let mut value = None;
        while let digit @ 0x30..=0x39 = self.peek() {
            value = Some(
                value
                    .unwrap_or(0usize)
                    .saturating_mul(10)
                    .saturating_add(digit as usize - 0x30),
            );
            self.skip();
        }
        value
    }

    /// `12$`: a position, counted from 0. Goes back if it is none.
    fn position(&mut self) -> Option<usize> {
        let before = self.at;
        if let Some(n) = self.number()
            && n > 0
            && self.eat('$')
        {
            return Some(n - 1);
        }
        self.at = before;
        None
    }

    fn length(&mut self) -> Length {
        if self.eat('h') {
            return if self.eat('h') {
                Length::Char
            } else {
                Length::Short
            };
        }
        if self.eat('l') {
            return if self.eat('l') {
                Length::LongDouble
            } else {
                Length::Long
            };
        }
        for (c, length) in [
            ('L', Length::LongDouble),
            ('q', Length::LongDouble),
            ('j', Length::Long),
            ('z', Length::Long),
            ('t', Length::Long),
            ('Z', Length::Long),
        ] {
            if self.eat(c) {
                return length;
            }
        }
        Length::Int
    }
}

/// A width or precision of `*`, `*3$` or a number.
fn star<U: Unit>(format: &mut Reader<U>, plan: &mut Plan, next: &mut usize) -> Limit {
    if !format.eat('*') {
        return format.number().map_or(Limit::None, Limit::Number);
    }
    let at = format.position().unwrap_or_else(|| take(next));
    plan.argument(at, Sort::Word);
    Limit::Argument(at)
}

fn take(next: &mut usize) -> usize {
    *next += 1;
    *next - 1
}

fn plan_output<U: Unit>(format: *const U) -> Plan {
    let mut plan = Plan {
        sorts: [Sort::Absent; MOST],
        count: 0,
        uses: [(0, Use::Write(0)); MOST],
        used: 0,
    };
    let mut format = Reader { at: format };
    let mut next = 0;
    loop {
        match format.next() {
            0 => return plan,
            c if c == '%' as u32 => (),
            _ => continue,
        }
        let position = format.position();
        while ['-', '+', ' ', '#', '0', '\'', 'I']
            .into_iter()
            .any(|flag| format.eat(flag))
        {}
        star(&mut format, &mut plan, &mut next);
        let mut precision = Limit::None;
        if format.eat('.') {
            precision = match star(&mut format, &mut plan, &mut next) {
                Limit::None => Limit::Number(0),
                given => given,
            };
        }
        let length = format.length();
        let Some(what) = char::from_u32(format.next()) else {
            return plan;
        };
        if what == '%' || what == 'm' {
            continue;
        }
        let at = position.unwrap_or_else(|| take(&mut next));
        match what {
            'd' | 'i' | 'o' | 'u' | 'x' | 'X' | 'b' | 'B' | 'c' | 'C' | 'p' => {
                plan.argument(at, Sort::Word)
            }
            'a' | 'A' | 'e' | 'E' | 'f' | 'F' | 'g' | 'G' => {
                plan.argument(
                    at,
                    if length == Length::LongDouble {
                        Sort::LongDouble
                    } else {
                        Sort::Double
                    },
                );
            }
            's' | 'S' => {
                plan.argument(at, Sort::Word);
                let wide = what == 'S' || length == Length::Long;
                plan.uses(
                    at,
                    if wide {
                        Use::ReadWide(precision)
                    } else {
                        Use::ReadText(precision)
                    },
                );
            }
            'n' => {
                plan.argument(at, Sort::Word);
                plan.uses(at, Use::Write(length.bytes()));
            }
            // A conversion that the program has registered: its arguments cannot be known.
            _ => return plan,
        }
    }
}

/// Fetches the arguments.
unsafe fn fetch(plan: &Plan, args: *const VaList) -> [u64; MOST] {
    let mut values = [0; MOST];
    // SAFETY: the program's own list; a copy is walked, so the real function finds it as it was.
    let mut args = unsafe { *args };
    for (value, sort) in values.iter_mut().zip(plan.sorts).take(plan.count) {
        // SAFETY: the format promises these arguments.
        unsafe {
            match sort {
                Sort::Word | Sort::Absent => *value = args.word(),
                Sort::Double => args.skip_double(),
                Sort::LongDouble => args.skip_long_double(),
            }
        }
    }
    values
}

unsafe fn wide_length(p: *const i32, most: usize) -> usize {
    let mut n = 0;
    // SAFETY: the program's own string.
    while n < most && unsafe { p.add(n).read_volatile() } != 0 {
        n += 1;
    }
    n
}

impl Call {
    /// What a formatted output reads and writes: its format and its arguments.
    ///
    /// # Safety
    /// `format` and `args` must be what the program passed.
    pub unsafe fn formats<U: Unit>(&mut self, format: *const U, args: *const VaList) {
        let Some(s) = self.strand().filter(|_| !format.is_null()) else {
            return;
        };
        s.enter();
        // SAFETY: by the contract.
        unsafe { self.formats_inside(format, args) };
        self.leaves();
    }

    fn leaves(&mut self) {
        if let Some(s) = self.strand() {
            leave(s);
        }
    }

    unsafe fn formats_inside<U: Unit>(&mut self, format: *const U, args: *const VaList) {
        let mut end = Reader { at: format };
        while end.next() != 0 {}
        self.reads(
            format.cast(),
            end.at as usize - format as usize + size_of::<U>(),
        );
        let plan = plan_output(format);
        // SAFETY: by the contract.
        let values = unsafe { fetch(&plan, args) };
        let limit = |limit: Limit| match limit {
            Limit::None => usize::MAX,
            Limit::Number(n) => n,
            Limit::Argument(at) if at < MOST => {
                usize::try_from(values[at] as i32).unwrap_or(usize::MAX)
            }
            Limit::Argument(_) => 0,
        };
        for &(at, what) in &plan.uses[..plan.used] {
            let p = values[at] as *const c_void;
            if p.is_null() {
                continue;
            }
            // SAFETY: the format says what the argument points to.
            unsafe {
                match what {
                    Use::ReadText(most) => {
                        let most = limit(most);
                        let n = length_up_to(p.cast(), most);
                        self.reads(p, n.saturating_add(1).min(most));
                    }
                    Use::ReadWide(most) => {
                        let most = limit(most);
                        let n = wide_length(p.cast(), most);
                        self.reads(p, n.saturating_add(1).min(most) * 4);
                    }
                    Use::Write(n) => self.writes(p, n),
                }
            }
        }
    }

    /// What a formatted input that filled `filled` targets wrote, and that it read its format.
    ///
    /// # Safety
    /// `format` and `args` must be what the program passed, and the real function must have returned `filled`.
    pub unsafe fn scanned<U: Unit>(&mut self, format: *const U, args: *const VaList, filled: i32) {
        let Some(s) = self.strand().filter(|_| !format.is_null()) else {
            return;
        };
        s.enter();
        // SAFETY: by the contract.
        unsafe { self.scanned_inside(format, args, filled) };
        self.leaves();
    }

    unsafe fn scanned_inside<U: Unit>(
        &mut self,
        format: *const U,
        args: *const VaList,
        filled: i32,
    ) {
        let mut end = Reader { at: format };
        while end.next() != 0 {}
        self.reads(
            format.cast(),
            end.at as usize - format as usize + size_of::<U>(),
        );
        let (plan, targets, count) = plan_input(format);
        // SAFETY: by the contract.
        let values = unsafe { fetch(&plan, args) };
        let mut left = filled.max(0);
        for target in &targets[..count] {
            if target.counts {
                if left == 0 {
                    return;
                }
                left -= 1;
            }
            let mut p = values[target.at] as *const c_void;
            if p.is_null() {
                continue;
            }
            if target.allocated {
                self.writes(p, size_of::<usize>());
                // SAFETY: the real function has put the address of a fresh block there.
                p = unsafe { *p.cast::<*const c_void>() };
            }
            // SAFETY: the real function has written what the format says.
            let bytes = unsafe {
                match target.what {
                    Target::Bytes(n) => n,
                    Target::Text => length_up_to(p.cast(), usize::MAX) + 1,
                    Target::WideText => (wide_length(p.cast(), usize::MAX) + 1) * 4,
                }
            };
            self.writes(p, bytes);
        }
    }
}

#[derive(Clone, Copy)]
enum Target {
    Bytes(usize),
    Text,
    WideText,
}

#[derive(Clone, Copy)]
struct Assignment {
    at: usize,
    what: Target,
    /// Does it count in the result?
    counts: bool,
    allocated: bool,
}

fn plan_input<U: Unit>(format: *const U) -> (Plan, [Assignment; MOST], usize) {
    let mut plan = Plan {
        sorts: [Sort::Absent; MOST],
        count: 0,
        uses: [(0, Use::Write(0)); MOST],
        used: 0,
    };
    let mut targets = [Assignment {
        at: 0,
        what: Target::Text,
        counts: false,
        allocated: false,
    }; MOST];
    let mut count = 0;
    let mut format = Reader { at: format };
    let mut next = 0;
    loop {
        match format.next() {
            0 => return (plan, targets, count),
            c if c == '%' as u32 => (),
            _ => continue,
        }
        let position = format.position();
        let (mut dropped, mut allocated) = (false, false);
        loop {
            if format.eat('*') {
                dropped = true;
            } else if !format.eat('\'') && !format.eat('I') {
                break;
            }
        }
        let width = format.number();
        if format.eat('m') {
            allocated = true;
        }
        let length = format.length();
        let Some(what) = char::from_u32(format.next()) else {
            return (plan, targets, count);
        };
        let wide = length == Length::Long;
        let text = if wide { Target::WideText } else { Target::Text };
        let target = match what {
            '%' => continue,
            'd' | 'i' | 'o' | 'u' | 'x' | 'X' | 'n' => Target::Bytes(length.bytes()),
            'p' => Target::Bytes(8),
            'a' | 'A' | 'e' | 'E' | 'f' | 'F' | 'g' | 'G' => Target::Bytes(match length {
                Length::LongDouble => 16,
                Length::Long => 8,
                _ => 4,
            }),
            'c' => Target::Bytes(width.unwrap_or(1) * if wide { 4 } else { 1 }),
            'C' => Target::Bytes(width.unwrap_or(1) * 4),
            's' => text,
            'S' => Target::WideText,
            '[' => {
                // A set: a bracket right at its beginning belongs to it.
                format.eat('^');
                format.eat(']');
                while !matches!(format.next(), 0 | 0x5d) {}
                text
            }
            _ => return (plan, targets, count),
        };
        if dropped {
            continue;
        }
        let at = position.unwrap_or_else(|| take(&mut next));
        plan.argument(at, Sort::Word);
        if count < MOST && at < MOST {
            targets[count] = Assignment {
                at,
                what: target,
                counts: what != 'n',
                allocated,
            };
            count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(format: &str) -> Vec<(usize, &'static str)> {
        let text: Vec<c_char> = format.bytes().chain([0]).map(|b| b as c_char).collect();
        let plan = plan_output(text.as_ptr());
        plan.uses[..plan.used]
            .iter()
            .map(|&(at, what)| {
                (
                    at,
                    match what {
                        Use::ReadText(Limit::None) => "text",
                        Use::ReadText(Limit::Number(_)) => "text up to a number",
                        Use::ReadText(Limit::Argument(_)) => "text up to an argument",
                        Use::ReadWide(_) => "wide text",
                        Use::Write(4) => "int",
                        Use::Write(_) => "another",
                    },
                )
            })
            .collect()
    }

    #[test]
    fn formats_are_understood() {
        assert_eq!(described("%d %s %% %5.2f %s"), [(1, "text"), (3, "text")]);
        assert_eq!(
            described("%.*s %-*.3s %n"),
            [
                (1, "text up to an argument"),
                (3, "text up to a number"),
                (4, "int")
            ]
        );
        assert_eq!(
            described("%2$s %1$d %3$.*4$s"),
            [(1, "text"), (2, "text up to an argument")]
        );
        assert_eq!(
            described("%ls %lln %m %s"),
            [(0, "wide text"), (1, "another"), (2, "text")]
        );
        assert_eq!(described("%"), []);
    }

    #[test]
    fn targets_are_understood() {
        let text: Vec<c_char> = "%d %*s %[^]a] %3c %lf%n\0"
            .bytes()
            .map(|b| b as c_char)
            .collect();
        let (plan, targets, count) = plan_input(text.as_ptr());
        let sizes: Vec<usize> = targets[..count]
            .iter()
            .map(|t| match t.what {
                Target::Bytes(n) => n,
                Target::Text | Target::WideText => 0,
            })
            .collect();
        assert_eq!((plan.count, sizes), (5, vec![4, 0, 3, 8, 4]));
    }
}
