// Elements and texts. Nothing here reads text as HTML: what Redis has is shown, never interpreted.

/** An element; `attributes` that are functions are listeners, null ones are left out. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  return fill(element, attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  return fill(element, attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

/** Replaces what is in an element. The focus stays on what has the same id, or leads to the same place; so does the scrolling. */
export function refill(element, ...children) {
  const focused = element.contains(document.activeElement) ? document.activeElement : null;
  const link = focused?.getAttribute("href");
  const alike = focused?.id ? `#${CSS.escape(focused.id)}` : link ? `a[href="${CSS.escape(link)}"]` : null;
  const at = alike ? [...element.querySelectorAll(alike)].indexOf(focused) : -1;
  const scrolled = [...element.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
  element.replaceChildren(...children);
  element.querySelectorAll(".scroll").forEach((each, i) => { each.scrollLeft = scrolled[i] ?? 0; });
  if (at < 0) return;
  const same = element.querySelectorAll(alike);
  (same[at] ?? same[0])?.focus({ preventScroll: true });
}

const harmful = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** A name as one short line: characters that can't be seen, or that change others, as \u{code}. */
export function shown(text, most = 120) {
  if (text === null || text === undefined) return "";
  const cut = text.length > most ? text.slice(0, most) + "…" : text;
  return cut.replace(harmful, (letter) => `\\u{${letter.codePointAt(0).toString(16)}}`);
}

export function duration(ms) {
  if (ms === null || ms === undefined) return "–";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return `${(ms / 1000).toFixed(seconds < 10 ? 1 : 0)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor((seconds % 86400) / 3600)} h`;
}

/** In the viewer's zone. */
export function clock(at) {
  const time = new Date(at);
  const today = new Date().toDateString() === time.toDateString();
  return today ? time.toLocaleTimeString() : time.toLocaleString();
}

/** "web-3 pid 812 ‘nightly import’" */
export function processText(process) {
  if (!process) return "–";
  if (!process.host) return `unknown (${shown(process.owner, 48)})`;
  const label = process.label ? ` ‘${shown(process.label)}’` : "";
  return `${shown(process.host)} pid ${process.pid}${label}`;
}

/** A process is a client of Holdfast's, by the beginning of its owner ids. */
export const clientOf = (process) => process.owner.slice(0, 36);

const longest = new Map();

/** What is left of a ttl, as a bar that shrinks; `key` says of what. */
export function ttlBar(key, ttl) {
  if (ttl === null || ttl === undefined) return h("span", { class: "soft" }, "none");
  if (longest.size > 5000) longest.clear();
  longest.set(key, Math.max(longest.get(key) ?? 0, ttl));
  const bar = h("progress", { max: longest.get(key), value: ttl, "aria-label": "left of the ttl" });
  return h("span", { class: "ttl", "data-ends": performance.now() + ttl }, bar, " ", h("span", {}, duration(ttl)));
}

/** A time that grows. */
export function growing(ms) {
  if (ms === null || ms === undefined) return "–";
  return h("span", { class: "grows", "data-began": performance.now() - ms }, duration(ms));
}

/** Once a second. */
export function tick() {
  const now = performance.now();
  for (const each of document.querySelectorAll(".ttl")) {
    const left = Math.max(0, each.dataset.ends - now);
    each.firstChild.value = left;
    each.lastChild.textContent = duration(left);
  }
  for (const each of document.querySelectorAll(".grows")) each.textContent = duration(now - each.dataset.began);
}

export function table(caption, titles, rows, attributes = {}) {
  const head = titles.map((title) => h("th", { scope: "col" }, title));
  const body = rows.map((row) => h("tr", row.attributes ?? {}, row.cells.map((cell, i) =>
    h("td", { "data-title": titles[i], class: i === 0 ? "name" : null }, cell))));
  return h("div", { class: "scroll" },
    h("table", { class: "list", ...attributes }, h("caption", {}, caption), h("thead", {}, h("tr", {}, head)), h("tbody", {}, body)));
}
