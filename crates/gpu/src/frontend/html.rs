//! Findings as one HTML page without anything from elsewhere.

use super::session::Report;
use super::sinks::finding;

fn escape(s: &str) -> String {
    s.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// The whole report as a page.
pub fn page(r: &Report) -> String {
    let mut s = String::from(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>deadheat gpu</title><style>\
         body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}\
         details{border:1px solid #ccc;border-radius:6px;margin:.8rem 0;padding:.4rem .8rem}\
         summary{cursor:pointer;font-weight:600}pre{overflow-x:auto;font:13px/1.4 ui-monospace,monospace}\
         .note summary{color:#666}.kind{color:#b00020}\
         @media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}details{border-color:#444}.kind{color:#ff8a80}}\
         </style>",
    );
    s.push_str(&format!(
        "<h1>{} bugs in {} launches</h1>",
        r.bugs(),
        r.launches.len()
    ));
    for f in r.findings() {
        let class = if f.benign { "note" } else { "bug" };
        let a = f.accesses.first();
        let at = a.map_or(String::new(), |a| format!("{}:{}", a.file, a.line));
        s.push_str(&format!(
            "<details open class=\"{class}\"><summary><span class=\"kind\">{}</span> {} <small>{}</small></summary><pre>{}</pre></details>",
            escape(&f.kind),
            escape(&f.message),
            escape(&at),
            escape(&finding(f, false))
        ));
    }
    for n in &r.notes {
        s.push_str(&format!("<p>{}</p>", escape(n)));
    }
    s.push_str("</html>\n");
    s
}
