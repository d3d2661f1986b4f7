//! The taking side: reads the streams of all strands, and gives their frames back.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use deadheat_trace::Strand;
use deadheat_trace::wire::{Next, StackNode, words_of};

use crate::layout::{Arena, FRAME_WORDS, FRAMES, FrameHeader};
use crate::map::Shared;

/// How long the taker sleeps when it has seen everything: this is how late it can be.
const NAP: Duration = Duration::from_micros(300);

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
    strands: HashMap<Strand, At>,
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

    /// Adds what comes next in the strand's stream to `out`: whole items, at most a frame of them.
    pub fn next(&mut self, strand: Strand, out: &mut Vec<u64>) -> Next {
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
            let read = read_items(&arena, frame, word, out);
            at = At::Frame {
                frame,
                word: word + read,
            };
            if read > 0 {
                break Next::Some;
            }
            if next != 0 {
                self.free(frame);
                at = At::Frame {
                    frame: (next - 1) % FRAMES as u32,
                    word: 0,
                };
            } else if ended {
                self.free(frame);
                at = At::End;
            } else {
                break if self.over { Next::End } else { Next::NotYet };
            }
        };
        self.strands.insert(strand, at);
        result
    }

    fn position(&self, strand: Strand) -> Option<At> {
        if let Some(at) = self.strands.get(&strand) {
            return Some(*at);
        }
        let first = self.arena().first(strand.0)?.load(Ordering::Acquire);
        let frame = first.checked_sub(1)? % FRAMES as u32;
        Some(At::Frame { frame, word: 0 })
    }

    /// Empties a frame that was read to its end and lets the program have it again.
    fn free(&mut self, frame: u32) {
        let arena = self.arena();
        let header: *const FrameHeader = arena.frame(frame);
        // SAFETY: the strand has left the frame for its successor, or has ended; until it is given back nobody else has it.
        unsafe {
            let start = header.cast_mut().cast::<u64>();
            std::ptr::write_bytes(start, 0, FRAME_WORDS + size_of::<FrameHeader>() / 8);
        }
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

    /// The caller of a call stack and its innermost program counter.
    pub fn node(&self, node: StackNode) -> Option<(StackNode, u64)> {
        let (caller, pc) = self.arena().node(node.0)?;
        Some((StackNode(caller), pc))
    }

    /// Lets the program run for a moment.
    pub fn nap(&self) {
        if self.over {
            return;
        }
        let arena = self.arena();
        if arena.header().waiters.load(Ordering::SeqCst) > 0 && !arena.is_short() {
            self.wake();
        }
        std::thread::sleep(NAP);
    }
}

/// Adds the whole items of a frame from word `from` on; how many words they are.
fn read_items(arena: &Arena, frame: u32, from: usize, out: &mut Vec<u64>) -> usize {
    let words = arena.words(frame).cast::<AtomicU64>();
    // SAFETY: the words of the frame, which are written only as atomics while we read them.
    let words = unsafe { std::slice::from_raw_parts(words.cast_const(), FRAME_WORDS) };
    let before = out.len();
    let mut at = from;
    while at < FRAME_WORDS {
        let first = words[at].load(Ordering::Acquire);
        if first == 0 {
            break;
        }
        let count = words_of(first);
        if at + count > FRAME_WORDS {
            break;
        }
        out.push(first);
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

fn wake_all(arena: &Arena) {
    const FUTEX_WAKE: i64 = 1;
    let word: *const _ = &arena.header().wake;
    // SAFETY: the kernel only uses the address as a key; the word is mapped.
    unsafe { nix::libc::syscall(nix::libc::SYS_futex, word, FUTEX_WAKE, i32::MAX, 0, 0, 0) };
}
