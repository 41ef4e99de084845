// Finding one's way: everything in view, a place by its coordinates, zones from a file that is dropped.

import * as L from "/-/leaflet/leaflet-src.esm.js";

const $ = (id) => document.getElementById(id);
const NUMBERS = /^\s*(-?\d+(?:\.\d+)?)\s*[,;\s]\s*(-?\d+(?:\.\d+)?)\s*$/;
const LARGEST_FILE = 20 * 1024 * 1024;

export class Finding {
  constructor(map, { things, layers }) {
    Object.assign(this, { map, things, layers });
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
  fit() {
    const places = [...this.things.things.values()].map((thing) => L.latLng(thing.latLng));
    if (places.length) this.map.fitBounds(L.latLngBounds(places), { maxZoom: 16, padding: [40, 40] });
    this.tell(places.length ? "" : "Nothing is shown.");
  }

  /** A place as `lat, lon`, in the middle of the map. */
  find(text) {
    const [, lat, lon] = NUMBERS.exec(text) ?? [];
    if (lat === undefined || Math.abs(lat) > 90 || Math.abs(lon) > 180) {
      this.tell("A place is latitude, longitude: 45.46, 9.19");
      return;
    }
    this.tell("");
    this.map.setView([Number(lat), Number(lon)], Math.max(14, this.map.getZoom()));
  }

  /** A GeoJSON file that was dropped on the map becomes a layer of this page. */
  async open(file) {
    try {
      if (file.size > LARGEST_FILE) throw new Error("it has more than 20 MB");
      const bounds = this.layers.addFeatures(file.name, JSON.parse(await file.text()));
      if (bounds.isValid()) this.map.fitBounds(bounds);
      this.tell(`${file.name} is shown.`);
    } catch (error) {
      this.tell(`${file.name} cannot be shown: ${error.message}`);
    }
  }

  tell(text) {
    $("found").textContent = text;
  }
}
