//! Lines of the program's source, if they can still be found.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// No source file a person wrote is larger.
const LIMIT: u64 = 16 << 20;
const TAB: usize = 4;

/// Finds and keeps source files.
pub struct Sources {
    roots: Vec<PathBuf>,
    files: RefCell<HashMap<String, Option<Rc<Vec<String>>>>>,
}

/// A few lines around one that matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    pub lines: Vec<Line>,
    /// Caret position in the marked line, counting from 0 in shown characters.
    pub caret: Option<usize>,
}

/// One line of an excerpt, with tabs expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub number: u32,
    pub text: String,
    pub marked: bool,
}

impl Sources {
    /// `roots` are folders that relative paths are tried in, and below which moved files are looked for.
    pub fn new(roots: Vec<PathBuf>) -> Sources {
        Sources {
            roots,
            files: RefCell::new(HashMap::new()),
        }
    }

    /// Lines `before` and `after` the given one; nothing if the file cannot be found or is too short.
    pub fn excerpt(
        &self,
        file: &str,
        line: u32,
        column: Option<u32>,
        around: u32,
    ) -> Option<Excerpt> {
        let lines = self.file(file)?;
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        let marked = lines.get(index)?;
        let around = around as usize;
        let mut first = index.saturating_sub(around);
        let mut last = (index + around).min(lines.len() - 1);
        // Blank lines at the edges tell nothing.
        while first < index && lines.get(first).is_some_and(|text| text.trim().is_empty()) {
            first += 1;
        }
        while last > index && lines.get(last).is_some_and(|text| text.trim().is_empty()) {
            last -= 1;
        }
        let caret = column.and_then(|column| {
            let before = usize::try_from(column).ok()?.checked_sub(1)?;
            let prefix = marked.get(..before)?;
            Some(expand(prefix).chars().count())
        });
        let lines = (first..=last)
            .filter_map(|at| {
                Some(Line {
                    number: u32::try_from(at + 1).ok()?,
                    text: expand(lines.get(at)?),
                    marked: at == index,
                })
            })
            .collect();
        Some(Excerpt { lines, caret })
    }

    fn file(&self, path: &str) -> Option<Rc<Vec<String>>> {
        if let Some(known) = self.files.borrow().get(path) {
            return known.clone();
        }
        let loaded = self
            .candidates(path)
            .iter()
            .find_map(|path| read(path))
            .map(Rc::new);
        self.files
            .borrow_mut()
            .insert(path.to_owned(), loaded.clone());
        loaded
    }

    /// The path as it is, then its ever shorter tails below the roots: a tree may have been moved since it was built.
    fn candidates(&self, path: &str) -> Vec<PathBuf> {
        let given = Path::new(path);
        let mut out = Vec::new();
        if given.is_absolute() {
            out.push(given.to_owned());
        }
        for root in &self.roots {
            let mut tail = given.strip_prefix("/").unwrap_or(given);
            loop {
                if tail.as_os_str().is_empty() {
                    break;
                }
                out.push(root.join(tail));
                let mut parts = tail.components();
                parts.next();
                tail = parts.as_path();
            }
        }
        out
    }
}

fn read(path: &Path) -> Option<Vec<String>> {
    let about = std::fs::metadata(path).ok()?;
    if !about.is_file() || about.len() > LIMIT {
        return None;
    }
    let bytes = std::fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    Some(text.lines().map(str::to_owned).collect())
}

/// Tabs become spaces, other control characters a dot: a source file must not steer the terminal.
fn expand(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut width = 0;
    for c in text.chars() {
        match c {
            '\t' => {
                let step = TAB - width % TAB;
                out.extend(std::iter::repeat_n(' ', step));
                width += step;
            }
            c if c.is_control() => {
                out.push('.');
                width += 1;
            }
            c => {
                out.push(c);
                width += 1;
            }
        }
    }
    out
}
