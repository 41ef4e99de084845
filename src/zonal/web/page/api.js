// The server's REST interface, as the page uses it.

const path = (key) => "/" + key.split("/").map(encodeURIComponent).join("/").replaceAll("%2A", "*");

function address(key, parameters = {}) {
  const query = new URLSearchParams(parameters).toString();
  return query ? `${path(key)}?${query}` : path(key);
}

async function checked(response) {
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({}));
  throw new Error(problem.detail ?? `${response.status} ${response.statusText}`);
}

/** JSON from one of the server's own pages (`view`, `cover`, …). */
export async function page(name, parameters = {}) {
  const query = new URLSearchParams(parameters).toString();
  return (await checked(await fetch(`/-/${name}${query ? `?${query}` : ""}`))).json();
}

/** Replies to a query. */
export async function get(key, parameters) {
  const options = { headers: { accept: "application/json" } };
  return (await checked(await fetch(address(key, parameters), options))).json();
}

/** Publish a JSON value. */
export async function put(key, value, parameters, token) {
  const headers = { "content-type": "application/json" };
  if (token) headers.authorization = `Bearer ${token}`;
  await checked(await fetch(address(key, parameters), { method: "PUT", headers, body: JSON.stringify(value) }));
}

/** Subscribe; `on` has functions by the names of events. Returns what ends the stream. */
export function subscribe(key, parameters, on) {
  const source = new EventSource(address(key, parameters));
  for (const [name, handle] of Object.entries(on)) {
    if (name === "error") source.onerror = () => handle(source.readyState);
    else source.addEventListener(name, (event) => handle(JSON.parse(event.data)));
  }
  return () => source.close();
}

/** The value of a sample: JSON as it is, and Base64 of what is JSON without saying so. */
export function valueOf(sample) {
  if (typeof sample.value !== "string" || sample.encoding?.startsWith("text/")) return sample.value;
  try {
    const bytes = Uint8Array.from(atob(sample.value), (letter) => letter.charCodeAt(0));
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  } catch {
    return sample.value;
  }
}
