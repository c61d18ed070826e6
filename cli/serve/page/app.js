// The page: which view is shown, the events that keep it fresh, and the keys.
import { NoAnswer, NoToken, follow, get, openSession, post, session } from "./api.js";
import { clock, h, shown, tick } from "./dom.js";
import { ListView } from "./list.js";
import { LockView } from "./lock.js";
import { BlockingView, FindingsView, ProcessesView } from "./views.js";

const views = [["locks", "Locks", ListView], ["blocking", "Who blocks whom", BlockingView], ["processes", "Processes", ProcessesView], ["findings", "Findings", FindingsView]];
const $ = (id) => document.getElementById(id);
const state = { view: null, path: "", parameters: {}, deployments: [], paused: false, source: null, lostSince: null, timer: 0, loading: false, again: false };

/** "#/locks?q=orders&d=d0" */
function href(path, parameters) {
  const all = { d: state.parameters.d, ...parameters };
  const query = new URLSearchParams(Object.entries(all).filter(([, value]) => value !== "" && value !== null && value !== undefined));
  return `#/${path}${query.size ? `?${query}` : ""}`;
}

const context = {
  href,
  go(path, parameters) { location.replace(href(path, parameters)); },
  reload() { schedule(0); },
  dialog: openDialog,
};

function openDialog(title, texts, buttons) {
  const dialog = $("dialog");
  const made = buttons.map(([text, act], i) => h("button", { type: "button", class: act ? "danger" : null, autofocus: i === 0, click: async () => {
    dialog.close();
    try {
      if (act) await act();
    } catch (problem) {
      openDialog("That failed", [problem.message], [["Close", null]]);
    }
  } }, text));
  dialog.replaceChildren(h("h2", { id: "dialog_title" }, title), ...texts.map((text) => h("p", {}, text)), h("div", { class: "buttons" }, made));
  if (!dialog.open) dialog.showModal();
}

function askForToken(message = "") {
  const dialog = $("dialog");
  if (dialog.open && dialog.querySelector("input")) return;
  const input = h("input", { type: "password", name: "token", "aria-label": "Token", autocomplete: "current-password", required: true });
  const form = h("form", { submit: async (event) => {
    event.preventDefault();
    try {
      await post("login", { token: input.value });
      location.reload();
    } catch (problem) {
      dialog.close();
      askForToken(problem instanceof NoToken ? "That token is wrong." : problem.message);
    }
  } }, input, h("button", { type: "submit" }, "Log in"));
  dialog.replaceChildren(h("h2", { id: "dialog_title" }, "This page needs a token"), h("p", { class: "problem" }, message), form);
  if (!dialog.open) dialog.showModal();
}

function showState() {
  const here = state.deployments.find((each) => each.id === state.parameters.d) ?? state.deployments[0];
  let text = "";
  let bad = true;
  if (state.lostSince) text = `holdfast serve doesn't answer since ${clock(state.lostSince)}; trying again. This is what it showed last.`;
  else if (here && !here.reachable && here.trouble) text = `${here.url.startsWith("etcd") ? "etcd" : "Redis"} doesn't answer since ${clock(here.since)}; this is the last state. ${shown(here.trouble, 500)}`;
  else {
    bad = false;
    text = state.paused ? "Paused." : here ? `${here.url}: ${here.held} held, ${here.waited_for} waited for by ${here.waiting}${here.searched ? "" : "; still searching"}${here.left_out ? `; ${here.left_out}` : ""}` : "";
  }
  if ($("state").textContent !== text) $("state").textContent = text;
  $("state").classList.toggle("bad", bad);
  document.body.classList.toggle("stale", bad);
}

async function loadDeployments() {
  state.deployments = (await get("deployments")).deployments;
  const select = $("deployment");
  $("deployment_label").hidden = state.deployments.length < 2;
  select.replaceChildren(...state.deployments.map((each) => h("option", { value: each.id, selected: each.id === state.parameters.d }, each.url)));
}

/** Loads the view, one load at a time. */
async function load() {
  if (state.loading) { state.again = true; return; }
  state.loading = true;
  const view = state.view;
  try {
    await Promise.all([view.load(), loadDeployments()]);
    if (view === state.view) document.title = `${view.title} – Holdfast`;
    if (state.source) state.lostSince = null;
  } catch (problem) {
    if (problem instanceof NoToken) askForToken();
    else if (problem instanceof NoAnswer) state.lostSince ??= Date.now();
    else if (view === state.view && !view.element.querySelector("table")) view.element.replaceChildren(h("p", { class: "problem" }, problem.message));
  }
  showState();
  state.loading = false;
  if (state.again) { state.again = false; schedule(view.soon ?? 1000); }
}

