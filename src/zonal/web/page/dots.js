// Thousands of dots on one canvas: each is a small picture, drawn once and copied where things are.

import * as L from "/-/leaflet/leaflet-src.esm.js";

const DIRECTIONS = 32;
const REACH_PX = 10;
const MERCATOR = 2 * Math.PI;

/** Where a place is on the world's square, both from 0 to 1. */
export function onSquare(lat, lon) {
  const sine = Math.min(0.9999, Math.max(-0.9999, Math.sin((lat * Math.PI) / 180)));
  return [lon / 360 + 0.5, 0.5 - Math.log((1 + sine) / (1 - sine)) / (2 * MERCATOR)];
}

/** Copy a picture to where it belongs. Pixels of its edge that are half clear do not hide what is
 * under them. By hand, since twenty thousand calls of `drawImage` take the time of many frames. */
function copy(pixels, width, height, { side, pixels: source }, left, top) {
  const from = Math.max(0, -left);
  const to = Math.min(side, width - left);
  for (let row = Math.max(0, -top); row < side && top + row < height; row += 1) {
    const start = (top + row) * width + left;
    for (let column = from; column < to; column += 1) {
      const pixel = source[row * side + column];
      if (pixel >>> 31 || (pixel && !pixels[start + column])) pixels[start + column] = pixel;
    }
  }
}

/** Draws `dots()`, each {x, y, look: {radius, weight, color, fillColor}, heading}, when told to. */
export const Dots = L.Layer.extend({
  initialize(dots) {
    this.dots = dots;
    this.pictures = new Map();
    this.frames = 0;
  },

  onAdd(map) {
    this.map = map;
    Object.assign(map.createPane("dots").style, { zIndex: 410, pointerEvents: "none" }); // above areas
    this.canvas = L.DomUtil.create("canvas", "leaflet-zoom-hide", map.getPane("dots"));
    this.canvas.setAttribute("aria-hidden", "true");
    map.on("move zoomend viewreset resize", this.ask, this);
    this.ask();
  },

  onRemove(map) {
    map.off("move zoomend viewreset resize", this.ask, this);
    this.canvas.remove();
  },

  /** Draw with the next frame. */
  ask() {
    this.asked ??= requestAnimationFrame(() => { this.asked = null; this.draw(); });
  },

  /** Pixels of the whole world, and where the view begins in it. */
  frame() {
    const { min } = this.map.getPixelBounds();
    return { scale: 256 * 2 ** this.map.getZoom(), left: min.x, top: min.y, size: this.map.getSize() };
  },

  /** Where a dot is in the view, on the copy of the world that is nearest to its middle. */
  at(dot, { scale, left, top, size }) {
    const x = dot.x * scale - left;
    return [x - Math.round((x - size.x / 2) / scale) * scale, dot.y * scale - top];
  },

  draw() {
    const frame = this.frame();
    const { size } = frame;
    const ratio = window.devicePixelRatio || 1;
    if (this.canvas.width !== size.x * ratio || this.canvas.height !== size.y * ratio) {
      Object.assign(this.canvas, { width: size.x * ratio, height: size.y * ratio });
      Object.assign(this.canvas.style, { width: `${size.x}px`, height: `${size.y}px` });
    }
    L.DomUtil.setPosition(this.canvas, this.map.containerPointToLayerPoint([0, 0]));
    const { width, height } = this.canvas;
    if (this.image?.width !== width || this.image.height !== height) this.image = new ImageData(width, height);
    const pixels = new Uint32Array(this.image.data.buffer).fill(0);
    for (const dot of this.dots()) {
      const [x, y] = this.at(dot, frame);
      if (x < -20 || y < -20 || x > size.x + 20 || y > size.y + 20) continue;
      const picture = this.picture(dot, ratio);
      copy(pixels, width, height, picture, Math.round(x * ratio - picture.side / 2), Math.round(y * ratio - picture.side / 2));
    }
    this.canvas.getContext("2d").putImageData(this.image, 0, 0);
    this.frames += 1;
  },

  /** The picture of a look: a disc, with a beak where the thing is heading. */
  picture({ look, heading }, ratio) {
    const turn = Number.isFinite(heading) ? Math.round((heading / 360) * DIRECTIONS) % DIRECTIONS : "";
    const name = `${look.radius}|${look.weight}|${look.color}|${look.fillColor}|${turn}|${ratio}`;
    let known = this.pictures.get(name);
    if (known) return known;
    if (this.pictures.size > 4_000) this.pictures.clear();
    const half = look.radius + look.weight + (turn === "" ? 1 : 6);
    const picture = document.createElement("canvas");
    picture.width = picture.height = Math.ceil(2 * half * ratio);
    const context = picture.getContext("2d");
    context.scale(ratio, ratio);
    context.translate(half, half);
    Object.assign(context, { fillStyle: look.fillColor, strokeStyle: look.color, lineWidth: look.weight });
    context.beginPath();
    if (turn === "") context.arc(0, 0, look.radius, 0, MERCATOR);
    else {
      context.rotate((turn / DIRECTIONS) * MERCATOR);
      context.arc(0, 0, look.radius, -0.2 * Math.PI, 1.2 * Math.PI);
      context.lineTo(0, -look.radius - 6);
      context.closePath();
    }
    context.fill();
    context.stroke();
    const { data } = context.getImageData(0, 0, picture.width, picture.width);
    known = { side: picture.width, pixels: new Uint32Array(data.buffer) };
    this.pictures.set(name, known);
    return known;
  },

  /** The dot nearest to a point of the view, if one is in reach. */
  nearest(point) {
    const frame = this.frame();
    let found = null;
    let least = REACH_PX;
    for (const dot of this.dots()) {
      const [x, y] = this.at(dot, frame);
      const far = Math.hypot(x - point.x, y - point.y) - dot.look.radius + 4;
      if (far < least) [found, least] = [dot, far];
    }
    return found;
  },
});
