"use strict";
(function () {
  const articles = Array.from(document.querySelectorAll("article"));
  const items = Array.from(document.querySelectorAll("#list li"));
  const filter = document.getElementById("filter");
  const count = document.getElementById("count");
  const empty = document.getElementById("empty");
  const chips = Array.from(document.querySelectorAll("[data-filter-kind]"));
  const root = document.documentElement;
  let kind = null;
  let current = null;

  const texts = new Map(articles.map((article) => [article.dataset.id, article.textContent.toLowerCase()]));

  function visible() {
    return items.filter((item) => !item.hidden).map((item) => item.dataset.id);
  }

  // `focus`: a person asked for it, so the address and the keyboard follow.
  function show(id, focus) {
    current = id;
    for (const article of articles) {
      article.hidden = article.dataset.id !== id;
      if (focus && !article.hidden) {
        article.focus({ preventScroll: true });
      }
    }
    for (const item of items) {
      const link = item.querySelector("a");
      link.classList.toggle("current", item.dataset.id === id);
      if (item.dataset.id === id) {
        link.setAttribute("aria-current", "true");
        item.scrollIntoView({ block: "nearest" });
      } else {
        link.removeAttribute("aria-current");
      }
    }
    if (focus && id !== null) {
      history.replaceState(null, "", "#finding-" + id);
    }
  }

  function apply() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const item of items) {
      const text = texts.get(item.dataset.id) || "";
      const fits = words.every((word) => text.includes(word));
      item.hidden = !fits || (kind !== null && item.dataset.kind !== kind);
    }
    const left = visible();
    count.textContent = left.length + " of " + items.length;
    empty.hidden = left.length > 0 && items.length > 0;
    if (left.length === 0) {
      show(null, false);
    } else if (!left.includes(current)) {
      show(left[0], false);
    }
  }

  function move(step) {
    const left = visible();
    if (left.length === 0) {
      return;
    }
    const at = left.indexOf(current) + step;
    show(left[Math.min(Math.max(at, 0), left.length - 1)], true);
    window.scrollTo(0, 0);
  }

  function theme() {
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : window.matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  }

  filter.addEventListener("input", apply);
  document.getElementById("theme").addEventListener("click", theme);
  for (const chip of chips) {
    chip.addEventListener("click", () => {
      kind = kind === chip.dataset.filterKind ? null : chip.dataset.filterKind;
      for (const other of chips) {
        other.setAttribute("aria-pressed", String(other.dataset.filterKind === kind));
      }
      apply();
    });
  }
  for (const item of items) {
    item.querySelector("a").addEventListener("click", (event) => {
      event.preventDefault();
      show(item.dataset.id, true);
      window.scrollTo(0, 0);
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    if (event.key === "Escape") {
      filter.value = "";
      filter.blur();
      apply();
      return;
    }
    if (document.activeElement === filter) {
      return;
    }
    switch (event.key) {
      case "j":
      case "ArrowRight":
        move(1);
        break;
      case "k":
      case "ArrowLeft":
        move(-1);
        break;
      case "/":
        event.preventDefault();
        filter.focus();
        break;
      case "t":
        theme();
        break;
      default:
    }
  });
  const wanted = location.hash.replace("#finding-", "");
  if (items.length > 0) {
    show(texts.has(wanted) ? wanted : items[0].dataset.id, false);
  }
})();
