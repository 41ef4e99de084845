// Drawing an area with mouse, finger or keyboard.
// Pointer: circle and box by dragging, polygon by clicking its corners (double click ends).
// Keyboard: the crosshair is the middle of the map; arrows move the map, Enter sets a point.

import { Sheet, css, feature } from "/-/page/ground.js";
import { distance, geometryOf, onEarth } from "/-/page/shapes.js";

const GESTURES = ["dragPan", "doubleClickZoom", "boxZoom"]; // that would move the map meanwhile
const SMALLEST_PX = 4;
const HINTS = {
  circle: "Drag from the middle outwards, or set middle and edge with Enter",
  box: "Drag from corner to corner, or set two corners with Enter",
  polygon: "Click the corners, then Enter or double-click; or Enter for each, and Enter twice",
};

export class Drawing {
  constructor(map, { onDone, onState }) {
    this.map = map;
    this.onDone = onDone;
    this.onState = onState;
    this.shape = null;
    this.points = [];
    this.preview = new Sheet(map, "preview", "areas", () => [
      { type: "fill", paint: { "fill-color": css("--accent"), "fill-opacity": 0.08 } },
      { type: "line", paint: { "line-color": css("--accent"), "line-width": 2, "line-dasharray": [3, 2.5] } },
    ]);
    const box = map.getContainer();
    box.addEventListener("pointerdown", (event) => this.down(event), { capture: true });
    box.addEventListener("pointermove", (event) => this.move(event), { capture: true });
    box.addEventListener("pointerup", (event) => this.up(event), { capture: true });
    box.addEventListener("dblclick", (event) => this.shape && (event.stopPropagation(), event.preventDefault()), { capture: true });
    map.on("movestart", () => (this.moving = true));
    map.on("moveend", () => (this.moving = false));
    map.on("move", () => this.byKeyboard && this.show(this.centre()));
  }

  get active() {
    return this.shape !== null;
  }

  start(shape) {
    this.cancel();
    this.shape = shape;
    this.points = [];
    for (const name of GESTURES) this.map[name].disable();
    this.onState(shape, HINTS[shape]);
  }

  cancel() {
    if (!this.active) return;
    this.shape = null;
    this.byKeyboard = false;
    this.preview.show([]);
    for (const name of GESTURES) this.map[name].enable();
    this.onState(null, "");
  }

  centre() {
    const { lat, lng } = this.map.getCenter();
    return [lat, lng];
  }

  place(event) {
    const { left, top } = this.map.getContainer().getBoundingClientRect();
    const { lat, lng } = this.map.unproject([event.clientX - left, event.clientY - top]);
    return [lat, lng];
  }

  down(event) {
    if (!this.active || event.button !== 0 || event.target.closest(".maplibregl-ctrl")) return;
    event.stopPropagation();
    this.byKeyboard = false;
    this.downAt = [event.clientX, event.clientY];
    if (this.shape !== "polygon" && this.points.length === 0) this.points = [this.place(event)];
  }

  move(event) {
    if (!this.active || this.points.length === 0 || this.byKeyboard) return;
    this.show(this.place(event));
  }

  up(event) {
    if (!this.active || !this.downAt) return;
    event.stopPropagation();
    const [x, y] = this.downAt;
    this.downAt = null;
    const dragged = Math.hypot(event.clientX - x, event.clientY - y) >= SMALLEST_PX;
    if (this.shape === "polygon") this.corner(this.place(event), event.timeStamp);
    else if (dragged || this.clicked) this.finish(this.place(event));
    else this.clicked = true; // a click sets the first point, the next one the second
  }

  /** Another corner; the same one twice within half a second ends the polygon. */
  corner(point, time) {
    const last = this.points.at(-1);
    const again = last && time - this.cornerTime < 500
      && this.map.project([last[1], last[0]]).dist(this.map.project([point[1], point[0]])) < 8;
    this.cornerTime = time;
    if (again) this.finishPolygon();
    else {
      this.points.push(point);
      this.show(point);
    }
  }

  /** Enter: a point at the crosshair, where the map's gliding under it ends. */
  enter(time) {
    if (this.moving) {
      this.map.once("moveend", () => this.active && this.enter(time));
      return;
    }
    if (this.shape === "polygon" && this.points.length > 0 && !this.byKeyboard) {
      if (this.points.length >= 3) this.finishPolygon();
      return; // corners by pointer: Enter ends, and sets none
    }
    this.byKeyboard = true;
    if (this.shape === "polygon") this.corner(this.centre(), time);
    else if (this.points.length === 0) this.points = [this.centre()];
    else this.finish(this.centre());
  }

  areaWith(point) {
    const [first] = this.points;
    switch (this.shape) {
      case "circle":
        return { shape: "circle", center: first, radius: distance(first, point) };
      case "box":
        return {
          shape: "box", south: Math.min(first[0], point[0]), north: Math.max(first[0], point[0]),
          west: Math.min(first[1], point[1]), east: Math.max(first[1], point[1]),
        };
      default:
        return { shape: "polygon", points: [...this.points, point] };
    }
  }

  show(point) {
    if (this.points.length === 0) return;
    this.preview.show([feature(geometryOf(this.areaWith(point)))]);
  }

  finish(point) {
    const area = this.areaWith(point);
    this.clicked = false;
    this.end(area, area.shape === "circle" ? area.radius > 0 : area.south < area.north && area.west < area.east);
  }

  finishPolygon() {
    this.end({ shape: "polygon", points: this.points }, this.points.length >= 3);
  }

  end(area, isArea) {
    this.endedAt = performance.now();
    this.cancel();
    if (isArea) this.onDone(onEarth(area));
  }
}
