//! The order in which locks are taken: a cycle in it is a deadlock that only waits for its schedule.
//!
//! Idea: Havelund, "Using runtime analysis to guide model checking of Java programs" (the GoodLock algorithm), SPIN 2000.
//! Guarantee: a reported cycle has, for each of its edges, an observed acquisition; all by different threads, with no
//! lock held in common by two of them (a gate would keep them apart), and with no lock of the cycle only read by both.
//! Not reported: cycles that only one thread makes, and edges into a lock that was got without waiting.
//! Bounded: edges, instances of an edge, and steps of one search; what is over is counted as lost.
//!
//! | word     | meaning                                                               |
//! |----------|-----------------------------------------------------------------------|
//! | edge     | somebody took B while holding A                                       |
//! | instance | one such taking: by whom, where, with which other locks held (gates)  |

use hashbrown::HashTable;
use std_alloc::vec::Vec;

use crate::finding;
use crate::intern::{LockSetId, StackId};
use crate::locks::Mode;
use crate::loss::Loss;
use crate::marks::Named;
use crate::misuse::{self, Line};
use crate::runtime::Runtime;
use crate::strand::Strand;
use crate::sync::{Locked, SpinLock};
use crate::syncvar::SyncId;
use crate::threads::ThreadId;

const MOST_EDGES: usize = 1 << 18;
const MOST_INSTANCES: usize = 6;
const MOST_STEPS: usize = 20_000;
const LONGEST: usize = 64;

/// One observed taking of a lock while another was held.
#[derive(Clone, Copy)]
struct Instance {
    thread: ThreadId,
    /// Where the held lock was taken, and how.
    held_at: StackId,
    held: Mode,
    /// Where the other was taken, and how.
    taken_at: StackId,
    taken: Mode,
    /// All that was held then.
    gates: LockSetId,
}

struct Edge {
    to: SyncId,
    instances: Vec<Instance>,
}

struct Node {
    lock: SyncId,
    /// By where they go: a lock that is held all the time has one to each other lock.
    edges: HashTable<Edge>,
    /// Locks with an edge to this one, so that it can be taken out of the graph.
    from: Vec<SyncId>,
}

/// One edge of a cycle, as chosen by the search.
#[derive(Clone, Copy)]
struct Link {
    from: SyncId,
    to: SyncId,
    by: Instance,
}

#[derive(Default)]
struct Graph {
    nodes: HashTable<Node>,
    edges: usize,
}

/// The order in which locks were taken so far.
pub struct LockOrder {
    graph: Locked<Graph>,
}

