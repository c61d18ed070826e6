// One lock: holders, queue, history, charts, release by force.
import { NoToken, get, post, session } from "./api.js";
import { clock, duration, growing, h, processText, refill, shown, svg, table, ttlBar } from "./dom.js";
import { kindText } from "./list.js";

function facts(lock) {
  const rows = [["Kind", kindText(lock)], ["Held for", growing(lock.held_ms)], ["Ttl", ttlBar(lock.id, lock.ttl_ms)],
    ["Token", lock.token === null ? "none" : String(lock.token)], ["Waiting", String(lock.waiting)], ["Wire", lock.wire], [lock.wire === "etcd" ? "Type" : "Type in Redis", lock.type]];
  if (lock.generation !== null) rows.push(["Generation", String(lock.generation)]);
  if (lock.misfit) rows.push(["Misfit", lock.misfit]);
  if (lock.waiting_for_condition) rows.push(["Wait on its condition", String(lock.waiting_for_condition)]);
  if (lock.leads) rows.push(["Leader says", shown(lock.leads.value, 1000)], ["Term", String(lock.leads.term)]);
  if (lock.last_run) {
    const run = lock.last_run;
    rows.push(["Last run", `${run.state}, began ${clock(run.began)}${run.took_ms === null ? "" : `, took ${duration(run.took_ms)}, exit ${run.exit}`}${run.counts_until ? `, counts until ${clock(run.counts_until)}` : ""}`]);
  }
  return h("dl", {}, rows.flatMap(([title, value]) => [h("dt", {}, title), h("dd", {}, value)]));
}

const holdsOf = (changes) => changes.filter((change) => change.held_ms !== null && change.held_ms !== undefined);

/** Who had it when, the newest on the right. */
function timeLine(changes, now) {
  const spans = holdsOf(changes).map((change) => ({ to: Date.parse(change.at), from: Date.parse(change.at) - change.held_ms, who: change.before }));
  if (spans.length === 0) return h("p", { class: "soft" }, "No change was seen yet.");
  const begin = Math.min(...spans.map((span) => span.from));
  const width = 900;
  const x = (at) => ((at - begin) / Math.max(1, now - begin)) * width;
  const people = [...new Set(spans.map((span) => span.who))].slice(0, 12);
  const rows = people.map((who, i) => svg("g", {},
    svg("text", { x: 0, y: i * 30 + 11 }, shown(who, 80) || "unknown"),
    spans.filter((span) => span.who === who).map((span) =>
      svg("rect", { class: "span", x: x(span.from), y: i * 30 + 15, width: Math.max(1, x(span.to) - x(span.from)), height: 9 },
        svg("title", {}, `${clock(span.from)} to ${clock(span.to)}, ${duration(span.to - span.from)}`)))));
  return h("div", { class: "scroll" }, svg("svg", { viewBox: `0 0 ${width} ${people.length * 30 + 16}`, role: "img",
    "aria-label": `Holders since ${clock(begin)}` }, rows,
  svg("text", { x: 0, y: people.length * 30 + 12 }, clock(begin)), svg("text", { x: width, y: people.length * 30 + 12, "text-anchor": "end" }, clock(now))));
}

const minutes = 15;

function summaryText(title, at, of) {
  return `${clock(at)}: ${of.count} ${title}, median ${duration(of.median_ms)}, 95 % within ${duration(of.high_ms)}, longest ${duration(of.longest_ms)}`;
}

/** `of`: "holds" or "waits". A bar for each minute, up to the 95th percentile, and in it one up to the median. */
function chart(of, title, times, now) {
  const age = (minute) => Math.floor(now / 60000) - Math.floor(Date.parse(minute.at) / 60000);
  const some = times.filter((minute) => minute[of].count > 0 && age(minute) >= 0 && age(minute) < minutes);
  const most = Math.max(1, ...some.map((minute) => minute[of].high_ms));
  const bar = (minute, kind, ms) => {
    const height = Math.max(1, (ms / most) * 90);
    return svg("rect", { class: kind, x: (minutes - 1 - age(minute)) * 40 + 24, y: 110 - height, width: 28, height }, svg("title", {}, summaryText(of, minute.at, minute[of])));
  };
  const label = some.length === 0 ? `No ${of} were seen to end in the last ${minutes} minutes` : `${title} of the last ${minutes} minutes: median and 95th percentile, at most ${duration(most)}; the table below says the same`;
  return svg("svg", { viewBox: "0 0 620 130", role: "img", "aria-label": label },
    svg("line", { class: "axis", x1: 0, y1: 110, x2: 620, y2: 110 }),
    some.flatMap((minute) => [bar(minute, "bar high", minute[of].high_ms), bar(minute, "bar", minute[of].median_ms)]),
    svg("text", { x: 0, y: 12 }, some.length === 0 ? `${title}: none seen` : `${title}: ${duration(most)}`),
    svg("text", { x: 0, y: 126 }, `${minutes} minutes ago`), svg("text", { x: 620, y: 126, "text-anchor": "end" }, "now"));
}

