// The server's REST interface, as the page uses it.

import { authorized } from "/-/page/token.js";

const AGAIN_MS = 3000;

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
  return (await checked(await authorized(`/-/${name}${query ? `?${query}` : ""}`))).json();
}

/** Replies to a query. */
export async function get(key, parameters) {
  const options = { headers: { accept: "application/json" } };
  return (await checked(await authorized(address(key, parameters), options))).json();
}

/** Publish a JSON value. */
export async function put(key, value, parameters) {
  const headers = { "content-type": "application/json" };
  await checked(await authorized(address(key, parameters), { method: "PUT", headers, body: JSON.stringify(value) }));
}

/**
 * Subscribe; `on` has functions by the names of events, and `error` is called whenever the stream
 * breaks off: it is opened again after a while. Returns what ends it. An `EventSource` would do,
 * if it could send a token without showing it in the address.
 */
export function subscribe(key, parameters, on) {
  const control = new AbortController();
  const { signal } = control;
  const options = { headers: { accept: "text/event-stream" }, cache: "no-store", signal };
  const listen = async () => {
    while (!signal.aborted) {
      try {
        await read(await checked(await authorized(address(key, parameters), options)), on);
      } catch { /* the connection is lost, or refused for now */ }
      if (signal.aborted) return;
      on.error?.();
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  };
  listen();
  return () => control.abort();
}

/** Events as they come (the form of the HTML standard, 9.2.6), until the stream ends. */
async function read(response, on) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(part) ?? [];
      if (name in on) on[name](JSON.parse(data));
    }
  }
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
