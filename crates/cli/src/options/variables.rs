//! `DEADHEAT_OPTIONS`, and those keys of `TSAN_OPTIONS` that mean something here.

use super::parse::{Value, parse_value, parse_words};
use super::table::{Key, OPTIONS, OptionSpec};
use crate::error::{Failure, Result};

/// One option and its value.
pub type Setting = (&'static OptionSpec, Value);

/// Our own variable.
pub const OWN: &str = "DEADHEAT_OPTIONS";
/// ThreadSanitizer's.
pub const TSAN: &str = "TSAN_OPTIONS";
/// The function by which a program says the same of itself.
pub const PROGRAM: &str = "__tsan_default_options";

/// Keys of ThreadSanitizer that ask for nothing here: what they tune does not exist, or is always so.
#[rustfmt::skip] // one word a line would hide the rest of the file
const WITHOUT_MEANING: &[&str] = &[
    "abort_on_error", "allocator_may_return_null", "allocator_release_to_os_interval_ms",
    "allow_addr2line", "atexit_sleep_ms", "background_thread", "can_poison_memory", "check_printf",
    "clear_shadow_mmap_threshold", "coverage", "coverage_dir", "dedup_token_length", "detect_leaks",
    "die_after_fork", "disable_coredump", "enable_annotations", "external_symbolizer_path",
    "fast_unwind_on_fatal", "fast_unwind_on_malloc", "flush_memory_ms", "flush_symbolizer_ms",
    "force_background_thread", "force_seq_cst_atomics", "full_address_space", "handle_abort",
    "handle_ioctl", "handle_segv", "handle_sigbus", "handle_sigfpe", "handle_sigill", "help",
    "heap_profile", "history_size", "html_cov_report", "ignore_interceptors_accesses", "include",
    "include_if_exists", "intercept_send", "intercept_strchr", "intercept_strcmp",
    "intercept_strlen", "intercept_strstr", "intercept_tls_get_addr", "io_sync",
    "legacy_pthread_cond", "lock_during_write", "log_exe_name", "log_suffix", "log_to_syslog",
    "malloc_context_size", "max_allocation_size_mb", "mmap_limit_mb", "memory_limit_mb",
    "no_huge_pages_for_shadow", "print_benign", "print_cmdline", "print_full_thread_history",
    "print_module_map", "print_summary", "print_suppressions", "profile_memory",
    "running_on_valgrind", "second_deadlock_stack", "shared_ptr_interceptor",
    "sleep_between_reports_ms", "soft_rss_limit_mb", "hard_rss_limit_mb", "stack_trace_format",
    "stop_on_start", "strict_string_checks", "strip_path_prefix", "suppress_equal_addresses",
    "suppress_equal_stacks", "suppress_java", "suppress_frame_pcs", "symbolize",
    "symbolize_inline_frames", "symbolize_vs_style", "test_only_emulate_no_memorymap",
    "test_only_replace_dlopen_main_program", "unmap_shadow_on_exit", "use_madv_dontdump",
    "use_sigaltstack", "use_munmap", "verbosity", "verify_interceptors", "adaptive_delay",
    "report_thread_leaks_on_exit",
];

/// Reads `DEADHEAT_OPTIONS`.
pub fn own(text: &str) -> Result<Vec<Setting>> {
    let words = parse_words(text).map_err(|what| Failure::new(format!("{OWN}: {what}")))?;
    words
        .into_iter()
        .map(|(key, value)| {
            let name = key.replace('_', "-");
            let Some(spec) = OPTIONS.iter().find(|o| o.name == name) else {
                let failure = Failure::new(format!("{OWN}: there is no option `{key}`"));
                return Err(
                    match super::nearest(&name, OPTIONS.iter().map(|o| o.name)) {
                        Some(meant) => failure.next(format!("did you mean `{meant}`?")),
                        None => failure.next("deadheat help run lists the options"),
                    },
                );
            };
            let value =
                parse_value(spec, &value).map_err(|what| Failure::new(format!("{OWN}: {what}")))?;
            Ok((spec, value))
        })
        .collect()
}

/// Reads `TSAN_OPTIONS`, or what else is written in that way, as `source` tells. Keys that are not ThreadSanitizer's at all come back as warnings: they are not ours to judge.
pub fn tsan(source: &str, text: &str) -> Result<(Vec<Setting>, Vec<String>)> {
    let words = parse_words(text).map_err(|what| Failure::new(format!("{source}: {what}")))?;
    let mut out = Vec::new();
    let mut unknown = Vec::new();
    for (key, value) in words {
        let Some(spec) = OPTIONS.iter().find(|o| o.tsan.contains(&key.as_str())) else {
            if !WITHOUT_MEANING.contains(&key.as_str()) {
                unknown.push(key);
            }
            continue;
        };
        let value = match spec.key {
            // ThreadSanitizer puts the process id behind the name.
            Key::Log if !super::settings::is_stream(&value) => format!("{value}.%p"),
            // There an empty name means none.
            Key::Suppressions if value.is_empty() => continue,
            _ => value,
        };
        let value = parse_value(spec, &value)
            .map_err(|what| Failure::new(format!("{source}: `{key}`: {what}")))?;
        out.push((spec, value));
    }
    Ok((out, unknown))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(list: &[(&'static OptionSpec, Value)]) -> String {
        list.iter()
            .map(|(s, v)| format!("{}={v:?}", s.name))
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn own_keys_are_read_with_either_dash() {
        let got = own("halt_on_error=1:exit-code=3 quiet").expect("reads");
        assert_eq!(
            show(&got),
            "halt-on-error=Switch(true) exit-code=Number(3) quiet=Switch(true)"
        );
        assert_eq!(
            own("quite").unwrap_err().to_string(),
            "deadheat: DEADHEAT_OPTIONS: there is no option `quite`\n  did you mean `quiet`?"
        );
    }

    #[test]
    fn tsan_keys_are_translated() {
        let (got, unknown) = tsan(
            TSAN,
            "halt_on_error=1 exitcode=66 log_path=a report_thread_leaks=0 verbosity=1 nonsense=3",
        )
        .expect("reads");
        assert_eq!(
            show(&got),
            "halt-on-error=Switch(true) exit-code=Number(66) log=Word(\"a.%p\") thread-leaks=Switch(false)"
        );
        assert_eq!(unknown, ["nonsense"]);
    }

    #[test]
    fn keys_without_meaning_are_not_options_too() {
        for key in WITHOUT_MEANING {
            assert!(OPTIONS.iter().all(|o| !o.tsan.contains(key)), "{key}");
        }
    }
}
