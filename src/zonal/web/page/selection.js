// The area that the user hears: the stream behind it, its counters, and moving it.

import { get, subscribe } from "/-/page/api.js";
import { Sheet, css, feature } from "/-/page/ground.js";
import { describe, geometryOf, middle, moved, parameters } from "/-/page/shapes.js";

const SETTLE_MS = 150;
const KEY_STEP_PX = 20;
const $ = (id) => document.getElementById(id);

export class Selection {
  constructor(map, view, { onSample, onArea, onLink }) {
    this.map = map;
    this.view = view;
    this.onSample = onSample;
    this.onArea = onArea;
    this.onLink = onLink;
    this.area = null;
    this.sheet = new Sheet(map, "area", "areas", () => [
      { type: "fill", paint: { "fill-color": css("--accent"), "fill-opacity": 0.07 } },
      { type: "line", paint: { "line-color": css("--accent"), "line-width": 2.5 } },
    ]);
    this.ends = []; // the streams of the area
    this.before = []; // those of the areas before it, until the new ones are there
    this.isHeard = false;
    this.received = 0;
    this.dropped = 0;
    this.listen();
    if (!view.meter) document.body.classList.add("no-meter");
    setInterval(() => this.tell(), 250);
  }

  get encoding() {
    return $("encoding").value;
  }

  /** What the REST interface needs to know of area and encoding. */
  get parameters() {
    if (!this.area) return {};
    return { ...parameters(this.area), encoding: this.encoding };
  }

  select(area) {
    this.area = area;
    this.draw();
    this.listen();
    this.onArea(area);
    $("clear").disabled = area === null;
    $("area-title").textContent = area ? describe(area) : "Everywhere";
    $("area-text").textContent = area
      ? "Only what is inside reaches this page. Drag the handle to move it."
      : "Draw an area to hear only what is inside.";
  }

  /** New streams first, then the old ones end: nothing is missed in between. Those that have not
   * begun when the next area is there end at once: browsers open few streams at a time. */
  listen() {
    if (this.isHeard) this.before.push(...this.ends);
    else this.ends.forEach((end) => end());
    this.isHeard = false;
    let waiting = this.view.topics.length;
    this.received = 0;
    this.dropped = 0;
    this.metered = null;
    this.tell();
    const asked = { ...this.parameters, fenced: this.view.fenced, counters: Boolean(this.view.meter) };
    const number = (this.number = (this.number ?? 0) + 1);
    const mine = (handle) => (data) => number === this.number && handle(data);
    this.ends = this.view.topics.map((topic) => subscribe(topic, asked, {
      ready: mine(() => {
        this.onLink("live");
        waiting -= 1;
        this.isHeard = waiting <= 0;
        if (this.isHeard) this.before.splice(0).forEach((end) => end());
      }),
      PUT: mine((sample) => this.take(sample, "PUT")),
      DELETE: mine((sample) => this.take(sample, "DELETE")),
      counters: mine(({ published }) => this.meter(published)),
      overflow: mine(({ dropped }) => (this.dropped += dropped)),
      error: mine(() => this.onLink("lost")),
    }));
    setTimeout(() => this.askStores(mine));
  }

  /** What is there already, as stores know it; without a store, whatever moves next shows up. */
  async askStores(mine) {
    for (const topic of this.view.topics) {
      const known = await get(topic, { ...this.parameters, timeout: 5 }).catch(() => []);
      known.sort((one, other) => (one.timestamp ?? "").localeCompare(other.timestamp ?? ""));
      for (const sample of known) if (sample.location) mine((each) => this.onSample(each, "PUT"))(sample);
    }
  }

  take(sample, kind) {
    this.received += 1;
    this.onSample(sample, kind);
  }

  draw() {
    this.handle?.remove();
    this.handle = null;
    this.sheet.show(this.area ? [feature(geometryOf(this.area))] : []);
    if (!this.area) return;
    const element = Object.assign(document.createElement("button"), { type: "button", className: "handle", title: "Move the area" });
    element.setAttribute("aria-label", "Move the area with arrow keys");
    const [lat, lng] = middle(this.area);
    this.handle = new window.maplibregl.Marker({ element, draggable: true }).setLngLat([lng, lat]).addTo(this.map);
    this.handle.on("drag", () => this.shift(this.handle.getLngLat()));
    this.handle.on("dragend", () => this.settle());
    element.addEventListener("keydown", (event) => this.shiftByKey(event));
  }

  shift({ lat, lng }) {
    this.area = moved(this.area, [lat, lng]);
    this.sheet.show([feature(geometryOf(this.area))]);
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.settle(), SETTLE_MS);
  }

  shiftByKey(event) {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const { x, y } = this.map.project(this.handle.getLngLat());
    const to = this.map.unproject([x + step[0] * KEY_STEP_PX, y + step[1] * KEY_STEP_PX]);
    this.handle.setLngLat(to);
    this.shift(to);
  }

  /** The area stays where it is now: listen there. */
  settle() {
    clearTimeout(this.settling);
    this.listen();
    this.onArea(this.area);
  }

  /** Both counts from one place in the stream, and from the first one after the area was chosen. */
  meter(published) {
    if (published === undefined) return;
    const { received } = this;
    this.metered ??= { from: { published, received } };
    Object.assign(this.metered, { published, received });
  }

  tell() {
    const { from } = this.metered ?? { from: { published: 0, received: 0 } };
    const received = (this.metered ?? this).received - from.received;
    $("received").textContent = received.toLocaleString("en");
    $("dropped").hidden = this.dropped === 0;
    $("dropped").textContent = `${this.dropped} messages were dropped: this page is too slow.`;
    if (!this.metered) {
      for (const id of ["published", "spared"]) $(id).textContent = "–"; // counted anew
      return;
    }
    // The server's meter hears through a session of its own, which may be behind this stream.
    const published = Math.max(this.metered.published - from.published, received);
    const spared = this.area ? published - received : 0;
    $("published").textContent = published.toLocaleString("en");
    $("spared").textContent = this.area && published ? `${Math.round((100 * spared) / published)} %` : "–";
    $("spared").title = `${spared} messages`;
    $("bar").firstElementChild.style.width = `${published ? (100 * spared) / published : 0}%`;
  }
}
