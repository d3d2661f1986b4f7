//! Drives one built program once: gives it its input, checks what it said, and reports what it cost.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::catalogue::{Kind, Program};
use crate::compile;
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::measure::{Cost, Ended, Job, Running};
use crate::tool::{Build, Tool};

/// Where reports are kept, below the cache.
pub const REPORTS: &str = "reports";

/// One run to make.
pub struct Run<'a> {
    pub layout: &'a Layout,
    pub program: &'a Program,
    pub tool: Tool,
    pub binary: &'a Path,
    pub size: u64,
    pub threads: u32,
    pub limit: Duration,
    /// Goes before the program instead of the tool's own prefix, if given.
    pub prefix: Option<Vec<String>>,
}

/// What `deadheat run --split --stats` says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// Milliseconds between the end of the program and that of the check.
    pub lag: f64,
    /// Seconds of the processor that the program had, without the checker.
    pub program: f64,
}

/// What came out of one run.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub cost: Cost,
    /// What the program computed; the same for all tools. Empty when the time limit ended the run.
    pub checksum: String,
    /// How many findings the tool printed, as far as that can be counted from its text.
    pub findings: usize,
    /// What split checking says of itself.
    pub split: Option<Split>,
    /// What the tool and the program wrote to standard error.
    pub stderr: PathBuf,
}

impl Run<'_> {
    /// Runs the program and checks it.
    pub fn go(&self) -> Result<Outcome> {
        let scratch = self.layout.cached_dir("scratch")?;
        let base = format!("{}-{}", self.program.name, self.tool.name());
        let stdout = scratch.join(format!("{base}.out"));
        let stderr = scratch.join(format!("{base}.err"));
        let mut words = self
            .prefix
            .clone()
            .unwrap_or_else(|| self.tool.prefix(&self.layout.deadheat));
        if self.program.kind == Kind::Memcached && self.tool.is_valgrind() {
            // Memcached sets its limit of open files to its 200 connections, and Valgrind, which keeps 12 files to
            // itself, refuses every hard limit but the one it was started with.
            words.splice(
                0..0,
                ["prlimit".to_string(), "--nofile=212:212".to_string()],
            );
        }
        words.push(self.binary.display().to_string());
        words.extend(self.arguments(&scratch, &base)?);
        let mut job = Job {
            launcher: compile::launcher(self.layout)?,
            words,
            environment: Vec::new(),
            directory: scratch.clone(),
            stdout: stdout.clone(),
            stderr: stderr.clone(),
            limit: self.limit,
        };
        let (cost, checksum) = match self.program.kind {
            Kind::Memcached => self.serve(&mut job, &scratch, &base)?,
            Kind::Pbzip2 => {
                let cost = job.run()?;
                (cost, hash_of(&stdout)?)
            }
            Kind::Kernel | Kind::Sqlite | Kind::Zstd => {
                let cost = job.run()?;
                (cost, checksum_line(&stdout))
            }
        };
        let checksum = if cost.ended == Ended::OverLimit {
            String::new()
        } else {
            checksum
        };
        self.check_end(&cost, &checksum, &stderr)?;
        let findings = self.count_findings(&stderr);
        if findings > 0 {
            self.keep_report(&stderr, &base, findings)?;
        }
        let text = fs::read(&stderr).unwrap_or_default();
        Ok(Outcome {
            cost,
            checksum,
            findings,
            split: String::from_utf8_lossy(&text).lines().find_map(split),
            stderr,
        })
    }

    fn arguments(&self, scratch: &Path, base: &str) -> Result<Vec<String>> {
        let size = self.size.to_string();
        let threads = self.threads.to_string();
        Ok(match self.program.kind {
            Kind::Kernel | Kind::Zstd => vec![size, threads],
            Kind::Sqlite => {
                let file = scratch.join(format!("{base}.db"));
                for suffix in ["", "-wal", "-shm", "-journal"] {
                    let _ = fs::remove_file(format!("{}{suffix}", file.display()));
                }
                vec![size, threads, file.display().to_string()]
            }
            Kind::Pbzip2 => {
                let input = text_file(scratch, self.size)?;
                // Small blocks, so that there is work for all threads.
                vec![
                    format!("-p{threads}"),
                    "-b2".into(),
                    "-2".into(),
                    "-k".into(),
                    "-c".into(),
                    input.display().to_string(),
                ]
            }
            Kind::Memcached => {
                let words = "-l 127.0.0.1 -p -1 -U 0 -u root -m 64 -c 200 -t";
                let mut all: Vec<String> = words.split(' ').map(str::to_string).collect();
                all.push(threads);
                all
            }
        })
    }

    /// Starts the server, lets the client of ours load it, stops the server as a service manager would.
    fn serve(&self, job: &mut Job, scratch: &Path, base: &str) -> Result<(Cost, String)> {
        let client = compile::single(
            self.layout,
            "memcached-client",
            "drivers/memcached-client.c",
            Build::Native,
        )?;
        let port_file = scratch.join(format!("{base}.port"));
        let _ = fs::remove_file(&port_file);
        job.environment.push((
            "MEMCACHED_PORT_FILENAME".into(),
            port_file.display().to_string(),
        ));
        let server = job.start()?;
        let load = || -> Result<Option<(Cost, String)>> {
            let Some(port) = wait_for_port(&server, &port_file, self.limit)? else {
                return Ok(None);
            };
            let output = scratch.join(format!("{base}.client"));
            let cost = Job {
                launcher: compile::launcher(self.layout)?,
                words: vec![
                    client.display().to_string(),
                    port,
                    self.size.to_string(),
                    self.threads.to_string(),
                ],
                environment: Vec::new(),
                directory: scratch.to_path_buf(),
                stdout: output.clone(),
                stderr: scratch.join(format!("{base}.client-err")),
                limit: self.limit,
            }
            .run()?;
            Ok(Some((cost, checksum_line(&output))))
        };
        let loaded = load();
        match &loaded {
            Ok(Some((cost, _))) if cost.ended == Ended::Exit(0) => server.terminate(),
            _ => server.kill(),
        }
        let mut cost = server.finish()?;
        match loaded? {
            Some((client, sum)) => {
                if client.ended == Ended::OverLimit {
                    cost.ended = Ended::OverLimit;
                }
                Ok((cost, sum))
            }
            None => Ok((cost, String::new())),
        }
    }

    fn check_end(&self, cost: &Cost, checksum: &str, stderr: &Path) -> Result<()> {
        let name = self.program.name;
        let tool = self.tool.title();
        match cost.ended {
            Ended::OverLimit => return Ok(()),
            Ended::Exit(0) => {}
            Ended::Exit(n) if Some(n) == self.tool.findings_status() && self.program.is_real() => {}
            Ended::Exit(n) if Some(n) == self.tool.findings_status() => {
                return Err(Error::new(format!(
                    "{tool} reported something in {name}, which has no bug: a false alarm; see {}",
                    stderr.display()
                )));
            }
            ended => {
                return Err(Error::new(format!(
                    "{name} under {tool} ended with {ended:?}; see {}",
                    stderr.display()
                )));
            }
        }
        if checksum.is_empty() {
            return Err(Error::new(format!(
                "{name} under {tool} printed no checksum; see {}",
                stderr.display()
            )));
        }
        Ok(())
    }

    /// Keeps what the tool printed beyond the next run, one file for each number of findings: a report that comes in one
    /// run of fifty is lost otherwise.
    fn keep_report(&self, stderr: &Path, base: &str, findings: usize) -> Result<()> {
        let kept = self.layout.cached_dir(REPORTS)?;
        let kept = kept.join(format!("{base}-{findings}.txt"));
        fs::copy(stderr, &kept).map_err(|e| Error::io("cannot write", &kept, &e))?;
        Ok(())
    }

    fn count_findings(&self, stderr: &Path) -> usize {
        let text = fs::read(stderr).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        match self.tool.finding_mark() {
            Some(mark) => text.matches(mark).count(),
            None => 0,
        }
    }
}

