// The page: puts map, live things, areas, layers and messages together.

import { readAddress, writeAddress } from "/-/page/address.js";
import { page } from "/-/page/api.js";
import { Border } from "/-/page/border.js";
import { gradient } from "/-/page/colours.js";
import { Drawing } from "/-/page/drawing.js";
import { Finding } from "/-/page/finding.js";
import { obstacle, openMap, repaint } from "/-/page/ground.js";
import { History } from "/-/page/history.js";
import { Layers } from "/-/page/layers.js";
import { Notices } from "/-/page/notices.js";
import { servePictures } from "/-/page/pictures.js";
import { Selection } from "/-/page/selection.js";
import { Things } from "/-/page/things.js";
import { World } from "/-/page/world.js";

const NARROW_PX = 600; // on such a screen the map starts one step further away
const $ = (id) => document.getElementById(id);

function theme() {
  const root = document.documentElement;
  const set = (name) => { root.dataset.theme = name; };
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const kept = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
  set(kept() ?? (dark.matches ? "dark" : "light"));
  dark.addEventListener("change", () => kept() ?? set(dark.matches ? "dark" : "light"));
  return () => {
    set(root.dataset.theme === "dark" ? "light" : "dark");
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* private mode */ }
  };
}

function describe(view) {
  document.title = view.title;
  $("title").textContent = view.title;
  $("counters").hidden = view.needs_token; // a link sends none
  $("version").textContent = `Zonal ${view.version}`;
  for (const name of view.encodings) $("encoding").add(new Option(name));
  if (!view.value) return;
  $("legend").hidden = false;
  const ramp = document.createElement("i");
  ramp.style.background = gradient;
  $("legend").append(`${view.value} ${view.scale[0]}`, ramp, `${view.scale[1]} ${view.unit}`);
}

