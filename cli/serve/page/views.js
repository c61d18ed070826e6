// Who blocks whom, processes, doctor's findings.
import { get } from "./api.js";
import { clientOf, growing, h, processText, refill, shown, svg, table } from "./dom.js";

/** The clients that are in a circle of waits, by Tarjan's algorithm. */
export function circles(edges) {
  const next = new Map();
  for (const edge of edges) {
    if (!next.has(edge.from)) next.set(edge.from, new Set());
    next.get(edge.from).add(edge.to);
  }
  const found = new Set();
  const state = new Map();
  const stack = [];
  let number = 0;
  const visit = (node) => {
    const mine = { index: number, low: number, on: true };
    number += 1;
    state.set(node, mine);
    stack.push(node);
    for (const other of next.get(node) ?? []) {
      if (!state.has(other)) visit(other);
      if (state.get(other).on) mine.low = Math.min(mine.low, state.get(other).low);
    }
    if (mine.low !== mine.index) return;
    const group = stack.splice(stack.indexOf(node));
    for (const member of group) state.get(member).on = false;
    if (group.length > 1) group.forEach((member) => found.add(member));
  };
  for (const node of next.keys()) if (!state.has(node)) visit(node);
  return found;
}

const mostNodes = 60;
const firstWaiters = 5;

/** Of more processes those in circles, then those that most wait for, each with some of those. */
function drawn(edges, people, inCircle) {
  if (people.size <= mostNodes) return people;
  const waiters = new Map();
  for (const { from, to } of edges) waiters.set(to, [...waiters.get(to) ?? [], from]);
  const busiest = [...waiters].sort(([, a], [, b]) => b.length - a.length);
  const inOrder = [...inCircle, ...busiest.flatMap(([holder, some]) => [holder, ...some.slice(0, firstWaiters)]), ...people.keys()];
  const chosen = new Set([...new Set(inOrder)].slice(0, mostNodes));
  return new Map([...people].filter(([node]) => chosen.has(node)));
}

