//! The taking side: reads the streams of all strands, and gives their frames back.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use deadheat_trace::Strand;
use deadheat_trace::wire::{Next, StackNode, StackSet, is_access, stack_of, with_stack, words_of};

use crate::calls::Calls;
use crate::layout::{Arena, FRAME_WORDS, FRAMES, FrameHeader};
use crate::map::Shared;

/// How long the taker sleeps when it has seen everything: this is how late it can be.
const NAP: Duration = Duration::from_micros(300);

/// More words than these are not read before anybody asks for them.
const MOST_AHEAD: usize = 1 << 17;

/// Where the taker is in a stream.
#[derive(Clone, Copy, Debug)]
enum At {
    Frame { frame: u32, word: usize },
    End,
}

/// Reads an arena. There is one taker for each.
#[derive(Debug)]
pub struct Taker {
    shared: Shared,
    /// Those that were met and have not ended.
    strands: HashMap<Strand, At>,
    calls: Calls,
    /// What was read before anybody asked for it, and how many words that is.
    ahead: HashMap<Strand, Vec<u64>>,
    words_ahead: usize,
    /// The program is gone: what is not there will never come.
    over: bool,
    /// Frames that were read and given back.
    pub frames: u64,
}

impl Taker {
    pub fn new(shared: Shared) -> Taker {
        Taker {
            shared,
            strands: HashMap::new(),
            calls: Calls::default(),
            ahead: HashMap::new(),
            words_ahead: 0,
            over: false,
            frames: 0,
        }
    }

    pub fn arena(&self) -> Arena {
        self.shared.arena()
    }

    /// The program is gone.
    pub fn over(&mut self) {
        self.over = true;
    }

    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Adds what comes next in the strand's stream to `out`: whole items, at most a frame of them. Whoever asks again after
    /// the end is told that there is nothing yet.
    pub fn next(&mut self, strand: Strand, out: &mut Vec<u64>) -> Next {
        self.note_stacks();
        if let Some(words) = self.ahead.remove(&strand) {
            self.words_ahead -= words.len();
            out.extend_from_slice(&words);
            return Next::Some;
        }
        let next = self.read(strand, out);
        if next == Next::End && !self.over {
            // It is told once; the strand's number never comes again.
            self.strands.remove(&strand);
        }
        next
    }

    fn read(&mut self, strand: Strand, out: &mut Vec<u64>) -> Next {
        let arena = self.arena();
        let Some(mut at) = self.position(strand) else {
            return if self.over { Next::End } else { Next::NotYet };
        };
        let result = loop {
            let At::Frame { frame, word } = at else {
                break Next::End;
            };
            let header = arena.frame(frame);
            // Read before the words: if there is a successor, the words are all there.
            let (next, ended) = (
                header.next.load(Ordering::Acquire),
                header.ended.load(Ordering::Acquire) != 0,
            );
            let read = read_items(&arena, frame, word, &mut self.calls, out);
            at = At::Frame {
                frame,
                word: word + read,
            };
            if read > 0 {
                break Next::Some;
            }
            if next != 0 {
                self.free(frame, word);
                at = At::Frame {
                    frame: (next - 1) % FRAMES as u32,
                    word: 0,
                };
            } else if ended {
                self.free(frame, word);
                at = At::End;
            } else {
                break if self.over { Next::End } else { Next::NotYet };
            }
        };
        self.strands.insert(strand, at);
        result
    }

    /// Where the strand is. The place of its first frame is for another strand from here on.
    fn position(&mut self, strand: Strand) -> Option<At> {
        if let Some(at) = self.strands.get(&strand) {
            return Some(*at);
        }
        let arena = self.arena();
        let first = arena.first(strand.0);
        let frame = first.load(Ordering::Acquire).checked_sub(1)? % FRAMES as u32;
        if arena.frame(frame).strand.load(Ordering::Relaxed) != strand.0 {
            return None;
        }
        first.store(0, Ordering::Release);
        let at = At::Frame { frame, word: 0 };
        self.strands.insert(strand, at);
        Some(at)
    }

    /// If the program has let go of numbers of call stacks: reads all that it has written until now, where they stand for what
    /// they stood for, and tells it so.
    fn note_stacks(&mut self) {
        let arena = self.arena();
        let header = arena.header();
        let let_go = header.let_go.load(Ordering::Acquire);
        if let_go == header.noted.load(Ordering::Relaxed) {
            return;
        }
        // Frames that are read can be filled again. So that the program waits for a checker that is behind, and not for ever more
        // of our memory, what was read must come to be checked before more is.
        if self.words_ahead > MOST_AHEAD {
            return;
        }
        let most = header.taken.load(Ordering::Acquire) as usize * FRAME_WORDS;
        // Those that were never asked for, too.
        let owner = |frame| Strand(arena.frame(frame).strand.load(Ordering::Relaxed));
        let mut strands: Vec<Strand> = (0..arena.used()).map(owner).collect();
        strands.extend(self.strands.keys());
        strands.sort_unstable();
        strands.dedup();
        for strand in strands {
            let mut words = self.ahead.remove(&strand).unwrap_or_default();
            // A strand goes on writing meanwhile, perhaps as fast as we read: no more than there can have been is waited for.
            let before = words.len();
            while words.len() < before + most && self.read(strand, &mut words) == Next::Some {}
            self.words_ahead += words.len() - before;
            if !words.is_empty() {
                self.ahead.insert(strand, words);
            }
        }
        self.calls.numbers_are_new();
        header.noted.store(let_go, Ordering::Release);
        if header.waiters.load(Ordering::SeqCst) > 0 {
            self.wake();
        }
    }

