//! What is ordered before what among the operations of streams, and what the host knows to be done.
//!
//! One clock per stream: how many operations of each stream are ordered before its next one. Rules, from NVIDIA's
//! documentation:
//!
//! | call                              | orders                                                                  |
//! |-----------------------------------|-------------------------------------------------------------------------|
//! | any operation of a stream         | after what the host knows, and after the stream's earlier operations    |
//! | of the legacy default stream      | also after all earlier operations of blocking streams                   |
//! | of a blocking stream              | also after all earlier operations of the legacy default stream          |
//! | event record, then stream wait    | what was before the record, before what comes after the wait            |
//! | synchronizing calls               | what they wait for, before all that the host does and asks for later    |
//!
//! All host threads count as one: how they order each other cannot be seen from here, so nothing is reported that
//! depends on it. Streams made with `cudaStreamNonBlocking` are not blocking; per-thread default streams are.

/// Number of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId(pub usize);

pub const LEGACY: StreamId = StreamId(0);

/// How many operations of each stream are known to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clock(Vec<u64>);

impl Clock {
    fn get(&self, s: StreamId) -> u64 {
        self.0.get(s.0).copied().unwrap_or(0)
    }

    fn set(&mut self, s: StreamId, v: u64) {
        if self.0.len() <= s.0 {
            self.0.resize(s.0 + 1, 0);
        }
        self.0[s.0] = v;
    }

    fn join(&mut self, other: &Clock) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a = (*a).max(*b);
        }
    }
}

#[derive(Clone, Debug)]
struct Stream {
    blocking: bool,
    ticks: u64,
    clock: Clock,
}

/// One operation's place in the order.
#[derive(Clone, Debug)]
pub struct Stamp {
    pub stream: StreamId,
    tick: u64,
    start: Clock,
}

impl Stamp {
    /// Is this operation ordered before the other?
    pub fn before(&self, other: &Stamp) -> bool {
        other.start.get(self.stream) >= self.tick
    }
}

/// The order so far.
#[derive(Clone, Debug)]
pub struct Order {
    streams: Vec<Stream>,
    host: Clock,
}

impl Default for Order {
    fn default() -> Self {
        Order {
            streams: vec![Stream {
                blocking: true,
                ticks: 0,
                clock: Clock::default(),
            }],
            host: Clock::default(),
        }
    }
}

impl Order {
    /// A new stream.
    pub fn add(&mut self, blocking: bool) -> StreamId {
        self.streams.push(Stream {
            blocking,
            ticks: 0,
            clock: Clock::default(),
        });
        StreamId(self.streams.len() - 1)
    }

    pub fn blocking(&self, s: StreamId) -> bool {
        self.streams[s.0].blocking
    }

    /// What is ordered before the next operation of a stream.
    fn start(&self, s: StreamId) -> Clock {
        let mut c = self.host.clone();
        c.join(&self.streams[s.0].clock);
        if s == LEGACY {
            for other in self.streams.iter().filter(|o| o.blocking) {
                c.join(&other.clock);
            }
        } else if self.streams[s.0].blocking {
            c.join(&self.streams[LEGACY.0].clock);
        }
        c
    }

    /// The next operation of a stream.
    pub fn operation(&mut self, s: StreamId) -> Stamp {
        let start = self.start(s);
        let st = &mut self.streams[s.0];
        st.ticks += 1;
        st.clock = start.clone();
        st.clock.set(s, st.ticks);
        Stamp {
            stream: s,
            tick: st.ticks,
            start,
        }
    }

    /// What an event recorded now stands for. In the legacy stream the record waits for blocking streams, and they
    /// for it.
    pub fn record(&mut self, s: StreamId) -> Clock {
        let c = self.start(s);
        self.streams[s.0].clock = c.clone();
        c
    }

    /// A stream waits for an event.
    pub fn wait(&mut self, s: StreamId, event: &Clock) {
        let mut c = self.start(s);
        c.join(event);
        self.streams[s.0].clock = c;
    }

