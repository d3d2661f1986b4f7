//! The drawn timeline: a lane per thread, time downwards, arrows where one thread learned from another, and between
//! the two accesses a line that nothing orders.

use super::escape;
use crate::steps::{self, Step, steps};
use crate::words;
use deadheat_model::{Finding, MomentKind, ThreadId};

const WIDTH: i32 = 960;
const ROW: i32 = 40;
const TOP: i32 = 48;
/// Labels longer than this are cut; the whole text is in the tooltip.
const LABEL: usize = 44;

/// Nothing is drawn for findings without steps in at least one thread.
pub fn draw(finding: &Finding, cwd: &str) -> String {
    let steps = steps(finding);
    let mut threads: Vec<ThreadId> = Vec::new();
    // The side that comes first on the page has the left lane.
    for access in &finding.accesses {
        add(&mut threads, access.thread.id);
    }
    for step in &steps {
        add(&mut threads, step.thread);
    }
    if steps.is_empty() || threads.is_empty() {
        return String::new();
    }
    if threads.len() > 2 {
        threads.sort();
    }
    let drawing = Drawing {
        finding,
        cwd,
        steps,
        threads,
    };
    drawing.svg()
}

fn add(threads: &mut Vec<ThreadId>, id: ThreadId) {
    if !threads.contains(&id) {
        threads.push(id);
    }
}

struct Drawing<'a> {
    finding: &'a Finding,
    cwd: &'a str,
    steps: Vec<Step<'a>>,
    threads: Vec<ThreadId>,
}

