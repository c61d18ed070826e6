// What the page asks the server for.

export const session = { csrf: null, allow_release: false, tokens: false, user: null };

export class NoToken extends Error {}
/** Of `holdfast serve`. */
export class NoAnswer extends Error {}

async function ask(url, options) {
  let response;
  let body = {};
  try {
    response = await fetch(url, options);
    if (response.status !== 401) body = await response.json();
  } catch (problem) {
    throw new NoAnswer(problem.message);
  }
  if (response.status === 401) throw new NoToken("a token is needed");
  if (!response.ok) throw new Error(body.error ?? `HTTP ${response.status}`);
  return body;
}

export async function get(path, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== "" && value !== null && value !== undefined));
  return ask(`/api/v1/${path}?${query}`, { headers: { Accept: "application/json" } });
}

export async function post(path, body) {
  const headers = { "Content-Type": "application/json" };
  if (session.csrf) headers["X-Holdfast-Csrf"] = session.csrf;
  return ask(`/api/v1/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
}

export async function openSession() {
  Object.assign(session, await get("session"));
}

/** Events of the server, again after each break. `on`: open, lost, reset, locks, gone, deployments. */
export function follow(on) {
  const source = new EventSource("/api/v1/events");
  source.addEventListener("open", () => on.open());
  source.addEventListener("error", () => on.lost());
  for (const name of ["reset", "locks", "gone", "deployments"]) {
    source.addEventListener(name, (event) => on[name](JSON.parse(event.data)));
  }
  return source;
}
