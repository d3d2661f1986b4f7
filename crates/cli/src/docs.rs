//! Help, manual page, completions and `docs/options.md`, all made from the table of options.

use crate::options::{COMMANDS, Command, OPTIONS, OptionSpec, Shape};
use std::fmt::Write;

/// The version line.
#[must_use]
pub fn version() -> String {
    format!(
        "deadheat {} (runtime {})\n",
        env!("CARGO_PKG_VERSION"),
        env!("DEADHEAT_RUNTIME_HASH")
    )
}

/// The overall help.
#[must_use]
pub fn help() -> String {
    let mut out = String::from(
        "deadheat finds data races and other concurrency bugs in C and C++ programs and GPU kernels.\n\n\
         Try it:\n  deadheat run bank.c -- 100            compile, run, report\n  \
         CC=\"deadheat cc\" make && deadheat run ./prog\n\nCommands:\n",
    );
    for command in COMMANDS.iter().filter(|c| !c.hidden) {
        let _ = writeln!(out, "  {:<13} {}", command.name, command.summary);
    }
    out.push_str("\ndeadheat help COMMAND tells more. Options also come from DEADHEAT_OPTIONS and deadheat.toml.\n");
    out
}

/// The help of one command.
#[must_use]
pub fn command_help(command: &Command) -> String {
    let mut out = String::new();
    for (at, usage) in command.usage.iter().enumerate() {
        let head = if at == 0 { "usage:" } else { "      " };
        let _ = writeln!(
            out,
            "{}",
            format!("{head} deadheat {} {usage}", command.name).trim_end()
        );
    }
    let _ = writeln!(out, "\n{}", sentence(command.summary));
    if !command.about.is_empty() {
        let _ = writeln!(out, "{}", command.about);
    }
    if !command.own.is_empty() || !command.options.is_empty() {
        out.push_str("\nOptions:\n");
    }
    for own in command.own {
        entry(
            &mut out,
            format!("{} {}", own.name, own.meta).trim_end(),
            own.help,
        );
    }
    for spec in options_of(command) {
        entry(&mut out, &usage(spec), &with_default(spec));
    }
    out
}

fn entry(out: &mut String, flag: &str, help: &str) {
    let _ = if flag.len() > 26 {
        writeln!(out, "  {flag}\n  {:26} {help}", "")
    } else {
        writeln!(out, "  {flag:26} {help}")
    };
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| {
        format!("{}{}.", first.to_uppercase(), chars.as_str())
    })
}

fn options_of(command: &Command) -> impl Iterator<Item = &'static OptionSpec> {
    command.options.iter().map(|key| &OPTIONS[*key as usize])
}

fn usage(spec: &OptionSpec) -> String {
    match (spec.shape, spec.default) {
        (Shape::Switch, "on") => format!("--no-{}", spec.name),
        (Shape::Switch, _) => format!("--{}", spec.name),
        _ => format!("--{} {}", spec.name, spec.meta),
    }
}

fn with_default(spec: &OptionSpec) -> String {
    match (spec.shape, spec.default) {
        (Shape::Switch, "on") => format!("do not {}", spec.help),
        (Shape::Switch, _) | (_, "") => spec.help.to_owned(),
        (_, default) => format!("{} [{default}]", spec.help),
    }
}

