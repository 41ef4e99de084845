// What is live on the map: one dot for each thing that sends, at the last place it sent from.

import { valueOf } from "/-/page/api.js";
import { colourOf, cssOf } from "/-/page/colours.js";
import { Crowd } from "/-/page/crowd.js";
import { Dots, onSquare } from "/-/page/dots.js";
import { Sheet, feature } from "/-/page/ground.js";
import { drawShape } from "/-/page/pictures.js";

const FORGET_AFTER_MS = 60_000;
const FLASH_MS = 6_000;
const WHITE = [255, 255, 255];
const OTHER = { shape: "dot", radius: 6, fill: [91, 111, 122], edge: WHITE };
const KINDS = {
  sensor: { radius: 8 },
  car: { radius: 4.5, fill: [51, 72, 90] },
  phone: { radius: 4.5, fill: WHITE, edge: [176, 51, 138], plain: true },
  vehicle: { shape: "bus", radius: 7, fill: [11, 110, 153] },
  aircraft: { shape: "plane", radius: 9, fill: [74, 58, 140] },
  vessel: { shape: "ship", radius: 8, fill: [27, 95, 80] },
  receiver: { shape: "square", radius: 6, fill: [27, 127, 77] },
};
const LOOKS = new Map(Object.entries(KINDS).map(([kind, look]) => [kind, { ...OTHER, ...look }]));

export class Things {
  constructor(map, view, onChange) {
    Object.assign(this, { map, view, onChange });
    this.things = new Map();
    this.kinds = new Set();
    this.isPast = () => false;
    this.isBusy = () => false;
    this.dots = new Dots(map, "things");
    this.crowd = new Crowd(map, () => this.things.values());
    this.rings = new Sheet(map, "rings", "marks", () => [{
      type: "circle",
      paint: { "circle-radius": 13, "circle-opacity": 0, "circle-stroke-width": 3, "circle-stroke-color": ["get", "colour"] },
    }]);
    this.popup = new window.maplibregl.Popup({ maxWidth: "22em", closeOnClick: false, focusAfterOpen: false });
    this.popup.on("close", () => { this.opened = undefined; });
    map.on("click", ({ point }) => this.isBusy() || this.crowd.open(point) || this.open(this.dots.nearest(point)));
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
    const seen = { id, sample, value, at: now, x, y, place: [long, lat], look: this.look(value), heading: value.heading };
    let thing = this.things.get(id);
    if (thing) Object.assign(thing, seen);
    else {
      thing = seen;
      this.things.set(id, thing);
      this.explain(value.kind);
      this.onChange();
    }
    this.dots.put(thing);
    this.crowd.follow(thing);
    if (this.opened === id) this.tell(thing);
  }

  /** Tell about a thing that was clicked; null: about none. */
  open(thing) {
    this.popup.remove();
    if (!thing) return;
    this.tell(thing);
    this.popup.addTo(this.map);
    this.opened = thing.id;
  }

  tell({ place, sample, value }) {
    this.popup.setLngLat(place).setDOMContent(describe(sample, value));
  }

  /** A kind that is seen for the first time comes into the legend. */
  explain(kind) {
    const name = kind ?? "other";
    if (this.kinds.has(name)) return;
    this.kinds.add(name);
    const { shape, fill, edge } = this.look({ kind });
    const picture = drawShape(shape, cssOf(fill), cssOf(edge === WHITE ? fill : edge), 32);
    picture.setAttribute("aria-hidden", "true");
    const item = document.createElement("li");
    item.append(picture, name);
    document.getElementById("kinds").append(item);
  }

  /** A thing is gone. */
  remove(sample) {
    for (const thing of this.things.values()) {
      if (thing.sample.key === sample.key && sample.location
        && thing.sample.location.lat === sample.location.lat
        && thing.sample.location.long === sample.location.long) this.drop(thing);
    }
  }

  look(value) {
    const base = LOOKS.get(value.kind) ?? OTHER;
    const reading = value[this.view.value];
    const isColoured = !base.plain && reading !== null && reading !== "" && Number.isFinite(Number(reading));
    return isColoured ? { ...base, fill: colourOf(Number(reading), this.view.scale) } : base;
  }

  /** Show that things with these ids heard a message. */
  flash(id, colour) {
    for (const thing of this.things.values()) {
      if (thing.value.id !== id) continue;
      const ring = feature({ type: "Point", coordinates: thing.place }, { colour });
      this.rings.show([...this.rings.features, ring]);
      setTimeout(() => this.rings.show(this.rings.features.filter((each) => each !== ring)), FLASH_MS);
    }
  }

  /** A thing that is silent for long is gone; what is shown of the past stays. */
  forgetOld() {
    if (this.isPast()) return;
    const oldest = Date.now() - FORGET_AFTER_MS;
    for (const thing of this.things.values()) if (thing.at < oldest) this.drop(thing);
  }

  drop(thing) {
    this.things.delete(thing.id);
    this.dots.remove(thing);
    this.crowd.changed();
    this.onChange();
  }

  clear() {
    this.things.clear();
    this.dots.clear();
    this.crowd.changed();
    this.onChange();
  }
}

/** A table of what a sample says; text only, whatever the payload holds. */
function describe(sample, value) {
  const table = document.createElement("table");
  const row = (name, text) => {
    const line = table.insertRow();
    const head = document.createElement("th");
    head.scope = "row";
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
