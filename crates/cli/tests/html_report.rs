//! The HTML page in a real browser: what a person sees and clicks, in headless Chromium.
//!
//! `scripts/setup.sh test` installs Chromium. Where there is none for a machine, `DEADHEAT_NO_BROWSER=1` leaves this
//! test out.

mod common;

use common::{Folder, run, succeed, text};
use std::fs;
use std::process::Command;

/// One race and one misused mutex, in every schedule.
const PROGRAM: &str = r"#include <pthread.h>
int shared;
static void *work(void *arg) { shared = *(int *)arg; return 0; }
int main(void) {
    pthread_t a, b;
    int one = 1, two = 2;
    pthread_create(&a, 0, work, &one);
    pthread_create(&b, 0, work, &two);
    pthread_join(a, 0);
    pthread_join(b, 0);
    pthread_mutex_t never_locked = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_unlock(&never_locked);
    return 0;
}
";

/// Stands before everything else in the page, so that no mistake of its own script goes unseen.
const WATCH: &str = r#"<script>
var mistakes = [];
addEventListener("error", (event) => mistakes.push(event.message));
addEventListener("securitypolicyviolation", (event) => mistakes.push("asks for " + event.blockedURI));
</script>"#;

/// Does what a person would, and writes down what there is to see, one line each.
const VISIT: &str = r##"<script>
{
  const all = (query) => Array.from(document.querySelectorAll(query));
  const seen = (element) => element.getClientRects().length > 0;
  const told = [];
  const tell = (name, value) => told.push(name + " = " + value);
  const shown = () => all("article").filter(seen).map((a) => a.id + " " + a.dataset.kind).join(", ");
  const listed = () => all("#list li").filter(seen).length;
  const filter = document.getElementById("filter");
  const type = (word) => { filter.value = word; filter.dispatchEvent(new Event("input")); };

  tell("listed", listed());
  tell("first", shown());
  const race = document.getElementById("finding-1");
  const sides = [0, 1].map((n) => race.querySelector(`[data-access="${n}"]`).getBoundingClientRect());
  tell("beside each other", sides[0].right <= sides[1].left && Math.abs(sides[0].top - sides[1].top) < 2);
  tell("source", race.textContent.includes("shared = *(int *)arg"));
  const drawing = race.querySelector("svg.timeline").getBoundingClientRect();
  tell("timeline drawn", drawing.width > 200 && drawing.height > 50);
  tell("threads drawn", /T1/.test(race.querySelector("svg.timeline").textContent) &&
    /T2/.test(race.querySelector("svg.timeline").textContent));
  all("#list a")[1].click();
  tell("after a click", shown());
  document.dispatchEvent(new KeyboardEvent("keydown", { key: "k" }));
  tell("after k", shown());
  type("never_locked no-such-word");
  tell("no match", listed() + " " + shown() + document.getElementById("count").textContent);
  document.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
  tell("after escape", listed());
  document.querySelector('[data-filter-kind="unlock-not-held"]').click();
  tell("one kind", shown());
  document.getElementById("theme").click();
  tell("theme", document.documentElement.dataset.theme);
  tell("sideways", document.documentElement.scrollWidth > innerWidth);
  tell("mistakes", mistakes.join("; "));
  const out = document.createElement("pre");
  out.id = "told";
  out.textContent = told.join("\n");
  document.body.append(out);
}
</script></body>"##;

const EXPECTED: &str = "\
listed = 2
first = finding-1 data-race
beside each other = true
source = true
timeline drawn = true
threads drawn = true
after a click = finding-2 unlock-not-held
after k = finding-1 data-race
no match = 0 0 of 2
after escape = 2
one kind = finding-2 unlock-not-held
theme = dark
sideways = false
mistakes = ";

fn browser(folder: &Folder) -> Option<Command> {
    let found = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| {
            Command::new(name)
                .arg("--version")
                .output()
                .is_ok_and(|o| o.status.success())
        });
    let Some(name) = found else {
        let wanted = std::env::var_os("DEADHEAT_NO_BROWSER").is_none_or(|value| value != "1");
        assert!(
            !wanted,
            "there is no Chromium: scripts/setup.sh test installs it, DEADHEAT_NO_BROWSER=1 goes without"
        );
        eprintln!("skipped: no Chromium, so nobody looked at the HTML report");
        return None;
    };
    let mut command = folder.command(name);
    command
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .args(["--disable-dev-shm-usage", "--window-size=1400,1000"])
        .arg(format!(
            "--user-data-dir={}",
            folder.path().join("browser").display()
        ));
    Some(command)
}

#[test]
fn the_page_shows_both_sides_and_answers_clicks_and_keys() {
    let folder = Folder::new("html");
    let Some(mut browser) = browser(&folder) else {
        return;
    };
    folder.file("two.c", PROGRAM);
    let ran = run(&mut folder.deadheat("run --format html --log page.html two.c"));
    assert_eq!(ran.status.code(), Some(1), "{}", text(&ran.stderr));
    let page = folder.read("page.html");
    assert!(page.contains("<head>") && page.contains("</body>"));
    let page = page
        .replacen("<head>", &format!("<head>{WATCH}"), 1)
        .replacen("</body>", VISIT, 1);
    let visited = folder.path().join("visited.html");
    fs::write(&visited, page).expect("a file");
    let url = format!("file://{}", visited.display());
    let dom = text(&succeed(browser.arg("--dump-dom").arg(url)).stdout);
    let told = dom
        .split_once("<pre id=\"told\">")
        .and_then(|(_, rest)| rest.split_once("</pre>"))
        .unwrap_or_else(|| panic!("the visit did not end:\n{dom}"))
        .0;
    assert_eq!(told, EXPECTED);
}
