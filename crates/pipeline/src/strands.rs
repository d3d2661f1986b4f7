//! Who the strands are: where each was forked, and what the program said of it. For reports; those that ended long ago are
//! forgotten, so that a program can make threads for ever.

use std::collections::{BTreeMap, HashSet};

use deadheat_trace::Strand;
use deadheat_trace::wire::{StackNode, StackSet};
use serde_json::{Value, json};

/// Strands that have ended and are still known, more or less.
const KEPT: usize = 1 << 13;

/// What is known of a strand.
#[derive(Debug, Default)]
pub struct Known {
    /// By whom it was forked, and where.
    pub forked: Option<(Strand, StackNode)>,
    line: String,
    name: Option<Value>,
}

impl Known {
    /// The `thread` line that stands for it, if the program said one.
    pub fn line(&self) -> Option<Value> {
        let mut line: Value = serde_json::from_str(&self.line).ok()?;
        line["event"] = json!("thread");
        if let Some(name) = &self.name {
            line["name"] = name.clone();
        }
        Some(line)
    }
}

/// What is known of strands.
#[derive(Debug, Default)]
pub struct Strands {
    known: BTreeMap<Strand, Known>,
    living: HashSet<Strand>,
}

impl Strands {
    pub fn get(&self, strand: Strand) -> Option<&Known> {
        self.known.get(&strand)
    }

    /// A strand was forked. Its line may have come before, or comes later.
    pub fn forked(&mut self, child: Strand, parent: Strand, at: StackNode) {
        self.living.insert(child);
        let known = self.known.entry(child).or_default();
        known.forked = Some((parent, at));
    }

    /// It will do nothing more.
    pub fn ended(&mut self, strand: Strand) {
        self.living.remove(&strand);
        self.forget();
    }

    /// Adds the call stacks of all that is known.
    pub fn stacks(&self, used: &mut StackSet) {
        for (_, at) in self.known.values().filter_map(|known| known.forked) {
            used.add(at);
        }
    }

    /// The program said who it is.
    pub fn said(&mut self, strand: Strand, line: String) {
        self.known.entry(strand).or_default().line = line;
        self.forget();
    }

    pub fn named(&mut self, strand: Strand, name: &Value) {
        if let Some(known) = self.known.get_mut(&strand) {
            known.name = Some(name.clone());
        }
    }

    /// Forgets the first of those that have ended, or that never began, if there are many.
    fn forget(&mut self) {
        while self.known.len() > KEPT + self.living.len() {
            let ended = |strand: &&Strand| !self.living.contains(*strand) && strand.0 != 0;
            match self.known.keys().find(ended).copied() {
                Some(oldest) => self.known.remove(&oldest),
                None => break,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_for_ever_are_not_known_for_ever() {
        let mut strands = Strands::default();
        let line = |n: u32| json!({"event": "strand", "id": n, "name": ""}).to_string();
        for n in 1..100_000 {
            let strand = Strand(n);
            // The line and the fork come in any order.
            if n % 2 == 0 {
                strands.said(strand, line(n));
            }
            strands.forked(strand, Strand(0), StackNode(n));
            if n % 2 == 1 {
                strands.said(strand, line(n));
            }
            // Every ten thousandth lives on.
            if n % 10_000 != 0 {
                strands.ended(strand);
            }
        }
        assert!(strands.known.len() <= KEPT + 10);
        strands.named(Strand(10_000), &json!("old"));
        let old = strands.get(Strand(10_000)).and_then(Known::line);
        assert_eq!(
            old,
            Some(json!({"event": "thread", "id": 10_000, "name": "old"}))
        );
        assert!(strands.get(Strand(99_999)).is_some());
        assert!(strands.get(Strand(9_999)).is_none());
    }
}
