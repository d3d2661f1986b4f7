//! One finding as text.

use super::Page;
use super::paint::Role;
use crate::gpu;
use crate::words;
use deadheat_model::{
    Access, Finding, Frame, Lock, LockMode, MemoryKind, Severity, Thread, ThreadId,
};

const MARGIN: usize = 10;
/// Frames of one stack that are printed before the middle is left out.
const FRAMES: usize = 24;

impl Page<'_> {
    pub(super) fn finding(&self, finding: &Finding) -> String {
        let mut out = self.title(finding);
        match finding.accesses.as_slice() {
            [late, early] => self.pair(&mut out, late, early),
            accesses => {
                for access in accesses {
                    self.access(&mut out, access, &access.stack, "", None);
                }
            }
        }
        let mut shown: Option<(String, u32)> = None;
        for entry in &finding.stacks {
            self.heading(&mut out, &words::labelled(entry), &entry.stack, "");
            self.excerpt_once(&mut out, &entry.stack, &mut shown);
            self.frames(&mut out, &entry.stack);
            out.push('\n');
        }
        if finding.accesses.is_empty() && finding.stacks.is_empty() {
            for thread in finding
                .threads
                .iter()
                .filter(|thread| !thread.created.is_empty())
            {
                let head = format!("{} was created", words::thread(thread));
                self.heading(&mut out, &head, &thread.created, "");
                self.excerpt_once(&mut out, &thread.created, &mut shown);
                self.frames(&mut out, &thread.created);
                out.push('\n');
            }
        }
        self.facts(&mut out, finding);
        out
    }

    fn title(&self, finding: &Finding) -> String {
        let role = match finding.severity {
            Severity::Error => Role::Title,
            Severity::Warning => Role::Warning,
        };
        let left = format!("{}. {}", finding.id, finding.title);
        let times = if finding.count > 1 {
            format!("  seen {} times", finding.count)
        } else {
            String::new()
        };
        let rule = "-".repeat(self.painter.width);
        format!(
            "{}\n{}{}\n\n",
            self.painter.paint(Role::Quiet, &rule),
            self.painter.paint(role, &left),
            self.painter.paint(Role::Quiet, &times)
        )
    }

    fn pair(&self, out: &mut String, late: &Access, early: &Access) {
        let shared = shared_calls(&late.stack, &early.stack);
        if shared == late.stack.len() && shared == early.stack.len() && shared > 0 {
            self.access(out, late, &late.stack, "", None);
            self.heading(
                out,
                &words::access(early),
                &early.stack,
                &words::circumstances(early, "earlier"),
            );
            self.quiet(out, 4, "the same calls as above");
            out.push('\n');
            return;
        }
        let mut shown = None;
        let own = |access: &Access| access.stack.len() - shared;
        self.access(out, late, &late.stack[..own(late)], "", Some(&mut shown));
        self.access(
            out,
            early,
            &early.stack[..own(early)],
            "earlier",
            Some(&mut shown),
        );
        if shared > 0 {
            self.quiet(out, 2, "both called from");
            self.frames(out, &late.stack[own(late)..]);
            out.push('\n');
        }
    }

    fn access(
        &self,
        out: &mut String,
        access: &Access,
        frames: &[Frame],
        when: &str,
        shown: Option<&mut Option<(String, u32)>>,
    ) {
        self.heading(
            out,
            &words::access(access),
            &access.stack,
            &words::circumstances(access, when),
        );
        let mut nothing = None;
        self.excerpt_once(out, &access.stack, shown.unwrap_or(&mut nothing));
        self.frames(out, frames);
        out.push('\n');
    }

    /// `T1 writes 4 bytes at bank.c:17:13, holding no lock`
    fn heading(&self, out: &mut String, what: &str, stack: &[Frame], rest: &str) {
        let place = words::spot(stack)
            .map(|frame| format!(" at {}", words::place(frame, self.cwd)))
            .unwrap_or_default();
        let text = format!("{what}{place}{rest}");
        for (index, line) in self.painter.wrap(&text, 4).iter().enumerate() {
            out.push_str(if index == 0 { "  " } else { "    " });
            out.push_str(&self.painter.paint(Role::Heading, line));
            out.push('\n');
        }
    }

    fn excerpt_once(&self, out: &mut String, stack: &[Frame], shown: &mut Option<(String, u32)>) {
        let Some(frame) = words::spot(stack) else {
            self.quiet(out, 4, "no call stack is known");
            return;
        };
        let (Some(file), Some(line)) = (&frame.file, frame.line) else {
            return;
        };
        let here = (file.clone(), line);
        if shown.as_ref() == Some(&here) {
            self.quiet(out, 4, "the same line as above");
            return;
        }
        *shown = Some(here);
        let Some(excerpt) = self.sources.excerpt(file, line, frame.column, self.around) else {
            self.quiet(out, 4, &format!("source not found: {file}"));
            return;
        };
        for line in &excerpt.lines {
            let text = self.painter.clip(&line.text, MARGIN + 2);
            if line.marked {
                let mark = format!("{:>7} | {text}", format!("> {}", line.number));
                out.push_str(&format!("  {}\n", self.painter.paint(Role::Marked, &mark)));
                if let Some(caret) = excerpt
                    .caret
                    .filter(|at| *at + MARGIN + 2 < self.painter.width)
                {
                    let arrow = format!("{:>7} | {}^", "", " ".repeat(caret));
                    out.push_str(&format!("  {}\n", self.painter.paint(Role::Marked, &arrow)));
                }
            } else {
                let text = format!("{:>7} | {text}", line.number);
                out.push_str(&format!(
                    "  {}\n",
                    self.painter.paint(Role::Quiet, text.trim_end())
                ));
            }
        }
    }

    pub(crate) fn frames(&self, out: &mut String, frames: &[Frame]) {
        let widest = frames
            .iter()
            .map(|frame| words::short_function(frame).chars().count())
            .max()
            .unwrap_or(0)
            .min(36);
        let (head, tail) = if frames.len() > FRAMES {
            (FRAMES - 4, 4)
        } else {
            (frames.len(), 0)
        };
        for frame in frames.iter().take(head) {
            self.frame(out, frame, widest);
        }
        if tail > 0 {
            let left_out = frames.len() - head - tail;
            self.quiet(
                out,
                4,
                &format!("... {left_out} more calls, all of them in the JSON report"),
            );
            for frame in frames.iter().skip(frames.len() - tail) {
                self.frame(out, frame, widest);
            }
        }
    }

    fn frame(&self, out: &mut String, frame: &Frame, widest: usize) {
        let name = words::short_function(frame);
        let place = super::paint::clean(&words::place(frame, self.cwd));
        out.push_str("    ");
        out.push_str(&self.painter.paint(Role::Name, &name));
        if !place.is_empty() {
            let pad = " ".repeat(widest.saturating_sub(name.chars().count()));
            let inlined = if frame.inlined { " (inlined)" } else { "" };
            out.push_str(&format!("{pad}  {place}"));
            out.push_str(&self.painter.paint(Role::Quiet, inlined));
        }
        out.push('\n');
    }

    pub(super) fn quiet(&self, out: &mut String, indent: usize, text: &str) {
        for line in self.painter.wrap(text, indent) {
            out.push_str(&" ".repeat(indent));
            out.push_str(&self.painter.paint(Role::Quiet, &line));
            out.push('\n');
        }
    }

    /// A name at the margin and a text that breaks beside it.
    pub(super) fn fact(&self, out: &mut String, name: &str, text: &str, role: Option<Role>) {
        for (index, line) in self.painter.wrap(text, MARGIN + 2).iter().enumerate() {
            let margin = if index == 0 { name } else { "" };
            let padded = format!("{margin:<MARGIN$}");
            let line = match role {
                Some(role) => self.painter.paint(role, line),
                None => line.clone(),
            };
            out.push_str(&format!(
                "  {}{line}\n",
                self.painter.paint(Role::Heading, &padded)
            ));
        }
    }

    fn facts(&self, out: &mut String, finding: &Finding) {
        self.fact(out, "why", &finding.why, None);
        if let Some(launch) = &finding.launch {
            self.fact(out, "kernel", &gpu::launch(launch), None);
            if let Some(extent) = gpu::extent(launch) {
                self.fact(out, "in all", &extent, None);
            }
        }
        if let Some(detail) = words::detail(finding) {
            self.fact(out, "detail", detail, None);
        }
        if let Some(memory) = &finding.memory {
            let text = match memory.kind {
                MemoryKind::Unknown | MemoryKind::Shared => memory.description.clone(),
                _ => format!("{}, at {}", memory.description, memory.address),
            };
            self.fact(out, "memory", &text, None);
            if let Some(freed) = &memory.freed {
                let place = words::at(&freed.stack, self.cwd);
                self.fact(
                    out,
                    "freed",
                    &format!("by {} {place}", words::thread(&freed.thread)),
                    None,
                );
            }
            if let Some(made) = &memory.allocation
                && made.stack.len() > 1
            {
                self.fact(out, "allocated", "by these calls:", None);
                self.frames(out, &made.stack);
            }
        }
        self.lock_facts(out, finding);
        self.thread_facts(out, &finding.threads);
        if let Some(pid) = finding.pid {
            self.fact(
                out,
                "process",
                &format!("{pid}, a child of the program"),
                None,
            );
        }
        let silence = format!("{}   (a line for --suppressions FILE)", finding.suppression);
        self.fact(out, "silence", &silence, Some(Role::Quiet));
    }

    fn lock_facts(&self, out: &mut String, finding: &Finding) {
        let mut name = "locks";
        let mut told: Vec<String> = Vec::new();
        for access in &finding.accesses {
            for lock in &access.locks {
                let mode = match lock.mode {
                    Some(LockMode::Read) => " for reading",
                    Some(LockMode::Write) | None => "",
                };
                let place = words::at(&lock.stack, self.cwd);
                let beside = words::beside(lock, finding.memory.as_ref());
                let text = format!(
                    "{}{beside} taken{mode} by {} {place}",
                    words::lock(lock),
                    words::thread(&access.thread)
                );
                told.push(text);
            }
        }
        for lock in &finding.locks {
            told.push(made(lock, self.cwd));
        }
        told.dedup();
        for text in told {
            self.fact(out, name, text.trim_end(), None);
            name = "";
        }
    }

    fn thread_facts(&self, out: &mut String, threads: &[Thread]) {
        let mut name = "threads";
        for thread in threads {
            if thread.created.is_empty() && thread.parent.is_none() {
                continue;
            }
            let parent = thread.parent.map_or_else(String::new, |id| {
                format!(" by {}", self.name_of(threads, id))
            });
            let place = words::at(&thread.created, self.cwd);
            let text = format!("{} created{parent} {place}", words::thread(thread));
            self.fact(out, name, text.trim_end(), None);
            name = "";
        }
    }

    /// The name of one of these threads, or of another that the run knows. Processes number their threads alike: where
    /// the run knows several of that number with different names, it is the number alone.
    fn name_of(&self, threads: &[Thread], id: ThreadId) -> String {
        if let Some(thread) = threads.iter().find(|thread| thread.id == id) {
            return words::thread(thread);
        }
        let mut known = self.report.threads.iter().filter(|thread| thread.id == id);
        match known.next() {
            Some(one) if known.all(|other| other.name == one.name) => words::thread(one),
            _ => id.to_string(),
        }
    }
}

fn made(lock: &Lock, cwd: &str) -> String {
    let place = words::at(&lock.created, cwd);
    if place.is_empty() {
        format!("{} at {}", words::lock(lock), lock.address)
    } else {
        format!("{} at {}, made {place}", words::lock(lock), lock.address)
    }
}

/// How many outermost frames two stacks have in common. Each keeps at least its innermost frame, unless they are equal.
fn shared_calls(one: &[Frame], other: &[Frame]) -> usize {
    let common = one
        .iter()
        .rev()
        .zip(other.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    if common == one.len() && common == other.len() {
        common
    } else {
        common
            .min(one.len().saturating_sub(1))
            .min(other.len().saturating_sub(1))
    }
}