function byMinute(times) {
  const cells = (of) => [String(of.count), ...(of.count === 0 ? ["–", "–", "–"] : [duration(of.median_ms), duration(of.high_ms), duration(of.longest_ms)])];
  return table("Holds and waits that were seen to end, by the minute", ["Minute", "Holds", "Median", "95 %", "Longest", "Waits", "Median", "95 %", "Longest"],
    [...times].reverse().map((minute) => ({ cells: [clock(minute.at), ...cells(minute.holds), ...cells(minute.waits)] })));
}

export class LockView {
  constructor(id, parameters, context) {
    this.id = id;
    this.parameters = parameters;
    this.context = context;
    this.lock = null;
    this.element = h("section", { "aria-label": "Lock" });
  }

  async load() {
    try {
      this.lock = await get(`locks/${this.id}`, { deployment: this.parameters.d });
    } catch (problem) {
      if (this.lock === null || problem instanceof NoToken) throw problem;
      this.lock.error = problem.message;
    }
    this.show();
  }

  show() {
    const lock = this.lock;
    // As all times of changes, by the clock of the server: that of the viewer may differ.
    const now = Date.parse(lock.at);
    const queue = lock.queue ?? [];
    const holders = (lock.holders ?? []).map((hold) => ({ cells: [processText(hold), shown(hold.program), hold.side, String(hold.count),
      ttlBar(lock.id + hold.owner, hold.ttl_ms), shown(hold.owner, 60), ...this.buttons(hold)] }));
    const waiters = queue.map((waiter, i) => ({ cells: [`${i + 1}. ${processText(waiter)}`, shown(waiter.program), waiter.side + (waiter.count > 1 ? ` ×${waiter.count}` : "") + (waiter.preferred ? ", first" : ""), growing(waiter.waited_ms), shown(waiter.owner, 60)] }));
    const changes = lock.changes ?? [];
    const times = lock.times ?? [];
    const events = changes.slice(0, 50).map((change) => ({ cells: [clock(change.at), change.event.replaceAll("_", " "), shown(change.holder) || "nobody", shown(change.before), duration(change.held_ms), change.token === null ? "" : String(change.token)] }));
    refill(this.element,
      h("h2", { title: shown(lock.name, 2000) }, shown(lock.name, 400)),
      lock.error ? h("p", { class: "problem" }, lock.error) : "",
      lock.warning ? h("p", { class: "problem" }, shown(lock.warning, 2000)) : "",
      lock.kind ? facts(lock) : "",
      table(`Holders: ${lock.holding ?? 0}`, ["Holder", "Program", "Side", "Count", "Ttl", "Owner id", ...(session.allow_release ? ["Act"] : [])], holders),
      table(`Queue: ${lock.waiting ?? 0}${queue.length < (lock.waiting ?? 0) ? `, the first ${queue.length}` : ""}`, ["Waiter", "Program", "Side", "Waits for", "Owner id"], waiters),
      h("h3", {}, "Holders over time"), timeLine(changes, now),
      h("h3", {}, "How long, by the minute"), h("p", { class: "soft" }, "Up to the median, and lighter up to the 95th percentile, as far as they were seen."),
      h("div", { class: "charts" }, chart("waits", "Waits", times, now), chart("holds", "Holds", times, now)), byMinute(times),
      table("Changes, the newest first", ["At", "What", "Holder", "Before", "Held for", "Token"], events));
  }

  buttons(hold) {
    if (!session.allow_release) return [];
    return [h("button", { type: "button", class: "danger", id: `release_${hold.owner}`, click: () => this.ask(hold) }, "Release…")];
  }

  /** Names the holder, and what follows. */
  ask(hold) {
    const next = this.lock.queue?.[0];
    const text = this.lock.kind === "barrier" ? [`The generation at the barrier “${shown(this.lock.name, 400)}” is broken at once, for all who have arrived: ${processText(hold)} is one of ${this.lock.holding}.`]
      : [`${processText(hold)} holds “${shown(this.lock.name, 400)}”. It is asked to stop first. If it hasn't given the lock back after 2 s, the lock is taken from it, and two holders may be at work at once.`,
      next ? `Then ${processText(next)} has its turn.` : "Nobody waits for it."];
    this.context.dialog("Release this lock by force?", text, [["Cancel", null], ["Release", async () => {
      const result = await post(`locks/${this.id}/release`, { owner: hold.owner });
      this.context.dialog("Release", [`${result.result.replaceAll("_", " ")}.`], [["Close", null]]);
      this.context.reload();
    }]]);
  }

  changed(event) { return event.locks.some((lock) => lock.id === this.id || lock.name === this.lock?.name); }
  get soon() { return 50; }
  get title() { return this.lock ? shown(this.lock.name, 60) : "Lock"; }
}