function graph(allEdges, people, inCircle) {
  const level = new Map();
  const holds = [...people.keys()];
  const edges = allEdges.filter(({ from, to }) => people.has(from) && people.has(to));
  const left = new Map();
  for (const { from, to } of allEdges) if (people.has(to) && !people.has(from)) left.set(to, (left.get(to) ?? 0) + 1);
  const label = (node) => (left.has(node) ? `${processText(people.get(node)).slice(0, 18)} (+${left.get(node)} wait)` : processText(people.get(node)).slice(0, 28));
  // Who waits stands right of whom it waits for; a circle ends after as many steps as there are clients.
  holds.forEach((node) => level.set(node, 0));
  for (let i = 0; i < Math.min(holds.length, 8); i += 1) {
    for (const { from, to } of edges) if (from !== to && level.get(from) <= level.get(to) && level.get(to) < 8) level.set(from, level.get(to) + 1);
  }
  const columns = [];
  const place = new Map();
  for (const node of holds) {
    const column = level.get(node);
    columns[column] = (columns[column] ?? 0) + 1;
    place.set(node, { x: column * 240, y: (columns[column] - 1) * 46 });
  }
  const height = Math.max(...columns.filter(Boolean)) * 46 + 10;
  const lines = edges.filter(({ from, to }) => from !== to).map(({ from, to, names }) => {
    const a = place.get(from);
    const b = place.get(to);
    const circle = inCircle.has(from) && inCircle.has(to);
    return svg("path", { class: circle ? "edge circle" : "edge", "marker-end": "url(#arrow)", d: `M${a.x},${a.y + 18} C${a.x - 30},${a.y + 18} ${b.x + 230},${b.y + 18} ${b.x + 204},${b.y + 18}` },
      svg("title", {}, `waits for ${names.map((name) => shown(name)).join(", ")}`));
  });
  const boxes = holds.map((node) => svg("g", { transform: `translate(${place.get(node).x},${place.get(node).y})` },
    svg("rect", { class: inCircle.has(node) ? "box circle" : "box", width: 200, height: 36, rx: 4 }), svg("text", { x: 8, y: 22 }, label(node))));
  return h("div", { class: "scroll" }, svg("svg", { viewBox: `-4 -4 ${columns.length * 240} ${height}`, width: columns.length * 240, role: "img", "aria-label": "Who waits for whom; the table below says the same" },
    svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto" }, svg("path", { d: "M0,0 L8,4 L0,8 z" }))), lines, boxes));
}

class AskedView {
  constructor(parameters, context, label) {
    this.parameters = parameters;
    this.context = context;
    this.element = h("section", { "aria-label": label }, h("p", { class: "soft" }, "Asking…"));
    this.title = label;
    this.soon = 2500;
  }

  changed() { return true; }
  get(path) { return get(path, { deployment: this.parameters.d }); }
  link(id, name) { return h("a", { href: this.context.href(`lock/${id}`, {}) }, shown(name)); }
}

export class BlockingView extends AskedView {
  constructor(parameters, context) { super(parameters, context, "Who blocks whom"); }

  async load() {
    const [blocking, dead] = await Promise.all([this.get("blocking"), this.get("deadlocks")]);
    const people = new Map();
    const merged = new Map();
    const held = new Map(blocking.locks.map((lock) => [lock.id, lock]));
    for (const edge of blocking.edges) {
      if (!edge.waiter) continue;
      const from = clientOf(edge.waiter);
      const lock = held.get(edge.id);
      for (const holder of lock.holders) {
        const to = clientOf(holder);
        people.set(from, edge.waiter);
        people.set(to, holder);
        const key = `${from} ${to}`;
        if (!merged.has(key)) merged.set(key, { from, to, names: [], must: false });
        merged.get(key).names.push(edge.name);
        // Of several that have permits any may give one back.
        if (lock.kind !== "permits" || lock.holding === 1) merged.get(key).must = true;
      }
    }
    const edges = [...merged.values()];
    const inCircle = circles(edges.filter(({ must }) => must));
    const others = ({ id }) => held.get(id).holding > 1 ? ` +${held.get(id).holding - 1}` : "";
    const rows = blocking.edges.map((edge) => ({ cells: [processText(edge.waiter), this.link(edge.id, edge.name), processText(edge.holder) + others(edge), growing(edge.waited_ms),
      edge.waiter && inCircle.has(clientOf(edge.waiter)) ? h("span", { class: "problem" }, "in a circle") : ""] }));
    const deadlocks = dead.deadlocks.map((circle) => h("p", { class: "problem" }, "Deadlock: ", circle.map((each) => `${processText(each.waiter)} waits for “${shown(each.name)}”`).join(", which is held by ")));
    refill(this.element, ...deadlocks,
      inCircle.size ? h("p", { class: "problem" }, `${inCircle.size} processes wait for one another in a circle: a deadlock, if the same threads hold and wait.`) : "",
      people.size > mostNodes ? h("p", { class: "soft" }, `${mostNodes} of ${people.size} processes are drawn: those in circles, and those that most wait for. The table has all.`) : "",
      people.size === 0 ? "" : graph(edges, drawn(edges, people, inCircle), inCircle),
      table(blocking.edges.length === 0 ? "Nobody waits." : `Waits for the ${blocking.asked} locks that are waited for most, of ${blocking.waited_for}`, ["Waiter", "Lock", "Holder", "Waits for", "Circle"], rows));
  }
}

export class ProcessesView extends AskedView {
  constructor(parameters, context) { super(parameters, context, "Processes"); }

  async load() {
    const [all, blocking] = await Promise.all([this.get("processes"), this.get("blocking")]);
    const waits = new Map();
    for (const edge of blocking.edges) {
      if (!edge.waiter) continue;
      const client = clientOf(edge.waiter);
      if (!waits.has(client)) waits.set(client, []);
      waits.get(client).push(edge);
    }
    const list = (locks) => locks.flatMap(({ id, name }, i) => [i ? ", " : "", this.link(id, name)]);
    const hosts = new Map();
    const add = (process, holds, locks, waited) => {
      const name = process.host || "";
      if (!hosts.has(name)) hosts.set(name, { holds: 0, waits: 0, rows: [] });
      const host = hosts.get(name);
      host.holds += holds;
      host.waits += waited.length;
      const held = holds ? h("span", {}, `${holds}: `, list(locks), holds > locks.length ? ", …" : "") : "none";
      host.rows.push({ cells: [processText(process), shown(process.program), held, h("span", {}, list(waited))] });
    };
    for (const { process, holds, locks } of all.processes) {
      add(process, holds, locks, waits.get(clientOf(process)) ?? []);
      waits.delete(clientOf(process));
    }
    for (const edges of waits.values()) add(edges[0].waiter, 0, [], edges);
    const busiestFirst = [...hosts].sort(([, a], [, b]) => b.holds - a.holds || b.waits - a.waits);
    const tables = busiestFirst.map(([name, { holds, waits: waited, rows }]) =>
      table(`${name ? shown(name) : "Unknown hosts"}: ${holds} held, ${waited} waited for`, ["Process", "Program", "Holds", "Waits for"], rows));
    refill(this.element, h("p", {}, all.count === 1 ? "1 process holds locks." : `${all.count} processes hold locks.`), ...tables);
  }
}

export class FindingsView extends AskedView {
  constructor(parameters, context) { super(parameters, context, "Findings"); }

  changed() { return false; }
  async load() {
    const report = await this.get("findings");
    const rows = report.findings.map((each) => ({ cells: [each.check, h("span", { class: each.severity }, each.severity), each.found, [each.why, each.advice].filter(Boolean).join(" "), each.servers.join(", ")] }));
    refill(this.element, table(`What holdfast doctor finds about ${report.server}`, ["Check", "Severity", "Found", "Why, and what to do", "Servers"], rows));
  }
}