    /// Empties a frame that was read to its end, so many words, and lets the program have it again.
    fn free(&mut self, frame: u32, words: usize) {
        let arena = self.arena();
        let header: *const FrameHeader = arena.frame(frame);
        let words = match words < FRAME_WORDS && word(&arena, frame, words) != 0 {
            // That was no item: whoever has overwritten it may have written anywhere.
            true => FRAME_WORDS,
            false => words.min(FRAME_WORDS),
        };
        let used = words + size_of::<FrameHeader>() / 8;
        // SAFETY: the strand has left the frame for its successor, or has ended; until it is given back nobody else has it. What lies
        // behind the words that were read was never written.
        unsafe { std::ptr::write_bytes(header.cast_mut().cast::<u64>(), 0, used) };
        self.frames += 1;
        if arena.give_back(frame) && arena.has_room() {
            self.wake();
        }
    }

    /// Wakes whoever waits for frames.
    fn wake(&self) {
        let arena = self.arena();
        arena.header().wake.fetch_add(1, Ordering::AcqRel);
        wake_all(&arena);
    }

    /// The caller of a call stack and its innermost program counter. The number is one that [`Self::next`] gave: ours, not the
    /// program's.
    pub fn node(&self, node: StackNode) -> Option<(StackNode, u64)> {
        self.calls.node(node)
    }

    /// Whether there are so many call stacks that those nobody needs should go, if to find them takes a look at so many pages.
    pub fn stacks_due(&self, pages: usize) -> bool {
        self.calls.is_due(pages)
    }

    /// Forgets the call stacks that nobody has, if `used` are those of all that [`Self::next`] has given.
    pub fn keep_stacks(&mut self, mut used: StackSet) {
        for words in self.ahead.values() {
            used.add_words(words);
        }
        self.calls.keep(&used);
    }

    /// Lets the program run for a moment.
    pub fn nap(&mut self) {
        if self.over {
            return;
        }
        self.note_stacks();
        let arena = self.arena();
        if arena.header().waiters.load(Ordering::SeqCst) > 0 && !arena.is_short() {
            self.wake();
        }
        std::thread::sleep(NAP);
    }
}

/// Adds the whole items of a frame from word `from` on, with call stacks by our numbers; how many words they are.
fn read_items(
    arena: &Arena,
    frame: u32,
    from: usize,
    calls: &mut Calls,
    out: &mut Vec<u64>,
) -> usize {
    let words = arena.words(frame).cast::<AtomicU64>();
    // SAFETY: the words of the frame, which are written only as atomics while we read them.
    let words = unsafe { std::slice::from_raw_parts(words.cast_const(), FRAME_WORDS) };
    let before = out.len();
    let mut at = from;
    out.reserve(FRAME_WORDS.saturating_sub(from));
    while at < FRAME_WORDS {
        let first = words[at].load(Ordering::Acquire);
        if is_access(first) {
            out.push(first);
            at += 1;
            continue;
        }
        if first == 0 {
            break;
        }
        let count = words_of(first);
        if at + count > FRAME_WORDS {
            break;
        }
        out.push(match stack_of(first) {
            Some(stack) => with_stack(first, calls.ours(stack, arena)),
            None => first,
        });
        // Written before the first word, which was read before these.
        out.extend(
            words[at + 1..at + count]
                .iter()
                .map(|w| w.load(Ordering::Relaxed)),
        );
        at += count;
    }
    out.len() - before
}

/// A word of a frame.
fn word(arena: &Arena, frame: u32, at: usize) -> u64 {
    debug_assert!(at < FRAME_WORDS);
    // SAFETY: inside the words of the frame, which are written only as atomics while we read them.
    unsafe { &*arena.words(frame).cast::<AtomicU64>().add(at) }.load(Ordering::Relaxed)
}

fn wake_all(arena: &Arena) {
    const FUTEX_WAKE: i64 = 1;
    let word: *const _ = &arena.header().wake;
    // SAFETY: the kernel only uses the address as a key; the word is mapped.
    unsafe { nix::libc::syscall(nix::libc::SYS_futex, word, FUTEX_WAKE, i32::MAX, 0, 0, 0) };
}
