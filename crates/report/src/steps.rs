//! A finding as a sequence of steps, for `explain`, SARIF's code flows and the drawn timeline.

use crate::words;
use deadheat_model::{Finding, FindingKind, Frame, Moment, MomentKind, Thread, ThreadId};

/// One step of one thread.
#[derive(Clone, Debug)]
pub struct Step<'a> {
    pub thread: ThreadId,
    pub what: MomentKind,
    /// A sentence without its subject: `locks mutex `books``.
    pub text: String,
    pub stack: &'a [Frame],
    /// Index of the access, if it is one.
    pub access: Option<usize>,
    /// Index of the moment in the finding's timeline; none if the step was told by a stack.
    pub moment: Option<usize>,
    /// The object's name, if the step has one.
    pub object: Option<String>,
    pub peer: Option<ThreadId>,
}

/// The timeline with the accesses in their places; without one, what thread creation and the accesses tell.
pub fn steps(finding: &Finding) -> Vec<Step<'_>> {
    let mut out: Vec<Step<'_>> = Vec::new();
    if finding.timeline.is_empty() {
        out.extend(births(finding));
    }
    for (index, moment) in finding.timeline.iter().enumerate() {
        out.push(from_moment(finding, moment, index));
    }
    // The later access comes first in the finding.
    for (index, access) in finding.accesses.iter().enumerate().rev() {
        if out.iter().any(|step| step.access == Some(index)) {
            continue;
        }
        out.push(Step {
            thread: access.thread.id,
            what: MomentKind::Access,
            text: access_text(finding, index),
            stack: &access.stack,
            access: Some(index),
            moment: None,
            object: None,
            peer: None,
        });
    }
    // The order of two locks that closes the cycle is told first and came last.
    let newest = match finding.kind {
        FindingKind::LockOrderInversion => finding.stacks.len().min(2),
        _ => 0,
    };
    let (newest, older) = finding.stacks.split_at(newest);
    for entry in older.iter().chain(newest) {
        out.push(Step {
            thread: entry.thread.id,
            what: MomentKind::Lock,
            text: entry.label.clone(),
            stack: &entry.stack,
            access: None,
            moment: None,
            object: entry.lock.as_ref().map(words::lock_name),
            peer: None,
        });
    }
    out
}

/// Threads get their numbers in the order in which they are made.
fn births(finding: &Finding) -> impl Iterator<Item = Step<'_>> {
    let mut born: Vec<&Thread> = finding
        .threads
        .iter()
        .filter(|thread| !thread.created.is_empty())
        .collect();
    born.sort_by_key(|thread| thread.id);
    born.into_iter().map(|thread| Step {
        thread: thread.parent.unwrap_or_default(),
        what: MomentKind::Create,
        text: format!("creates {}", words::thread(thread)),
        stack: &thread.created,
        access: None,
        moment: None,
        object: None,
        peer: Some(thread.id),
    })
}

fn access_text(finding: &Finding, index: usize) -> String {
    let Some(access) = finding.accesses.get(index) else {
        return "accesses it".to_owned();
    };
    let text = words::access(access);
    let subject = format!("{} ", words::thread(&access.thread));
    let verb = text.strip_prefix(&subject).unwrap_or(&text);
    match finding
        .memory
        .as_ref()
        .and_then(|memory| memory.name.as_ref())
    {
        Some(name) if verb.ends_with(" it") => format!("{} `{name}`", verb.trim_end_matches(" it")),
        Some(name) => match verb.strip_suffix(" atomically") {
            Some(verb) => format!("{verb} of `{name}` atomically"),
            None => format!("{verb} of `{name}`"),
        },
        None => verb.to_owned(),
    }
}

fn from_moment<'a>(finding: &'a Finding, moment: &'a Moment, index: usize) -> Step<'a> {
    let object = match (&moment.name, moment.object) {
        (Some(name), _) => Some(format!("`{name}`")),
        (None, Some(id)) => Some(id.to_string()),
        (None, None) => None,
    };
    let name = object.clone().unwrap_or_else(|| "an object".to_owned());
    let peer = moment.peer.map_or_else(
        || "a thread".to_owned(),
        |id| {
            words::thread(thread_of(finding, id).unwrap_or(&Thread {
                id,
                ..Thread::default()
            }))
        },
    );
    let access = moment.access.filter(|_| moment.what == MomentKind::Access);
    let text = match moment.what {
        MomentKind::Lock => format!("locks {name}"),
        MomentKind::Unlock => format!("unlocks {name}"),
        MomentKind::Rdlock => format!("locks {name} for reading"),
        MomentKind::Rdunlock => format!("unlocks {name} after reading"),
        MomentKind::Wait => format!("has waited for {name}"),
        MomentKind::Signal => format!("signals {name}"),
        MomentKind::Create => format!("creates {peer}"),
        MomentKind::Join => format!("has joined {peer}"),
        MomentKind::Start => "starts".to_owned(),
        MomentKind::Exit => "ends".to_owned(),
        MomentKind::Barrier => format!("passes barrier {name}"),
        MomentKind::Post => format!("posts {name}"),
        MomentKind::Release => format!("releases {name}"),
        MomentKind::Acquire => format!("acquires {name}"),
        MomentKind::Access => match access {
            Some(index) => access_text(finding, index),
            None => "accesses it".to_owned(),
        },
    };
    let stack = match access.and_then(|index| finding.accesses.get(index)) {
        Some(access) if moment.stack.is_empty() => &access.stack,
        _ => &moment.stack,
    };
    Step {
        thread: moment.thread,
        what: moment.what,
        text,
        stack,
        access,
        moment: Some(index),
        object,
        peer: moment.peer,
    }
}

/// A thread the finding knows.
pub fn thread_of(finding: &Finding, id: ThreadId) -> Option<&Thread> {
    finding
        .threads
        .iter()
        .chain(finding.accesses.iter().map(|access| &access.thread))
        .chain(finding.stacks.iter().map(|entry| &entry.thread))
        .find(|thread| thread.id == id)
}

/// The thread's name, also if only its number is known.
pub fn thread_name(finding: &Finding, id: ThreadId) -> String {
    thread_of(finding, id).map_or_else(|| id.to_string(), words::thread)
}