/** A page that nobody sees asks for nothing. */
const rests = () => state.paused || document.hidden;

function schedule(after) {
  if (rests() && after > 0) return;
  if (state.timer && after > 0) return;
  clearTimeout(state.timer);
  state.timer = setTimeout(() => { state.timer = 0; load(); }, after);
}

function route() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const parameters = Object.fromEntries(new URLSearchParams(query ?? ""));
  const first = path.split("/")[0] || "locks";
  const same = state.view && state.path === path && first === "locks";
  state.path = path;
  state.parameters = parameters;
  $("views").replaceChildren(...views.map(([name, title]) => h("a", { href: href(name, {}), "aria-current": name === first ? "page" : null }, title)));
  const searching = same && document.activeElement?.id === "search" ? document.activeElement : null;
  const made = views.find(([name]) => name === first);
  state.view = first === "lock" ? new LockView(path.split("/")[1] ?? "", parameters, context) : new (made ? made[2] : ListView)(parameters, context);
  // What somebody types stays where it is.
  if (searching) state.view.element.querySelector("#search").replaceWith(searching);
  $("main").replaceChildren(state.view.element);
  if (searching) searching.focus();
  load();
}

function connect() {
  state.source?.close();
  state.source = follow({
    open() { state.lostSince = null; schedule(0); },
    lost() {
      state.lostSince ??= Date.now();
      showState();
      // A browser gives up after an answer that is no stream, such as 401 or 503.
      if (state.source?.readyState === EventSource.CLOSED) setTimeout(() => { if (!rests()) { connect(); schedule(0); } }, 2000);
    },
    reset() { schedule(0); },
    deployments() { schedule(0); },
    gone() { schedule(state.view.soon); },
    locks(event) {
      const here = state.parameters.d ?? state.deployments[0]?.id;
      if (here !== undefined && event.deployment !== here) return;
      if (state.view.changed(event)) schedule(state.view.soon);
    },
  });
}

function pause() {
  state.paused = !state.paused;
  $("pause").setAttribute("aria-pressed", String(state.paused));
  $("pause").textContent = state.paused ? "Go on" : "Pause";
  restOrGoOn();
}

/** A browser opens six connections to a server, for all its tabs together: the streams of hidden ones would keep others out. */
function restOrGoOn() {
  if (rests()) {
    state.source?.close();
    state.source = null;
    clearTimeout(state.timer);
    state.timer = 0;
  } else {
    connect();
    schedule(0);
  }
  showState();
}

function theme() {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("theme", document.documentElement.dataset.theme);
}

const keys = [["/", "search"], ["j, k", "next and previous lock"], ["Enter", "open"], ["Escape", "back to the list"], ["p", "pause, go on"], ["t", "light or dark"], ["?", "this help"]];

function move(by) {
  const links = [...document.querySelectorAll("main tbody a")];
  const at = links.indexOf(document.activeElement);
  links[Math.max(0, Math.min(links.length - 1, at + by))]?.focus();
}

function showKeys() { openDialog("Keys", keys.map(([key, text]) => `${key}: ${text}`), [["Close", null]]); }

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || $("dialog").open) return;
  if (event.key === "Escape" && state.path.startsWith("lock/")) { location.hash = href("locks", {}); return; }
  if (event.target.matches("input, select, textarea")) return;
  const acts = { "/": () => $("search")?.select(), j: () => move(1), k: () => move(-1), p: pause, t: theme, "?": showKeys };
  if (!acts[event.key]) return;
  event.preventDefault();
  acts[event.key]();
});

$("pause").addEventListener("click", pause);
$("theme").addEventListener("click", theme);
$("help").addEventListener("click", showKeys);
$("logout").addEventListener("click", async () => { await post("logout", {}); location.reload(); });
$("deployment").addEventListener("change", () => { location.hash = href(state.path || "locks", { d: $("deployment").value }); });
addEventListener("hashchange", route);
// What was seen last stands still: whether a ttl was renewed since isn't known.
setInterval(() => { if (!state.paused && !state.lostSince) tick(); }, 1000);
setInterval(() => schedule(0.1), 5000);

const saved = localStorage.getItem("theme");
if (saved === "dark" || saved === "light") document.documentElement.dataset.theme = saved;
route();
try {
  await openSession();
  $("logout").hidden = !session.tokens;
  if (!rests()) connect();
  document.addEventListener("visibilitychange", restOrGoOn);
  addEventListener("pagehide", () => state.source?.close());
  addEventListener("pageshow", (event) => { if (event.persisted) restOrGoOn(); });
} catch (problem) {
  if (problem instanceof NoToken) askForToken();
  else setTimeout(() => location.reload(), 5000);
}