async function start() {
  const toggleTheme = theme();
  const view = await page("view");
  describe(view);
  const address = readAddress();
  if (view.encodings.includes(address.encoding)) $("encoding").value = address.encoding;
  const problem = obstacle();
  if (problem) {
    $("no-map").hidden = false;
    $("no-map").textContent = problem;
    throw new Error("no map");
  }
  const map = await openMap(address.center ?? view.center, address.zoom ?? view.zoom - (window.innerWidth < NARROW_PX ? 1 : 0));
  servePictures(map);
  const world = new World(map, view);
  const things = new Things(map, view, () => {
    $("shown").textContent = things.count;
    finding?.seen();
  });
  const layers = new Layers(map, view, things.crowd);
  let history = null;
  let finding = null;
  let linked = false;
  let lost = null; // since when
  const tellLink = () => {
    const state = lost ? "lost" : history?.past ? "past" : linked ? "live" : "connecting";
    $("link").dataset.state = state;
    $("link").textContent = state === "lost" ? "connection lost" : state;
    document.body.classList.toggle("stale", lost !== null);
    $("stale").hidden = lost === null;
    if (lost) $("stale").textContent = `The connection was lost at ${lost.toLocaleTimeString()}: what you see is old. Trying again.`;
  };
  const remember = () => history && !finding?.isOpen && writeAddress({
    map, area: selection.area, encoding: $("encoding").value, layers: [...layers.chosen, ...(border.isOn ? ["border"] : [])], time: history.moment,
  });
  const selection = new Selection(map, view, {
    onSample: (sample, kind) => {
      if (history?.past) return;
      if (kind === "DELETE") things.remove(sample);
      else things.take(sample);
    },
    onArea: (area) => {
      things.clear();
      layers.drawCover(area);
      border.listen();
      if (history?.past) history.go(history.moment);
      remember();
    },
    onLink: (state) => {
      if (state === "live" && lost) things.clear();
      lost = state === "live" ? null : lost ?? new Date();
      linked = true;
      tellLink();
    },
  });
  const border = new Border(view, { selection, onPlace: (center) => map.easeTo({ center }), onChange: () => remember() });
  const notices = new Notices(map, view, { things, layers });
  history = new History(view, {
    things, selection,
    onTime: (moment) => { notices.show(moment); tellLink(); remember(); },
  });
  things.isPast = () => history.past;
  finding = new Finding(map, view, { things, layers });

  // Drawing: either the area to hear, or whom a message is for.
  let aiming = false;
  const drawing = new Drawing(map, {
    onDone: (area) => (aiming ? notices.aim(area) : selection.select(area)),
    onState: (shape, hint) => {
      document.body.classList.toggle("drawing", shape !== null);
      $("crosshair").hidden = shape === null;
      $("hint").hidden = !hint;
      $("hint").textContent = hint;
      for (const button of document.querySelectorAll("#tools [data-tool]")) {
        const tool = button.dataset.tool;
        const pressed = shape !== null && (aiming ? tool === "notice" : tool === shape);
        button.setAttribute("aria-pressed", String(pressed));
      }
    },
  });
  things.isBusy = () => drawing.active || performance.now() - (drawing.endedAt ?? -1000) < 300;
  const use = (tool) => {
    if (tool === "notice" && !(view.notices && view.may_write)) return;
    const again = drawing.active && (aiming ? tool === "notice" : drawing.shape === tool);
    drawing.cancel();
    if (again) return;
    aiming = tool === "notice";
    $("notice-card").hidden = !aiming;
    if (!aiming) notices.aim(null);
    drawing.start(aiming ? "circle" : tool);
    map.getCanvas().focus();
  };
  for (const button of document.querySelectorAll("#tools [data-tool]")) {
    button.addEventListener("click", () => use(button.dataset.tool));
    if (button.dataset.tool === "notice") button.hidden = !(view.notices && view.may_write);
  }
  const clear = () => { drawing.cancel(); notices.aim(null); if (selection.area) selection.select(null); };
  $("clear").addEventListener("click", clear);
  $("encoding").addEventListener("change", () => { selection.listen(); layers.drawCover(selection.area); border.listen(); remember(); });

  const fold = () => {
    const open = $("cards").hidden;
    $("cards").hidden = !open;
    $("fold").setAttribute("aria-expanded", String(open));
  };
  $("fold").addEventListener("click", fold);
  if (matchMedia("(max-width: 640px)").matches) fold(); // a phone shows the map first
  const retheme = () => { toggleTheme(); repaint(map, world.ground); };
  $("theme").addEventListener("click", retheme);

  const keys = {
    c: () => use("circle"), b: () => use("box"), p: () => use("polygon"), m: () => use("notice"),
    t: retheme, f: fold, z: () => finding.fit(), s: () => $("grid-s2").click(), g: () => $("grid-mgrs").click(),
    o: () => $("show-cover").click(), r: () => $("show-routers").click(), k: () => $("show-clusters").click(),
    h: () => $("show-heat").click(), l: () => $("show-trails").click(),
    Delete: clear, Escape: () => drawing.cancel(),
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input:not([type=checkbox]), select, textarea")) return;
    if (event.key === "Enter" && drawing.active && !event.target.closest("button")) {
      event.preventDefault();
      drawing.enter(event.timeStamp);
    } else keys[event.key]?.();
  });

  // What the address says is shown; from here on it says what is shown.
  if (address.layers) layers.choose(address.layers);
  $("border").checked = address.layers?.includes("border") ?? false;
  if (address.area) selection.select(address.area);
  if (view.fits && !address.center && !address.area) finding.awaitFirst();
  if (address.time && view.history) history.go(address.time);
  layers.onChange = remember;
  map.on("moveend", remember);
  remember();

  window.zonal = { map, world, things, selection, layers, border, notices, history };
  document.body.dataset.ready = "true";
}

start().catch((error) => {
  $("link").dataset.state = "lost";
  $("link").textContent = error.message;
});