impl Drawing<'_> {
    fn svg(&self) -> String {
        let height = TOP + ROW * i32::try_from(self.steps.len()).unwrap_or(i32::MAX / ROW / 2) + 16;
        let mut body = String::new();
        for thread in &self.threads {
            body.push_str(&self.lane(*thread, height));
        }
        body.push_str(&self.held());
        body.push_str(&self.edges());
        body.push_str(&self.race());
        for (row, step) in self.steps.iter().enumerate() {
            body.push_str(&self.step(step, row));
        }
        let marker = format!("arrow-{}", self.finding.id);
        format!(
            "<div class=\"scroll\"><svg class=\"timeline\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
             aria-label=\"Timeline of finding {id}\" data-steps=\"{count}\">\n<defs><marker id=\"{marker}\" \
             viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">\
             <path d=\"M0 0L8 4L0 8z\" class=\"head\"/></marker></defs>\n{body}</svg></div>",
            id = self.finding.id,
            count = self.steps.len(),
        )
    }

    /// Two lanes leave room for labels on both sides; more stand left of all labels.
    fn x(&self, thread: ThreadId) -> i32 {
        let index = self
            .threads
            .iter()
            .position(|id| *id == thread)
            .unwrap_or(0);
        let index = i32::try_from(index).unwrap_or(0);
        match self.threads.len() {
            1 => 60,
            2 => 380 + index * 200,
            many => {
                let step = (460 / i32::try_from(many).unwrap_or(1)).clamp(16, 110);
                60 + index * step
            }
        }
    }

    fn y(row: usize) -> i32 {
        TOP + ROW / 2 + ROW * i32::try_from(row).unwrap_or(0)
    }

    fn lane(&self, thread: ThreadId, height: i32) -> String {
        let x = self.x(thread);
        let name = steps::thread_name(self.finding, thread);
        let name = if self.threads.len() > 2 {
            thread.to_string()
        } else {
            name
        };
        format!(
            "<g data-thread=\"{id}\"><text class=\"lane-name\" x=\"{x}\" y=\"24\" text-anchor=\"middle\">{}</text>\
             <line class=\"lane\" x1=\"{x}\" y1=\"36\" x2=\"{x}\" y2=\"{}\"/></g>\n",
            escape(&clip(&name, 24)),
            height - 8,
            id = thread.0,
        )
    }

    /// Thick pieces of a lane where a lock is held.
    fn held(&self) -> String {
        let mut out = String::new();
        for (row, step) in self.steps.iter().enumerate() {
            if !matches!(step.what, MomentKind::Lock | MomentKind::Rdlock) || step.moment.is_none()
            {
                continue;
            }
            let end = self
                .steps
                .iter()
                .enumerate()
                .skip(row + 1)
                .find(|(_, other)| {
                    other.thread == step.thread
                        && other.object == step.object
                        && matches!(other.what, MomentKind::Unlock | MomentKind::Rdunlock)
                })
                .map_or(self.steps.len() - 1, |(end, _)| end);
            let x = self.x(step.thread);
            out.push_str(&format!(
                "<line class=\"held\" x1=\"{x}\" y1=\"{}\" x2=\"{x}\" y2=\"{}\"><title>{} held</title></line>\n",
                Self::y(row),
                Self::y(end),
                escape(step.object.as_deref().unwrap_or("lock"))
            ));
        }
        out
    }

    /// Arrows from what released to what acquired, and from a create to the lane of the new thread.
    fn edges(&self) -> String {
        let mut out = String::new();
        for (row, step) in self.steps.iter().enumerate() {
            let Some(child) = step
                .peer
                .filter(|id| step.what == MomentKind::Create && self.threads.contains(id))
            else {
                continue;
            };
            let starts =
                |other: &Step<'_>| other.what == MomentKind::Start && other.thread == child;
            if !self.steps.iter().any(starts) {
                out.push_str(&self.edge(step.thread, Self::y(row), child, Self::y(row) + ROW / 2));
            }
        }
        for (row, step) in self.steps.iter().enumerate() {
            if step.moment.is_none() || !step.what.acquires() {
                continue;
            }
            let source = self
                .steps
                .iter()
                .enumerate()
                .take(row)
                .rev()
                .find(|(_, other)| {
                    other.thread != step.thread && other.what.releases() && pairs(other, step)
                });
            if let Some((from, other)) = source {
                out.push_str(&self.edge(other.thread, Self::y(from), step.thread, Self::y(row)));
            }
        }
        out
    }

    fn edge(&self, from: ThreadId, from_y: i32, to: ThreadId, to_y: i32) -> String {
        format!(
            "<line class=\"edge\" x1=\"{}\" y1=\"{from_y}\" x2=\"{}\" y2=\"{to_y}\" marker-end=\"url(#arrow-{})\"/>\n",
            self.x(from),
            self.x(to),
            self.finding.id
        )
    }

    /// The two accesses, and the order that is missing between them.
    fn race(&self) -> String {
        let find = |index| {
            let at = self
                .steps
                .iter()
                .position(|step| step.access == Some(index))?;
            Some((self.x(self.steps.get(at)?.thread), Self::y(at)))
        };
        let (Some((x1, y1)), Some((x2, y2))) = (find(1), find(0)) else {
            return String::new();
        };
        if x1 == x2 {
            return String::new();
        }
        format!(
            "<line class=\"race\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>\
             <text class=\"race-label\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">not ordered</text>\n",
            (x1 + x2) / 2,
            (y1 + y2) / 2 - 6
        )
    }

    fn step(&self, step: &Step<'_>, row: usize) -> String {
        let x = self.x(step.thread);
        let y = Self::y(row);
        let left = self.threads.len() == 2 && self.threads.first() == Some(&step.thread);
        let (label_x, anchor) = match (self.threads.len(), left) {
            (2, true) => (x - 16, "end"),
            (1 | 2, _) => (x + 16, "start"),
            _ => (
                self.threads.last().map_or(60, |last| self.x(*last)) + 56,
                "start",
            ),
        };
        let place = words::spot(step.stack)
            .map(|frame| words::line_of(frame, self.cwd))
            .unwrap_or_default();
        let subject = if self.threads.len() > 2 {
            format!("{} ", step.thread)
        } else {
            String::new()
        };
        let text = format!("{subject}{}", step.text.replace('`', ""));
        let (class, radius) = match step.access {
            Some(_) => ("access", 8),
            None => ("moment", 5),
        };
        let access = step
            .access
            .map_or_else(String::new, |index| format!(" data-access=\"{index}\""));
        format!(
            "<g class=\"step {class}\" data-what=\"{what}\"{access}><title>{full}</title>\
             <circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>\
             <text x=\"{label_x}\" y=\"{label_y}\" text-anchor=\"{anchor}\">{label}</text>\
             <text class=\"place\" x=\"{label_x}\" y=\"{place_y}\" text-anchor=\"{anchor}\">{place}</text></g>\n",
            what = step.what.name(),
            full = escape(&format!(
                "{} {} {}",
                steps::thread_name(self.finding, step.thread),
                step.text,
                words::at(step.stack, self.cwd)
            )),
            label_y = y - 1,
            label = escape(&clip(&text, LABEL)),
            place_y = y + 13,
            place = escape(&clip_start(&place, LABEL)),
        )
    }
}

fn pairs(release: &Step<'_>, acquire: &Step<'_>) -> bool {
    match (release.what, acquire.what) {
        (MomentKind::Create, MomentKind::Start) => release.peer == Some(acquire.thread),
        (MomentKind::Exit, MomentKind::Join) => acquire.peer == Some(release.thread),
        (MomentKind::Create | MomentKind::Exit, _) | (_, MomentKind::Start | MomentKind::Join) => {
            false
        }
        _ => release.object.is_some() && release.object == acquire.object,
    }
}

fn clip(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(most - 1).collect();
    cut.push('\u{2026}');
    cut
}

/// The end of a path tells more than its start.
fn clip_start(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let tail: String = text.chars().skip(length - most + 1).collect();
    format!("\u{2026}{tail}")
}
