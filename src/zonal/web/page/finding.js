// Finding one's way: everything in view, a place by its name or coordinates, zones from a file.

import { page } from "/-/page/api.js";
import { boundsOf, fromZoom } from "/-/page/ground.js";

const $ = (id) => document.getElementById(id);
const NUMBERS = /^\s*(-?\d+(?:\.\d+)?)\s*[,;\s]\s*(-?\d+(?:\.\d+)?)\s*$/;
const GATHERING_MS = 1000; // the first things seldom come alone
const LARGEST_FILE = 20 * 1024 * 1024;

export class Finding {
  constructor(map, view, { things, layers }) {
    Object.assign(this, { map, view, things, layers });
    this.hint = view.places ? "Not found: a name, or latitude, longitude: 45.46, 9.19" : "A place is latitude, longitude: 45.46, 9.19";
    if (view.places) Object.assign($("place"), { placeholder: "Milan, or 45.46, 9.19", ariaLabel: "A place: its name, or latitude, longitude" });
    this.isOpen = false; // whether to go to the first things
    $("fit").addEventListener("click", () => this.fit());
    $("find").addEventListener("submit", (event) => {
      event.preventDefault();
      this.find($("place").value);
    });
    const box = map.getContainer();
    box.addEventListener("dragover", (event) => event.preventDefault());
    box.addEventListener("drop", (event) => {
      event.preventDefault();
      for (const file of event.dataTransfer.files) this.open(file);
    });
  }

  /** All that is shown, in view. */
  fit(closest = 16) {
    const bounds = boundsOf([...this.things.things.values()].map(({ place }) => place));
    if (bounds) this.map.fitBounds(bounds, { maxZoom: fromZoom(closest), padding: 40 });
    this.tell(bounds ? "" : "Nothing is shown.");
  }

  /** Go to the first things that appear, unless somebody moves the map before. */
  awaitFirst() {
    this.isOpen = true;
    this.map.on("movestart", ({ originalEvent }) => { if (originalEvent) this.isOpen = false; });
    this.seen();
  }

  /** Things have appeared. */
  seen() {
    if (!this.isOpen || this.waiting || this.things.count === 0) return;
    this.waiting = setTimeout(() => {
      const wanted = this.isOpen;
      this.isOpen = false; // before a move that is over at once, where no motion is wanted
      if (wanted) this.fit(14);
    }, GATHERING_MS);
  }

  /** A place as `lat, lon` or by its name, in the middle of the map. */
  async find(text) {
    const [, lat, lon] = NUMBERS.exec(text) ?? [];
    if (lat !== undefined && Math.abs(lat) <= 90 && Math.abs(lon) <= 180) {
      this.tell("");
      this.go([Number(lon), Number(lat)], 14);
      return;
    }
    const found = this.view.places && lat === undefined ? await page("places", { name: text }).catch(() => []) : [];
    if (found.length === 0) this.tell(this.hint);
    else this.offer(found);
  }

  /** Go to the largest of the places that have the name; the others can be chosen. */
  offer(places) {
    const go = ({ lat, long }) => this.go([long, lat], 11);
    go(places[0]);
    this.tell(titleOf(places[0]));
    for (const other of places.slice(1)) {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: titleOf(other) });
      button.addEventListener("click", () => go(other));
      $("found").append(" ", button);
    }
  }

  go(center, zoom) {
    this.isOpen = false;
    this.map.easeTo({ center, zoom: Math.max(fromZoom(zoom), this.map.getZoom()) });
  }

  /** A GeoJSON file that was dropped on the map becomes a layer of this page. */
  async open(file) {
    try {
      if (file.size > LARGEST_FILE) throw new Error("it has more than 20 MB");
      const bounds = this.layers.addFeatures(file.name, JSON.parse(await file.text()));
      if (bounds) this.map.fitBounds(bounds, { padding: 40 });
      this.tell(`${file.name} is shown.`);
    } catch (error) {
      this.tell(`${file.name} cannot be shown: ${error.message}`);
    }
  }

  tell(text) {
    $("found").textContent = text;
  }
}

const titleOf = ({ name, country }) => `${name} (${country})`;
