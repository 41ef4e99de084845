// What is live on the map: one marker for each thing that sends, the last place it sent from.

import * as L from "/-/leaflet/leaflet-src.esm.js";
import { valueOf } from "/-/page/api.js";
import { colourOf } from "/-/page/colours.js";
import { Dots, onSquare } from "/-/page/dots.js";

const FORGET_AFTER_MS = 60_000;
const KINDS = {
  sensor: { radius: 8, weight: 1.5 },
  car: { radius: 4.5, weight: 1.5, fillColor: "#33485a", color: "#fff" },
  phone: { radius: 4.5, weight: 2, fillColor: "#ffffff", color: "#b0338a" },
};

export class Things {
  constructor(map, view, onChange) {
    this.map = map;
    this.view = view;
    this.things = new Map();
    this.kinds = new Set();
    this.onChange = onChange;
    this.isPast = () => false;
    this.isBusy = () => false;
    this.dots = new Dots(() => this.things.values()).addTo(map);
    this.popup = L.popup();
    map.on("click", ({ containerPoint }) => this.open(this.isBusy() ? null : this.dots.nearest(containerPoint)));
    setInterval(() => this.forgetOld(), 5_000);
  }

  get count() {
    return this.things.size;
  }

  /** A sample came: show or move its thing. */
  take(sample, now = Date.now()) {
    if (!sample.location) return;
    const value = valueOf(sample) ?? {};
    const { lat, long } = sample.location;
    const id = `${sample.key}/${value.id ?? [lat, long].join()}`;
    const [x, y] = onSquare(lat, long);
    const seen = { id, sample, value, at: now, x, y, latLng: [lat, long], look: this.style(value), heading: value.heading };
    const thing = this.things.get(id);
    if (thing) Object.assign(thing, seen);
    else {
      this.things.set(id, seen);
      this.explain(value.kind);
      this.onChange();
    }
    if (this.opened === id) this.popup.setLatLng([lat, long]).setContent(describe(sample, value));
    this.dots.ask();
  }

  /** Tell about a thing that was clicked. */
  open(thing) {
    this.opened = thing?.id;
    if (thing) this.popup.setLatLng(thing.latLng).setContent(describe(thing.sample, thing.value)).openOn(this.map);
  }

  /** A kind that is seen for the first time comes into the legend. */
  explain(kind) {
    const name = kind ?? "other";
    if (this.kinds.has(name)) return;
    this.kinds.add(name);
    const { color, fillColor } = this.style({ kind });
    const dot = document.createElement("i");
    dot.style.background = fillColor;
    dot.style.borderColor = color === "#fff" ? fillColor : color;
    const item = document.createElement("li");
    item.append(dot, name);
    document.getElementById("kinds").append(item);
  }

  /** A thing is gone. */
  remove(sample) {
    for (const [id, thing] of this.things) {
      if (thing.sample.key === sample.key && sample.location
        && thing.sample.location.lat === sample.location.lat
        && thing.sample.location.long === sample.location.long) this.drop(id);
    }
  }

  style(value) {
    const reading = Number(value[this.view.value]);
    const base = KINDS[value.kind] ?? { radius: 6, weight: 1.5 };
    const fillColor = Number.isFinite(reading) && value.kind !== "phone"
      ? colourOf(reading, this.view.scale) : base.fillColor ?? "#5b6f7a";
    return { color: "#fff", fillOpacity: 0.95, opacity: 0.9, ...base, fillColor };
  }

  /** Show that things with these ids heard a message. */
  flash(id, colour) {
    for (const thing of this.things.values()) {
      if (thing.value.id !== id) continue;
      const ring = L.circleMarker(thing.latLng, {
        radius: 13, color: colour, weight: 3, fill: false, interactive: false,
      }).addTo(this.map);
      setTimeout(() => ring.remove(), 6_000);
    }
  }

  /** A thing that is silent for long is gone; what is shown of the past stays. */
  forgetOld() {
    if (this.isPast()) return;
    const oldest = Date.now() - FORGET_AFTER_MS;
    for (const [id, thing] of this.things) if (thing.at < oldest) this.drop(id);
  }

  drop(id) {
    this.things.delete(id);
    this.onChange();
    this.dots.ask();
  }

  clear() {
    this.things.clear();
    this.onChange();
    this.dots.ask();
  }
}

/** A table of what a sample says; text only, whatever the payload holds. */
function describe(sample, value) {
  const table = document.createElement("table");
  const row = (name, text) => {
    const line = table.insertRow();
    const head = document.createElement("th");
    head.textContent = name;
    line.append(head);
    line.insertCell().textContent = text;
  };
  row("key", sample.key);
  if (value !== null && typeof value === "object") {
    for (const [name, member] of Object.entries(value)) {
      row(name, typeof member === "object" ? JSON.stringify(member) : String(member));
    }
  } else row("value", String(value));
  row("at", `${sample.location.lat.toFixed(5)}, ${sample.location.long.toFixed(5)}${sample.location.cell ? " (cell)" : ""}`);
  if (sample.timestamp) row("time", new Date(sample.timestamp).toLocaleTimeString());
  return table;
}