    /// The host has waited for an event.
    pub fn learn(&mut self, event: &Clock) {
        self.host.join(event);
    }

    /// The host has been told of an operation by what it wrote.
    pub fn learn_of(&mut self, op: &Stamp) {
        self.host.join(&op.start);
        if self.host.get(op.stream) < op.tick {
            self.host.set(op.stream, op.tick);
        }
    }

    /// The host has waited for a stream.
    pub fn synchronize(&mut self, s: StreamId) {
        let c = self.start(s);
        self.host.join(&c);
    }

    /// The host has waited for everything.
    pub fn synchronize_all(&mut self) {
        for s in &self.streams {
            self.host.join(&s.clock);
        }
    }

    /// Does the host know that this operation is done?
    pub fn host_knows(&self, op: &Stamp) -> bool {
        self.host.get(op.stream) >= op.tick
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same rules as edges between everything that ever happened, and reachability.
    #[derive(Default)]
    struct Naive {
        /// Predecessors of each node.
        before: Vec<Vec<usize>>,
        /// Last node of each stream, and of the host.
        last: Vec<Option<usize>>,
        blocking: Vec<bool>,
        host: Vec<usize>,
    }

    impl Naive {
        fn node(&mut self, s: usize, more: &[usize]) -> usize {
            let mut p: Vec<usize> = self.host.clone();
            p.extend(self.last[s]);
            p.extend(more);
            if s == 0 {
                let all = self.last.iter().zip(&self.blocking);
                p.extend(all.filter(|(_, b)| **b).filter_map(|(l, _)| *l));
            } else if self.blocking[s] {
                p.extend(self.last[0]);
            }
            self.before.push(p);
            self.last[s] = Some(self.before.len() - 1);
            self.before.len() - 1
        }

        fn reaches(&self, a: usize, b: usize) -> bool {
            a != b
                && (self.before[b].contains(&a)
                    || self.before[b].iter().any(|p| self.reaches(a, *p)))
        }
    }

    #[test]
    fn clocks_agree_with_reachability_on_random_programs() {
        let mut seed = 99u64;
        let mut random = |below: usize| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed % below as u64) as usize
        };
        for _ in 0..600 {
            let mut o = Order::default();
            let mut n = Naive {
                last: vec![None],
                blocking: vec![true],
                ..Naive::default()
            };
            for _ in 0..3 {
                let b = random(2) == 0;
                o.add(b);
                n.blocking.push(b);
                n.last.push(None);
            }
            let mut ops: Vec<(Stamp, usize)> = Vec::new();
            let mut events: Vec<(Clock, usize)> = Vec::new();
            for _ in 0..14 {
                let s = random(4);
                match random(8) {
                    0..=3 => ops.push((o.operation(StreamId(s)), n.node(s, &[]))),
                    4 => events.push((o.record(StreamId(s)), n.node(s, &[]))),
                    5 if !events.is_empty() => {
                        let (c, e) = &events[random(events.len())];
                        o.wait(StreamId(s), c);
                        n.node(s, &[*e]);
                    }
                    6 if !events.is_empty() => {
                        let (c, e) = &events[random(events.len())];
                        o.learn(c);
                        n.host.push(*e);
                    }
                    7 if random(3) == 0 => {
                        o.synchronize(StreamId(s));
                        let k = n.node(s, &[]);
                        n.host.push(k);
                    }
                    _ => {}
                }
            }
            for (i, (a, x)) in ops.iter().enumerate() {
                for (b, y) in &ops[i + 1..] {
                    assert_eq!(a.before(b), n.reaches(*x, *y));
                    assert!(!b.before(a));
                }
                assert_eq!(
                    o.host_knows(a),
                    n.host.iter().any(|h| *h == *x || n.reaches(*x, *h))
                );
            }
        }
    }
}
