//! One finding on the page: both sides, the timeline, and the facts below.

use super::{Page, escape, prose, timeline};
use crate::gpu;
use crate::words;
use deadheat_model::{Access, Finding, Frame, Lock, Thread};

const AROUND: u32 = 5;

impl Page<'_> {
    pub(super) fn finding(&self, finding: &Finding) -> String {
        let times = if finding.count > 1 {
            format!("<span class=\"times\">seen {} times</span>", finding.count)
        } else {
            String::new()
        };
        let mut sides = String::new();
        for (index, access) in finding.accesses.iter().enumerate() {
            sides.push_str(&self.access(access, index));
        }
        for entry in &finding.stacks {
            let head = words::labelled(entry);
            sides.push_str(&self.panel("data-stack", &head, "", &entry.stack));
        }
        if sides.is_empty() {
            for thread in finding
                .threads
                .iter()
                .filter(|thread| !thread.created.is_empty())
            {
                let head = format!("{} was created", words::thread(thread));
                sides.push_str(&self.panel("data-stack", &head, "", &thread.created));
            }
        }
        let advice: String = finding
            .kind
            .advice()
            .iter()
            .map(|text| format!("<li>{}</li>\n", prose(text)))
            .collect();
        format!(
            "<article id=\"finding-{id}\" data-id=\"{id}\" data-kind=\"{kind}\" data-fingerprint=\"{print}\" tabindex=\"-1\">\n\
             <h2><span class=\"dot {severity}\"></span>{id}. {title} {times}</h2>\n\
             <p class=\"why\">{why}</p>\n<div class=\"sides\">\n{sides}</div>\n{timeline}\n\
             <dl class=\"facts\">\n{facts}</dl>\n\
             <details><summary>What this means, and ways to fix it</summary>\n<p>{meaning}</p>\n<ul>\n{advice}</ul>\n</details>\n\
             </article>\n",
            id = finding.id,
            kind = finding.kind.name(),
            print = escape(&finding.fingerprint),
            severity = finding.severity.name(),
            title = prose(&finding.title),
            why = prose(&finding.why),
            timeline = timeline::draw(finding, self.cwd),
            facts = self.facts(finding),
            meaning = prose(finding.kind.meaning()),
        )
    }

    fn access(&self, access: &Access, index: usize) -> String {
        let when = if index == 1 { "earlier" } else { "" };
        let held = words::circumstances(access, when);
        let attribute = format!("data-access=\"{index}\"");
        self.panel(
            &attribute,
            &words::access(access),
            held.trim_start_matches(", "),
            &access.stack,
        )
    }

    fn panel(&self, attribute: &str, head: &str, held: &str, stack: &[Frame]) -> String {
        let place = words::spot(stack)
            .map(|frame| words::place(frame, self.cwd))
            .unwrap_or_default();
        let held = if held.is_empty() {
            String::new()
        } else {
            format!("<p class=\"held\">{}</p>\n", prose(held))
        };
        format!(
            "<section class=\"side\" {attribute}>\n<h3>{}</h3>\n<p class=\"place\">{}</p>\n{held}{}{}</section>\n",
            prose(head),
            escape(&place),
            self.code(stack),
            self.frames(stack)
        )
    }

    fn code(&self, stack: &[Frame]) -> String {
        let Some(frame) = words::spot(stack) else {
            return "<p class=\"missing\">no call stack is known</p>\n".to_owned();
        };
        let (Some(file), Some(line)) = (&frame.file, frame.line) else {
            return "<p class=\"missing\">no line is known: build with -g</p>\n".to_owned();
        };
        let Some(excerpt) = self.sources.excerpt(file, line, frame.column, AROUND) else {
            return format!(
                "<p class=\"missing\">source not found: {}</p>\n",
                escape(file)
            );
        };
        let rows: String = excerpt
            .lines
            .iter()
            .map(|line| {
                let (class, text) = match (line.marked, excerpt.caret) {
                    (true, Some(at)) => (" class=\"marked\"", marked(&line.text, at)),
                    (true, None) => (" class=\"marked\"", escape(&line.text)),
                    (false, _) => ("", escape(&line.text)),
                };
                format!(
                    "<tr{class} data-line=\"{0}\"><td class=\"number\">{0}</td><td><pre>{text}</pre></td></tr>\n",
                    line.number
                )
            })
            .collect();
        format!("<div class=\"scroll\"><table class=\"code\">\n{rows}</table></div>\n")
    }

    fn frames(&self, stack: &[Frame]) -> String {
        let rows: String = stack
            .iter()
            .map(|frame| {
                let inlined = if frame.inlined { " <i>inlined</i>" } else { "" };
                format!(
                    "<li><span class=\"function\">{}</span> <span class=\"place\">{}</span>{inlined}</li>\n",
                    escape(words::function(frame)),
                    escape(&words::place(frame, self.cwd))
                )
            })
            .collect();
        format!("<ol class=\"stack\">\n{rows}</ol>\n")
    }

    fn facts(&self, finding: &Finding) -> String {
        let mut rows: Vec<(&str, String)> = Vec::new();
        if let Some(detail) = words::detail(finding) {
            rows.push(("detail", prose(detail)));
        }
        if let Some(launch) = &finding.launch {
            rows.push(("kernel", prose(&gpu::launch(launch))));
            rows.extend(gpu::extent(launch).map(|text| ("in all", prose(&text))));
        }
        if let Some(memory) = &finding.memory {
            let text = format!("{}, at {}", memory.description, memory.address);
            rows.push(("memory", prose(&text)));
            if let Some(made) = &memory.allocation {
                rows.push(("allocated", self.by(&made.thread, &made.stack)));
            }
            if let Some(freed) = &memory.freed {
                rows.push(("freed", self.by(&freed.thread, &freed.stack)));
            }
        }
        for access in &finding.accesses {
            for lock in &access.locks {
                let beside = words::beside(lock, finding.memory.as_ref());
                rows.push(("lock", self.taken(lock, &beside, &access.thread)));
            }
        }
        for lock in &finding.locks {
            let text = format!("{} at {}", words::lock(lock), lock.address);
            rows.push((
                "lock",
                format!("{}{}", prose(&text), self.calls(&lock.created)),
            ));
        }
        for thread in &finding.threads {
            if !thread.created.is_empty() {
                let text = format!("{} created", words::thread(thread));
                rows.push((
                    "thread",
                    format!("{}{}", prose(&text), self.calls(&thread.created)),
                ));
            }
        }
        rows.push((
            "silence",
            format!(
                "<code class=\"suppression\">{}</code>",
                escape(&finding.suppression)
            ),
        ));
        rows.iter()
            .map(|(name, text)| format!("<dt>{name}</dt><dd>{text}</dd>\n"))
            .collect()
    }

    fn by(&self, thread: &Thread, stack: &[Frame]) -> String {
        format!("by {}{}", escape(&words::thread(thread)), self.calls(stack))
    }

    fn taken(&self, lock: &Lock, beside: &str, thread: &Thread) -> String {
        let text = format!(
            "{}{beside} taken by {}",
            words::locks(std::slice::from_ref(lock)),
            words::thread(thread)
        );
        format!("{}{}", prose(&text), self.calls(&lock.stack))
    }

    /// The place in the line, all calls behind a fold.
    fn calls(&self, stack: &[Frame]) -> String {
        let place = words::at(stack, self.cwd);
        match stack.len() {
            0 => String::new(),
            1 => format!(" {}", escape(&place)),
            _ => format!(
                " {}<details class=\"calls\"><summary>all calls</summary>{}</details>",
                escape(&place),
                self.frames(stack)
            ),
        }
    }
}

/// The line with the word at the caret set apart.
fn marked(text: &str, at: usize) -> String {
    let chars: Vec<char> = text.chars().collect();
    if at >= chars.len() {
        return escape(text);
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut end = at + 1;
    if chars.get(at).copied().is_some_and(is_word) {
        while chars.get(end).copied().is_some_and(is_word) {
            end += 1;
        }
    } else {
        while chars
            .get(end)
            .copied()
            .is_some_and(|c| "=+-*/%&|^<>".contains(c))
        {
            end += 1;
        }
    }
    let part = |range: &[char]| escape(&range.iter().collect::<String>());
    format!(
        "{}<mark>{}</mark>{}",
        part(&chars[..at]),
        part(&chars[at..end]),
        part(&chars[end..])
    )
}
