//! Findings about GPU programs: put together into a report, and their launches in words.
//!
//! They come complete (the machine that ran the kernels knows their lines), so there is no raw stream; only calls of the
//! host are still program counters when they arrive. From there on they go the way of all findings.

use crate::merge::{self, Key};
use crate::suppress::{self, Suppressions};
use crate::symbolize::{Mapped, Symbolizer};
use crate::trim::trim;
use crate::words::{self, counted};
use deadheat_model::{
    CheckedLaunch, Extent, Finding, FindingId, FoundBy, Launch, Loss, Program, Report,
    SCHEMA_VERSION, Summary, Suppressed, Tool,
};
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

/// What a checked GPU program or kernel gave.
#[derive(Clone, Debug, Default)]
pub struct GpuRun {
    pub program: Program,
    pub findings: Vec<Finding>,
    pub launches: Vec<CheckedLaunch>,
    pub notes: Vec<String>,
    pub losses: Vec<Loss>,
    /// The program's modules, to name the host's calls.
    pub modules: Vec<Mapped>,
}

impl GpuRun {
    /// The report: host calls named, equal bugs merged, silenced ones left out, numbers and fingerprints given.
    pub fn report(mut self, rules: &Suppressions) -> Report {
        self.name_host_calls();
        let mut silenced: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
        let mut found: Vec<Finding> = Vec::new();
        let mut known: HashMap<Key, usize> = HashMap::new();
        for finding in self.findings {
            if let Some(rule) = rules.matching_finding(&finding) {
                let entry = silenced.entry(rule).or_default();
                entry.0 += 1;
                entry.1 = entry.1.saturating_add(finding.count);
                continue;
            }
            match known.get(&Key::of(&finding)) {
                Some(at) => join(&mut found[*at], finding),
                None => {
                    known.insert(Key::of(&finding), found.len());
                    found.push(finding);
                }
            }
        }
        let mut times: HashMap<String, u32> = HashMap::new();
        for (index, finding) in found.iter_mut().enumerate() {
            finding.id = FindingId(index as u64 + 1);
            finding.fingerprint = merge::fingerprint(finding);
            finding.suppression = suppress::line_for(finding);
            let time = times.entry(finding.fingerprint.clone()).or_insert(0);
            *time += 1;
            if *time > 1 {
                finding.fingerprint = format!("{}-{time}", finding.fingerprint);
            }
        }
        let suppressed = rules.rules().iter().enumerate().filter_map(|(at, rule)| {
            let (findings, count) = *silenced.get(&at)?;
            Some(Suppressed {
                rule: rule.text().to_owned(),
                source: rule.place(),
                findings,
                count,
            })
        });
        let mut report = Report {
            schema: SCHEMA_VERSION,
            tool: Tool::default(),
            program: self.program,
            findings: found,
            threads: Vec::new(),
            modules: Vec::new(),
            losses: self.losses,
            notes: self.notes,
            suppressed: suppressed.collect(),
            stats: BTreeMap::new(),
            launches: self.launches,
            summary: Summary::default(),
        };
        report.summarize();
        report
    }

    /// Frames that are nothing but an address become functions and lines.
    fn name_host_calls(&mut self) {
        let mut symbols = Symbolizer::new(vec![PathBuf::from("/usr/lib/debug")]);
        for module in self.modules.drain(..) {
            symbols.map(module);
        }
        let stacks = self.findings.iter_mut().flat_map(|finding| {
            let accesses = finding.accesses.iter_mut().map(|access| &mut access.stack);
            let made = finding.memory.iter_mut().flat_map(|m| &mut m.allocation);
            accesses
                .chain(finding.stacks.iter_mut().map(|entry| &mut entry.stack))
                .chain(made.map(|made| &mut made.stack))
        });
        for stack in stacks {
            let bare = |frame: &deadheat_model::Frame| {
                frame.function.is_empty() && frame.module.is_none() && frame.file.is_none()
            };
            if !stack.iter().any(bare) {
                continue;
            }
            let mut named = Vec::new();
            for frame in stack.drain(..) {
                match frame.offset {
                    Some(pc) if bare(&frame) => {
                        named.extend(symbols.frames(pc.0).iter().cloned());
                    }
                    _ => named.push(crate::symbolize::Symbolized {
                        frame,
                        linkage: None,
                    }),
                }
            }
            *stack = trim(named).into_iter().map(|named| named.frame).collect();
        }
    }
}

/// The same bug in another launch: counts are added, the first example stays.
fn join(old: &mut Finding, new: Finding) {
    old.count = old.count.saturating_add(new.count);
    let (Some(old), Some(new)) = (&mut old.launch, new.launch) else {
        return;
    };
    for relation in new.relations {
        if !old.relations.contains(&relation) {
            old.relations.push(relation);
        }
    }
    let (sum, more) = (&mut old.extent, new.extent);
    sum.thread_pairs = sum.thread_pairs.saturating_add(more.thread_pairs);
    // Addresses, threads, warps and blocks of different launches may be the same ones.
    sum.addresses = sum.addresses.max(more.addresses);
    sum.threads = sum.threads.max(more.threads);
    sum.warp_pairs = sum.warp_pairs.max(more.warp_pairs);
    sum.blocks = sum.blocks.max(more.blocks);
}

/// `8`, `8x4`, `8x4x2`.
pub(crate) fn dimensions(d: [u32; 3]) -> String {
    match d {
        [x, 1, 1] => x.to_string(),
        [x, y, 1] => format!("{x}x{y}"),
        [x, y, z] => format!("{x}x{y}x{z}"),
    }
}

/// `reduce<<<8, 256>>>, lockstep warps of 32 lanes, found by running it`.
pub(crate) fn launch(launch: &Launch) -> String {
    let how = match launch.found_by {
        FoundBy::Static => "found by analysis, without running it",
        FoundBy::Dynamic => "found by running it",
    };
    format!(
        "{}<<<{}, {}>>>, {} warps of {} lanes, {how}",
        launch.kernel,
        dimensions(launch.grid),
        dimensions(launch.block),
        launch.scheduling.name(),
        launch.warp_size
    )
}

/// How much took part, or nothing if it was not counted.
pub(crate) fn extent(launch: &Launch) -> Option<String> {
    if launch.extent == Extent::default() {
        return None;
    }
    let e = &launch.extent;
    let relations: Vec<String> = launch
        .relations
        .iter()
        .map(|relation| relation.words().to_owned())
        .collect();
    let between = if relations.is_empty() {
        String::new()
    } else {
        format!("; between {}", words::join(&relations))
    };
    Some(format!(
        "{}, {}, {}, {}, {}{between}",
        counted(e.addresses, "address", "addresses"),
        counted(e.threads, "thread", "threads"),
        counted(e.thread_pairs, "pair of threads", "pairs of threads"),
        counted(e.warp_pairs, "pair of warps", "pairs of warps"),
        counted(e.blocks, "block", "blocks"),
    ))
}

/// What the footer says of one launch, if anything was decided before it ran.
pub(crate) fn checked(launch: &CheckedLaunch) -> Option<String> {
    let analysis = launch.analysis.as_ref()?;
    Some(format!("{}: {analysis}", launch.kernel))
}