fn hash(lock: SyncId) -> u64 {
    (lock.0 as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl Graph {
    fn node(&mut self, lock: SyncId) -> &mut Node {
        self.nodes
            .entry(hash(lock), |n| n.lock == lock, |n| hash(n.lock))
            .or_insert_with(|| Node {
                lock,
                edges: HashTable::new(),
                from: Vec::new(),
            })
            .into_mut()
    }

    fn existing(&self, lock: SyncId) -> Option<&Node> {
        self.nodes.find(hash(lock), |n| n.lock == lock)
    }

    fn edges(&self, lock: SyncId) -> impl Iterator<Item = &Edge> {
        let node = self.existing(lock);
        node.into_iter().flat_map(|node| &node.edges)
    }

    /// Adds an instance; true if it can make a cycle that was not there before.
    fn add(&mut self, rt: &Runtime, from: SyncId, to: SyncId, new: Instance) -> bool {
        let full = self.edges >= MOST_EDGES;
        let node = self.node(from);
        if let Some(edge) = node.edges.find_mut(hash(to), |e| e.to == to) {
            let same = |i: &Instance| {
                i.thread == new.thread
                    && i.gates == new.gates
                    && i.held == new.held
                    && i.taken == new.taken
            };
            if edge.instances.iter().any(same) {
                return false;
            }
            if edge.instances.len() < MOST_INSTANCES {
                edge.instances.push(new);
                return true;
            }
            // A thread that is not there yet tells more than one more way of a thread that is.
            if edge.instances.iter().any(|i| i.thread == new.thread) {
                return true;
            }
            let twice = (1..edge.instances.len()).find(|&i| {
                edge.instances[..i]
                    .iter()
                    .any(|o| o.thread == edge.instances[i].thread)
            });
            if let Some(i) = twice {
                edge.instances[i] = new;
            }
            return true;
        }
        if full {
            rt.losses.count(Loss::LockOrder);
            return false;
        }
        let edge = Edge {
            to,
            instances: std_alloc::vec![new],
        };
        node.edges.insert_unique(hash(to), edge, |e| hash(e.to));
        self.edges += 1;
        self.node(to).from.push(from);
        true
    }

    /// How many locks can be reached from `start`; none if `goal` is not among them.
    fn reaches(&self, start: SyncId, goal: SyncId) -> Option<usize> {
        // Most locks are always the first or always the last ones taken.
        let first = self.existing(goal).is_none_or(|node| node.from.is_empty());
        let last = self.edges(start).next().is_none();
        if start != goal && (first || last) {
            return None;
        }
        let mut seen: HashTable<SyncId> = HashTable::new();
        let mut todo = std_alloc::vec![start];
        let mut reached = false;
        seen.insert_unique(hash(start), start, |&l| hash(l));
        while let Some(at) = todo.pop() {
            reached |= at == goal;
            for edge in self.edges(at) {
                if seen.find(hash(edge.to), |&l| l == edge.to).is_none() {
                    seen.insert_unique(hash(edge.to), edge.to, |&l| hash(l));
                    todo.push(edge.to);
                }
            }
        }
        if reached { Some(seen.len()) } else { None }
    }

    /// Continues `path` to its own start with at most `more` edges.
    fn close(&self, rt: &Runtime, path: &mut Vec<Link>, more: usize, steps: &mut usize) -> bool {
        let (Some(first), Some(last)) = (path.first().copied(), path.last().copied()) else {
            return false;
        };
        for edge in self.edges(last.to) {
            let closes = edge.to == first.from;
            if !closes && (more <= 1 || path.iter().any(|l| l.from == edge.to || l.to == edge.to)) {
                continue;
            }
            for &by in &edge.instances {
                *steps += 1;
                if *steps > MOST_STEPS {
                    return false;
                }
                if !can_follow(rt, path, last, by)
                    || (closes && by.taken == Mode::Shared && first.by.held == Mode::Shared)
                {
                    continue;
                }
                path.push(Link {
                    from: last.to,
                    to: edge.to,
                    by,
                });
                if closes || self.close(rt, path, more - 1, steps) {
                    return true;
                }
                path.pop();
            }
        }
        false
    }
}

/// Can `by` wait together with all of `path`? Not if it is one of their threads, if it only reads what the last one
/// only reads, or if a lock held in common keeps them apart.
fn can_follow(rt: &Runtime, path: &[Link], last: Link, by: Instance) -> bool {
    if last.by.taken == Mode::Shared && by.held == Mode::Shared {
        return false;
    }
    path.iter()
        .all(|link| link.by.thread != by.thread && !share_a_gate(rt, link.by.gates, by.gates))
}

fn share_a_gate(rt: &Runtime, a: LockSetId, b: LockSetId) -> bool {
    rt.lock_sets.iter(a).any(|x| {
        rt.lock_sets
            .iter(b)
            .any(|y| x.lock == y.lock && (x.mode == Mode::Exclusive || y.mode == Mode::Exclusive))
    })
}

impl LockOrder {
    pub const fn new() -> Self {
        LockOrder {
            graph: Locked::new(Graph {
                nodes: HashTable::new(),
                edges: 0,
            }),
        }
    }

    /// Adds one taking, and looks for the shortest cycle that it closes.
    fn add(&self, rt: &Runtime, from: SyncId, to: SyncId, new: Instance) -> Option<Vec<Link>> {
        let mut graph = self.graph.lock();
        if !graph.add(rt, from, to, new) {
            return None;
        }
        let reachable = graph.reaches(to, from)?;
        let mut steps = 0;
        for longest in 2..=reachable.min(LONGEST) {
            let mut path = std_alloc::vec![Link { from, to, by: new }];
            if graph.close(rt, &mut path, longest - 1, &mut steps) {
                return Some(path);
            }
            if steps > MOST_STEPS {
                rt.losses.count(Loss::LockOrder);
                return None;
            }
        }
        None
    }

    fn forget(&self, lock: SyncId) {
        let mut graph = self.graph.lock();
        let Ok(found) = graph.nodes.find_entry(hash(lock), |n| n.lock == lock) else {
            return;
        };
        let (node, _) = found.remove();
        graph.edges -= node.edges.len();
        for edge in &node.edges {
            if let Some(to) = graph.nodes.find_mut(hash(edge.to), |n| n.lock == edge.to) {
                to.from.retain(|&l| l != lock);
            }
        }
        for from in node.from {
            let mut gone = 0;
            if let Some(from) = graph.nodes.find_mut(hash(from), |n| n.lock == from) {
                let before = from.edges.len();
                from.edges.retain(|e| e.to != lock);
                gone = before - from.edges.len();
            }
            graph.edges -= gone;
        }
    }

    /// Marks all that the orders name.
    pub fn mark(&self, rt: &Runtime, named: &mut Named) {
        for node in &self.graph.lock().nodes {
            named.sync(node.lock);
            for by in node.edges.iter().flat_map(|edge| &edge.instances) {
                named.thread(by.thread);
                named.stack(rt, by.held_at);
                named.stack(rt, by.taken_at);
                named.set(rt, by.gates);
            }
        }
    }

    /// Calls `f` for each lock that is held over a fork.
    pub fn each_lock(&self, f: &dyn Fn(&SpinLock)) {
        f(self.graph.spin());
    }

    /// # Safety
    /// No other thread may exist.
    pub unsafe fn after_fork(&self) {
        // SAFETY: by the contract.
        unsafe { self.graph.force_unlock() };
    }
}

impl Default for LockOrder {
    fn default() -> Self {
        LockOrder::new()
    }
}

/// `s`, holding `before`, waited for `lock` and has it now.
#[cold]
#[inline(never)]
pub fn took_while_holding(
    rt: &Runtime,
    s: &mut Strand,
    before: LockSetId,
    lock: SyncId,
    taken: Mode,
    taken_at: StackId,
) {
    let held: Vec<_> = rt.lock_sets.iter(before).collect();
    for held in held {
        if held.lock == lock {
            continue;
        }
        let new = Instance {
            thread: s.thread,
            held_at: held.taken_at,
            held: held.mode,
            taken_at,
            taken,
            gates: before,
        };
        if let Some(cycle) = rt.lock_order.add(rt, held.lock, lock, new) {
            report(rt, s, &cycle);
        }
    }
}

/// The lock is gone, and with it its place in the order.
pub fn forget(rt: &Runtime, lock: SyncId) {
    if lock != SyncId(0) {
        rt.lock_order.forget(lock);
    }
}

/// `M7` for lock 7, in front of other words.
pub fn label(parts: &[&str], locks: &[SyncId]) -> Vec<u8> {
    let mut out = Vec::new();
    for (i, part) in parts.iter().enumerate() {
        out.extend_from_slice(part.as_bytes());
        if let Some(lock) = locks.get(i) {
            out.push(b'M');
            let mut digits = crate::json::Json::new();
            digits.number(lock.0 as u64);
            out.extend_from_slice(&digits.bytes);
        }
    }
    out
}

fn report(rt: &Runtime, s: &mut Strand, cycle: &[Link]) {
    let mut places: Vec<u64> = cycle
        .iter()
        .flat_map(|l| [l.by.held_at, l.by.taken_at].map(|stack| rt.stacks.signature(stack)))
        .collect();
    places.sort_unstable();
    places.push(0x10c0);
    let labels: Vec<_> = cycle
        .iter()
        .map(|l| {
            (
                label(&["took "], &[l.from]),
                label(&["took ", " while holding "], &[l.to, l.from]),
            )
        })
        .collect();
    finding::report(
        rt,
        s,
        "lock-order-inversion",
        finding::key(&places),
        |out, threads| {
            let mut lines = Vec::new();
            for (link, (first, second)) in cycle.iter().zip(&labels) {
                threads.push(link.by.thread);
                lines.push(Line {
                    label: first,
                    thread: link.by.thread,
                    stack: link.by.held_at,
                    lock: link.from,
                });
                lines.push(Line {
                    label: second,
                    thread: link.by.thread,
                    stack: link.by.taken_at,
                    lock: link.to,
                });
            }
            misuse::stacks(rt, out, &lines);
            let ids: Vec<_> = cycle.iter().map(|l| l.from).collect();
            misuse::locks(rt, out, &ids);
            out.key("text").text("each thread takes its second lock while it holds its first; if they do so at once, all of them wait for ever");
        },
    );
}