/// Reads the line that ends a split check.
fn split(line: &str) -> Option<Split> {
    let rest = line.strip_prefix("deadheat: the checker was done ")?;
    let (lag, rest) = rest.split_once(" ms after the program, which had ")?;
    let program = rest.strip_suffix(" s of the processor")?;
    Some(Split {
        lag: lag.parse().ok()?,
        program: program.parse().ok()?,
    })
}

/// The value of the `checksum` line, or nothing.
fn checksum_line(stdout: &Path) -> String {
    let text = fs::read_to_string(stdout).unwrap_or_default();
    text.lines()
        .find_map(|l| l.strip_prefix("checksum "))
        .unwrap_or_default()
        .to_string()
}

fn hash_of(path: &Path) -> Result<String> {
    let bytes = fs::read(path).map_err(|e| Error::io("cannot read", path, &e))?;
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| {
        (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3)
    });
    Ok(format!("{hash:016x}"))
}

/// Waits until the server has written its port; nothing if it ended or the time is over.
fn wait_for_port(server: &Running, file: &Path, limit: Duration) -> Result<Option<String>> {
    let end = Instant::now() + limit;
    while Instant::now() < end && !server.has_ended() {
        let text = fs::read_to_string(file).unwrap_or_default();
        let line = text.lines().find_map(|l| l.strip_prefix("TCP INET: "));
        if let (Some(port), true) = (line, text.ends_with('\n')) {
            return Ok(Some(port.trim().to_string()));
        }
        // Memcached has no other way to say that it is ready.
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(None)
}

/// A text of `size` bytes that compresses as prose does, made once.
pub fn text_file(scratch: &Path, size: u64) -> Result<PathBuf> {
    let path = scratch.join(format!("text-{size}"));
    if fs::metadata(&path).is_ok_and(|m| m.len() == size) {
        return Ok(path);
    }
    let mut text = Vec::with_capacity(size as usize + 16);
    let mut seed = 0_u64;
    while text.len() < size as usize {
        seed += 1;
        // Squaring the fraction makes some words frequent, as in a language.
        let fraction = (mix64(seed) >> 11) as f64 / (1_u64 << 53) as f64;
        let mut letters = mix64((fraction * fraction * 6000.0) as u64);
        for _ in 0..2 + letters % 9 {
            text.push(b'a' + (letters % 26) as u8);
            letters /= 26;
        }
        text.push(if seed.is_multiple_of(11) { b'\n' } else { b' ' });
    }
    text.truncate(size as usize);
    fs::write(&path, text).map_err(|e| Error::io("cannot write", &path, &e))?;
    Ok(path)
}

fn mix64(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_split_check_is_read() {
        let line = "deadheat: the checker was done 1.5 ms after the program, which had 0.250 s of the processor";
        let read = Split {
            lag: 1.5,
            program: 0.25,
        };
        assert_eq!(split(line), Some(read));
        assert_eq!(split("deadheat: nothing found"), None);
    }
}
