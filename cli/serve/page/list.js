// The list of locks: search, filters, order, pages.
import { get } from "./api.js";
import { duration, growing, h, processText, refill, shown, table, ttlBar } from "./dom.js";

const limit = 100;
const kinds = ["exclusive", "election", "read_write", "permits", "reentrant", "latch", "barrier", "counter", "foreign", "other", "free"];

/** What a lock is, and what is left of it, in words. */
export function kindText(lock) {
  const numbers = lock.permits !== null && lock.available !== null ? `, ${lock.available} of ${lock.permits} left`
    : lock.available !== null ? `, ${lock.available} left` : "";
  const several = lock.holding > 1 ? `, ${lock.holding} hold it` : "";
  return (lock.leads ? "election" : lock.kind.replace("_", "-")) + (numbers || several) + (lock.wire === "redisson" ? " (Redisson)" : "");
}

function row(lock, context) {
  const holder = lock.kind === "free" ? "nobody" : processText(lock.holder);
  const more = lock.holding > 1 ? ` +${lock.holding - 1}` : "";
  return {
    attributes: { "data-id": lock.id },
    cells: [
      h("a", { href: context.href(`lock/${lock.id}`, {}), title: shown(lock.name, 1000) }, shown(lock.name)),
      kindText(lock), holder + more, lock.kind === "free" ? "–" : growing(lock.held_ms),
      lock.kind === "free" ? "–" : ttlBar(lock.id, lock.ttl_ms), String(lock.waiting),
    ],
  };
}

const titles = ["Name", "Kind", "Holder", "Held for", "Ttl", "Waiting"];

function select(name, label, value, choices) {
  return h("label", {}, `${label} `, h("select", { name }, choices.map(([key, text]) =>
    h("option", { value: key, selected: key === value }, text))));
}

function filters(parameters, context) {
  const change = () => {
    const data = new FormData(form);
    context.go("locks", { q: data.get("q"), kind: data.get("kind"), wire: data.get("wire"), sort: data.get("sort"), waiting: data.get("waiting") ?? "" });
  };
  let timer = 0;
  const form = h("form", { class: "filters", role: "search", submit: (event) => { event.preventDefault(); change(); }, change,
    input: () => { clearTimeout(timer); timer = setTimeout(change, 250); } },
    h("label", {}, "Search ", h("input", { type: "search", name: "q", id: "search", value: parameters.q ?? "", placeholder: "name, label, host", autocomplete: "off" })),
    select("kind", "Kind", parameters.kind ?? "", [["", "all"], ...kinds.map((kind) => [kind, kind.replace("_", "-")])]),
    select("wire", "Wire", parameters.wire ?? "", [["", "all"], ["plain", "plain"], ["redisson", "Redisson"], ["etcd", "etcd"]]),
    select("sort", "Order", parameters.sort ?? "", [["", "contention"], ["held", "held longest"], ["ttl", "ends first"], ["name", "name"]]),
    h("label", {}, h("input", { type: "checkbox", name: "waiting", value: "1", checked: parameters.waiting === "1" }), " waited for"));
  return form;
}

function pages(parameters, count, context) {
  const offset = Number(parameters.offset ?? 0);
  if (count <= limit && offset === 0) return null;
  const to = (text, at, there) => there ? h("a", { href: context.href("locks", { ...parameters, offset: at }) }, text) : null;
  return h("p", {}, to("previous page", Math.max(0, offset - limit), offset > 0), " ", to("next page", offset + limit, offset + limit < count));
}

export class ListView {
  constructor(parameters, context) {
    this.parameters = parameters;
    this.context = context;
    this.body = h("div", {});
    this.element = h("section", { "aria-label": "Locks" }, filters(parameters, context), this.body);
    this.count = 0;
    this.known = new Map();
  }

  async load() {
    const { d, ...filter } = this.parameters;
    const answer = await get("locks", { ...filter, deployment: d, limit });
    this.count = answer.count;
    this.known = new Map(answer.locks.map((lock) => [lock.id, lock]));
    this.show();
  }

  show() {
    const offset = Number(this.parameters.offset ?? 0);
    const rows = [...this.known.values()].map((lock) => row(lock, this.context));
    const caption = this.count === 0 ? "No lock is held or waited for."
      : `${offset + 1} to ${offset + rows.length} of ${this.count} locks that are held or waited for`;
    refill(this.body, table(caption, titles, rows, { id: "locks" }), pages(this.parameters, this.count, this.context) ?? "");
  }

  /** Rows that are there change at once. True: the list has to be asked for again. */
  changed(event) {
    let others = false;
    for (const lock of event.locks) {
      const old = this.body.querySelector(`tr[data-id="${lock.id}"]`);
      if (!old) { others = true; continue; }
      this.known.set(lock.id, lock);
      const focused = old.contains(document.activeElement);
      const made = row(lock, this.context);
      const fresh = h("tr", { ...made.attributes, class: "changed" }, made.cells.map((cell, i) =>
        h("td", { "data-title": titles[i], class: i === 0 ? "name" : null }, cell)));
      old.replaceWith(fresh);
      if (focused) fresh.querySelector("a").focus();
    }
    return others;
  }

  get soon() { return this.count <= limit ? 300 : 2000; }
  get title() { return `Locks (${this.count})`; }
}

export function holdText(hold) {
  return `${processText(hold)}, ${hold.side}${hold.count > 1 ? ` ×${hold.count}` : ""}${hold.waited_ms === undefined ? "" : `, waits for ${duration(hold.waited_ms)}`}`;
}
