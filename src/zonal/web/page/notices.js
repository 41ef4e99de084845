// Messages with a geofence: dropping one, the alerts that come, and who heard them.

import { page, put, subscribe, valueOf } from "/-/page/api.js";
import { Sheet, boundsOf, feature, fromZoom } from "/-/page/ground.js";
import { drawable, geometryOf, middle, wkt } from "/-/page/shapes.js";

const SHOWN_MS = 25_000;
const MOST = 30;
const KEPT = 2_000;
const COLOURS = { alert: "#b3261e", notice: "#0b6e99" };
const $ = (id) => document.getElementById(id);

export class Notices {
  constructor(map, view, { things, layers }) {
    Object.assign(this, { map, view, things, layers });
    this.memory = [];
    this.moment = null;
    const looks = (dashes) => () => [
      { type: "fill", paint: { "fill-color": ["get", "colour"], "fill-opacity": 0.13 } },
      { type: "line", paint: { "line-color": ["get", "colour"], "line-width": 3, ...dashes } },
    ];
    this.fences = new Sheet(map, "fences", "areas", looks({}));
    this.target = new Sheet(map, "target", "areas", looks({ "line-dasharray": [2, 1.6] }));
    this.forget();
    $("notice").addEventListener("submit", (event) => this.send(event));
    layers.onZones = () => this.show(this.moment);
    if (!view.events) return;
    // What the server remembers comes after each (new) beginning of the stream.
    subscribe(view.events, { fenced: view.fenced }, {
      ready: () => this.recall(),
      PUT: (sample) => this.hear(sample),
    });
  }

  async recall() {
    const told = await page("events").catch(() => []);
    const known = new Set(told.map(identity));
    const heard = this.memory.filter((sample) => !known.has(identity(sample)));
    this.memory = [...told, ...heard].sort((a, b) => (a.timestamp ?? "").localeCompare(b.timestamp ?? ""));
    this.show(this.moment);
  }

  /** A message came: it is kept, and shown unless the map shows another time. */
  hear(sample) {
    this.memory.push({ ...sample, timestamp: sample.timestamp ?? new Date().toISOString() });
    if (this.memory.length > KEPT) this.memory.shift();
    if (this.moment === null) this.take(sample);
  }

  /** Show alerts, counts and zones as they were at a moment; null: now. */
  show(moment) {
    this.moment = moment;
    this.forget();
    for (const sample of this.memory) {
      if (moment === null || Date.parse(sample.timestamp) <= moment) this.take(sample, { again: true });
    }
  }

  forget() {
    this.heard = new Map();
    this.early = new Map();
    $("alerts").replaceChildren();
    $("no-alerts").hidden = false;
    this.layers?.clearZones();
    this.fences.show([]);
  }

  /** Everything beside the live things comes in one stream; its key says what it is. */
  take(sample, { again = false } = {}) {
    const value = valueOf(sample);
    switch (sample.key) {
      case this.view.alerts: return this.list(sample, value, "alert", again);
      case this.view.notices: return this.list(sample, value, "notice", again);
      case this.view.heard: return this.count(value, again);
      case this.view.zones: return this.layers.colourZone(value);
    }
    return undefined;
  }

  list(sample, value, kind, again) {
    const item = document.createElement("li");
    item.className = kind;
    const button = document.createElement("button");
    const small = document.createElement("small");
    const text = textOf(value);
    button.append(text, small);
    item.append(button);
    $("alerts").prepend(item);
    while ($("alerts").children.length > MOST) $("alerts").lastElementChild.remove();
    $("no-alerts").hidden = true;
    // Who heard it may have told so before the message itself came to this page.
    const name = nameOf(value);
    const count = this.early.get(name) ?? 0;
    this.early.delete(name);
    const entry = { small, count, time: new Date(sample.timestamp ?? Date.now()).toLocaleTimeString(), kind };
    this.heard.set(name, entry);
    this.describe(entry);
    if (!sample.geofence?.type) return; // none, or one around each receiver
    const fence = feature(drawable(sample.geofence), { colour: COLOURS[kind] });
    let hiding;
    const hide = () => this.fences.show(this.fences.features.filter((each) => each !== fence));
    const draw = () => {
      if (!this.fences.features.includes(fence)) this.fences.show([...this.fences.features, fence]);
      clearTimeout(hiding);
      hiding = setTimeout(hide, SHOWN_MS);
    };
    const since = (this.moment ?? Date.now()) - Date.parse(sample.timestamp ?? new Date().toISOString());
    if (!again || since < SHOWN_MS) draw();
    button.addEventListener("click", () => {
      draw();
      const bounds = boundsOf([fence.geometry.coordinates ?? []]);
      if (bounds) this.map.fitBounds(bounds, { maxZoom: fromZoom(15), padding: 40 });
    });
  }

  /** Somebody tells that a message reached them. */
  count(value, again) {
    const name = String(value.message);
    const entry = this.heard.get(name);
    if (!again) this.things.flash(value.id, COLOURS[entry?.kind ?? "alert"]);
    if (!entry) {
      if (this.early.size < MOST) this.early.set(name, (this.early.get(name) ?? 0) + 1);
      return;
    }
    entry.count += 1;
    this.describe(entry);
  }

  describe(entry) {
    entry.small.textContent = `${entry.time} · heard by ${entry.count}`;
  }

  // Dropping a message

  aim(area) {
    this.area = area;
    this.target.show(area ? [feature(geometryOf(area), { colour: COLOURS.notice })] : []);
    $("notice").querySelector("button").disabled = !area;
    $("notice-state").textContent = area ? "" : "Draw whom it is for.";
    if (area) $("notice").elements.text.select();
  }

  async send(event) {
    event.preventDefault();
    const form = $("notice").elements;
    const [lat, lon] = middle(this.area);
    const value = { id: crypto.randomUUID?.() ?? String(Math.random()), text: form.text.value };
    try {
      await put(this.view.notices, value, { lat, long: lon, geofence: wkt(this.area) });
      $("notice-state").textContent = "Sent.";
      this.target.show([]);
    } catch (error) {
      $("notice-state").textContent = error.message;
    }
  }
}

/** The same for the same message, from the stream and from the server's memory. */
function identity({ key, timestamp, value }) {
  return JSON.stringify([key, timestamp, value]);
}

/** What receivers call the message in their answers. */
function nameOf(value) {
  return String(value?.id ?? `${value?.zone}@${value?.since}`);
}

/** What a person reads: the sender's text, or what the pipeline found. */
function textOf(value) {
  if (typeof value === "string") return value;
  if (value?.text !== undefined) return String(value.text);
  if (value?.zone === undefined) return JSON.stringify(value);
  const found = `${value.measure} ${value.statistic} ${Number(value.value).toFixed(0)}`;
  return `${value.zone}: ${found}, above ${value.threshold}`;
}
