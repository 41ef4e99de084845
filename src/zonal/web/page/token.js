// The token of this tab: asked for where the server wants one, kept until the tab is closed.

const NAME = "zonal-token";
const $ = (id) => document.getElementById(id);

let memory = ""; // where the browser keeps nothing
let asking = null;

const kept = () => { try { return sessionStorage.getItem(NAME) ?? memory; } catch { return memory; } };

function keep(token) {
  memory = token;
  try { sessionStorage.setItem(NAME, token); } catch { /* private mode */ }
}

/** Resolves when the user has given a token; several requests wait for the same one. */
function ask(refused) {
  asking ??= new Promise((resolve) => {
    $("token-state").textContent = refused ? "This token is not known." : "";
    $("token-dialog").showModal();
    $("token-form").onsubmit = (event) => {
      event.preventDefault();
      keep($("token").value.trim());
      $("token").value = "";
      $("token-dialog").close();
      asking = null;
      resolve();
    };
  });
  return asking;
}

/** `fetch` with the token; a server that knows none, or another, makes the page ask for it. */
export async function authorized(address, options = {}) {
  for (;;) {
    const token = kept();
    const headers = token ? { ...options.headers, authorization: `Bearer ${token}` } : options.headers;
    const response = await fetch(address, { ...options, headers });
    if (response.status !== 401) return response;
    if (token === kept()) await ask(Boolean(token));
  }
}

/** How MapLibre asks for an address: with the token, if that is this server's. */
export function signed(address) {
  const token = kept();
  const isOurs = new URL(address, location.href).href.startsWith(`${location.origin}/`);
  return token && isOurs ? { url: address, headers: { authorization: `Bearer ${token}` } } : { url: address };
}