/// `docs/options.md`.
#[must_use]
pub fn options_page() -> String {
    let mut out = String::from(
        "# Options\n\n\
         <!-- Made from the table in crates/cli/src/options/table.rs by `make docs`; a test compares. -->\n\n\
         Every option has one name. It is a flag (`--exit-code 3`, `--no-races`), a key of `DEADHEAT_OPTIONS`\n\
         (`exit-code=3:races=0`, words separated by colons, commas or spaces, values with those in quotes) and a key of\n\
         `deadheat.toml` (`exit-code = 3`), which is looked for in the working directory and above. Later wins: default,\n\
         `deadheat.toml`, `TSAN_OPTIONS`, `DEADHEAT_OPTIONS`, flag; files of suppressions add up.\n\n\
         | option | value | default | what it does | in `TSAN_OPTIONS` |\n|---|---|---|---|---|\n",
    );
    for spec in OPTIONS {
        let value = match spec.shape {
            Shape::Switch => "on, off".to_owned(),
            Shape::Number { max } => format!("0 to {max}"),
            Shape::Choice(words) => words.join(", "),
            Shape::Word => "a name".to_owned(),
            Shape::File => "a file".to_owned(),
            Shape::Files => "a file, repeatable".to_owned(),
        };
        let tsan: Vec<String> = spec.tsan.iter().map(|t| format!("`{t}`")).collect();
        let _ = writeln!(
            out,
            "| `{}` | {value} | {} | {} | {} |",
            spec.name,
            spec.default,
            spec.help,
            tsan.join(", ")
        );
    }
    out.push_str(
        "\n`TSAN_OPTIONS` is read so that scripts written for ThreadSanitizer keep working: the keys above are\n\
         translated, its other keys tune what does not exist here and are ignored, and `log_path` gets the process id\n\
         behind it as there. What a program returns from `__tsan_default_options` is read in the same way; it holds where\n\
         nobody says otherwise.\n\n## Commands\n\n",
    );
    for command in COMMANDS.iter().filter(|c| !c.hidden) {
        let _ = writeln!(
            out,
            "### deadheat {}\n\n```\n{}```\n",
            command.name,
            command_help(command)
        );
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// The manual page, for `man`.
#[must_use]
pub fn manual() -> String {
    let mut out = format!(
        ".TH DEADHEAT 1 \"\" \"deadheat {}\" \"User Commands\"\n.SH NAME\ndeadheat \\- find data races and other concurrency \
         bugs in C and C++ programs\n.SH SYNOPSIS\n",
        env!("CARGO_PKG_VERSION")
    );
    for command in COMMANDS.iter().filter(|c| !c.hidden) {
        for usage in command.usage {
            let _ = writeln!(
                out,
                ".B deadheat {}\n{}\n.br",
                roff(command.name),
                roff(usage)
            );
        }
    }
    out.push_str(".SH COMMANDS\n");
    for command in COMMANDS.iter().filter(|c| !c.hidden) {
        let _ = writeln!(
            out,
            ".TP\n.B {}\n{}",
            roff(command.name),
            roff(&sentence(command.summary))
        );
        for line in command.about.lines() {
            let _ = writeln!(out, "{}", roff(line));
        }
        for own in command.own {
            let _ = writeln!(
                out,
                ".RS\n.TP\n.B {}\n{}\n.RE",
                roff(format!("{} {}", own.name, own.meta).trim_end()),
                roff(own.help)
            );
        }
    }
    out.push_str(".SH OPTIONS\n");
    for spec in OPTIONS {
        let _ = writeln!(
            out,
            ".TP\n.B {}\n{}",
            roff(&usage(spec)),
            roff(&sentence(&with_default(spec)))
        );
    }
    out.push_str(
        ".SH ENVIRONMENT\n.TP\n.B DEADHEAT_OPTIONS\nOptions as name=value, separated by colons.\n\
         .TP\n.B TSAN_OPTIONS\nThreadSanitizer's common options are understood.\n\
         .TP\n.B DEADHEAT_CC, DEADHEAT_CXX\nThe compilers behind deadheat cc and deadheat c++.\n\
         .TP\n.B DEADHEAT_COLLECTOR\nThe deadheat that reports for programs started on their own.\n\
         .TP\n.B NO_COLOR\nNo colours unless --color always.\n\
         .SH FILES\n.TP\n.I deadheat.toml\nOptions of a project, looked for in the working directory and above.\n\
         .TP\n.I ~/.cache/deadheat\nThe unpacked runtime.\n\
         .TP\n.I ~/.local/state/deadheat/last.json\nThe findings of the last run, for deadheat explain.\n\
         .SH EXIT STATUS\nThe program's own when nothing was found, 128+N when signal N killed it; 1 (see \\-\\-exit\\-code) when bugs \
         were found; 2 when Deadheat itself failed.\n",
    );
    out
}

fn roff(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('-', "\\-");
    if text.starts_with(['.', '\'']) {
        format!("\\&{text}")
    } else {
        text
    }
}

/// Completions for a shell; `None` for one that is not known.
#[must_use]
pub fn completions(shell: &str) -> Option<String> {
    match shell {
        "bash" => Some(bash()),
        "zsh" => Some(zsh()),
        "fish" => Some(fish()),
        _ => None,
    }
}

fn flags(command: &Command) -> Vec<(String, &'static str, Shape, &'static str)> {
    let own = command.own.iter().map(|o| {
        let shape = if o.meta.is_empty() {
            Shape::Switch
        } else {
            Shape::File
        };
        (o.name.to_owned(), o.meta, shape, o.help)
    });
    let table = options_of(command).map(|spec| {
        let name = usage(spec).split(' ').next().unwrap_or_default().to_owned();
        (name, spec.meta, spec.shape, spec.help)
    });
    own.chain(table).collect()
}

fn visible() -> impl Iterator<Item = &'static Command> {
    COMMANDS.iter().filter(|c| !c.hidden)
}

/// What stands behind `deadheat gpu`.
const GPU_VERBS: [&str; 5] = ["check", "run", "cc", "instrument", "ptx"];

fn bash() -> String {
    let names: Vec<&str> = visible().map(|c| c.name).collect();
    let mut out = format!(
        "_deadheat() {{\n  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} words=\n  \
         COMPREPLY=()\n  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    COMPREPLY=($(compgen -W '{} --version --help' -- \"$word\"))\n    \
         return\n  fi\n  case $before in\n",
        names.join(" ")
    );
    for spec in OPTIONS {
        if let Shape::Choice(words) = spec.shape {
            let _ = writeln!(
                out,
                "    --{}) COMPREPLY=($(compgen -W '{}' -- \"$word\")); return ;;",
                spec.name,
                words.join(" ")
            );
        }
    }
    out.push_str("  esac\n  case ${COMP_WORDS[1]} in\n");
    for command in visible() {
        let mut words: Vec<String> = flags(command).into_iter().map(|f| f.0).collect();
        match command.name {
            "completions" => words.extend(["bash", "zsh", "fish"].map(str::to_owned)),
            "gpu" => words.extend(GPU_VERBS.map(str::to_owned)),
            "help" => words.extend(names.iter().map(|n| (*n).to_owned())),
            _ => {}
        }
        let _ = writeln!(out, "    {}) words='{}' ;;", command.name, words.join(" "));
    }
    out.push_str(
        "  esac\n  case $word in\n    -*) COMPREPLY=($(compgen -W \"$words\" -- \"$word\")) ;;\n    \
         *) COMPREPLY=($(compgen -W \"${words//--*( )/}\" -- \"$word\") $(compgen -f -- \"$word\")) ;;\n  esac\n}\n\
         complete -o filenames -F _deadheat deadheat\n",
    );
    out.replace(
        "\"${words//--*( )/}\"",
        "\"$(printf '%s\\n' $words | grep -v '^-')\"",
    )
}

fn zsh() -> String {
    let quote = |text: &str| {
        text.replace('\'', "'\\''")
            .replace('[', "\\[")
            .replace(']', "\\]")
            .replace(':', "\\:")
    };
    let mut out = String::from(
        "#compdef deadheat\n_deadheat() {\n  if (( CURRENT == 2 )); then\n    local -a commands=(\n",
    );
    for command in visible() {
        let _ = writeln!(out, "      '{}:{}'", command.name, quote(command.summary));
    }
    out.push_str("    )\n    _describe command commands\n    return\n  fi\n  case $words[2] in\n");
    for command in visible() {
        let _ = writeln!(out, "    {})\n      _arguments \\", command.name);
        for (name, meta, shape, help) in flags(command) {
            let value = match shape {
                Shape::Switch => String::new(),
                Shape::Choice(words) => format!(":{meta}:({})", words.join(" ")),
                Shape::Number { .. } | Shape::Word => format!(":{meta}:"),
                Shape::File | Shape::Files => format!(":{meta}:_files"),
            };
            let _ = writeln!(out, "        '{name}[{}]{value}' \\", quote(help));
        }
        let rest = match command.name {
            "completions" => "'2:shell:(bash zsh fish)'".to_owned(),
            "help" => format!(
                "'2:command:({})'",
                visible().map(|c| c.name).collect::<Vec<_>>().join(" ")
            ),
            "gpu" => format!("'2:what:({})' '*:file:_files'", GPU_VERBS.join(" ")),
            _ => "'*:file:_files'".to_owned(),
        };
        let _ = writeln!(out, "        {rest} ;;");
    }
    out.push_str("  esac\n}\n_deadheat \"$@\"\n");
    out
}

fn fish() -> String {
    let quote = |text: &str| text.replace('\\', "\\\\").replace('\'', "\\'");
    let mut out = String::new();
    for command in visible() {
        let _ = writeln!(
            out,
            "complete -c deadheat -n __fish_use_subcommand -f -a {} -d '{}'",
            command.name,
            quote(command.summary)
        );
    }
    for command in visible() {
        for (name, _, shape, help) in flags(command) {
            let value = match shape {
                Shape::Switch => String::new(),
                Shape::Choice(words) => format!(" -x -a '{}'", words.join(" ")),
                Shape::Number { .. } | Shape::Word => " -x".to_owned(),
                Shape::File | Shape::Files => " -r -F".to_owned(),
            };
            let _ = writeln!(
                out,
                "complete -c deadheat -n '__fish_seen_subcommand_from {}' -l {}{value} -d '{}'",
                command.name,
                &name[2..],
                quote(help)
            );
        }
    }
    let _ = writeln!(
        out,
        "complete -c deadheat -n '__fish_seen_subcommand_from gpu' -a '{}'",
        GPU_VERBS.join(" ")
    );
    out.push_str(
        "complete -c deadheat -n '__fish_seen_subcommand_from completions' -f -a 'bash zsh fish'\n",
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_in_every_document() {
        let run = crate::options::command("run").expect("a command");
        for (document, text) in [
            ("help", command_help(run)),
            ("options.md", options_page()),
            ("manual", manual().replace("\\-", "-")),
            ("bash", bash()),
            ("zsh", zsh()),
            ("fish", fish().replace("-l ", "-l --")),
        ] {
            for spec in OPTIONS {
                let name = usage(spec).split(' ').next().unwrap_or_default().to_owned();
                assert!(text.contains(&name), "{name} is missing in {document}");
            }
            for command in visible() {
                assert!(
                    text.contains(command.name) || document == "help",
                    "{} is missing in {document}",
                    command.name
                );
            }
        }
    }

    #[test]
    fn the_committed_page_is_in_step() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/options.md");
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            committed == options_page(),
            "docs/options.md is stale: make docs"
        );
    }
}
