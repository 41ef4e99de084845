// What lies under everything: land, lakes, borders and names from the server, or tiles; and a graticule.

import { page } from "/-/page/api.js";
import { Sheet, boxesInView, css, feature, repaint, zoomOf } from "/-/page/ground.js";
import { writing } from "/-/page/pictures.js";
import { drawTiles } from "/-/page/tiles.js";

const MARGIN = 0.5; // of the view, on each side
const STEPS = [30, 15, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001];
const is = (kind) => ["==", ["get", "kind"], kind];

/** The three sizes in which names are written, by how many people live there. */
function name() {
  const style = { ink: css("--name"), halo: css("--land") };
  const of = (size, weight) => writing(["get", "name"], { size, weight, ...style });
  return ["step", ["get", "people"], of(11, 400), 300_000, of(12, 500), 2_000_000, of(14, 600)];
}

export class World {
  constructor(map, view) {
    Object.assign(this, { map, view });
    this.isDrawn = Boolean(view.world && !view.tiles);
    this.ground = "--land"; // until it is known what is land, and what is sea
    if (view.tiles) drawTiles(map, view.tiles);
    this.shores = new Sheet(map, "shores", "world", () => [
      {
        type: "fill", filter: ["any", is("land"), is("lake")],
        paint: { "fill-color": ["case", is("land"), css("--land"), css("--water")] },
      },
      {
        type: "line", filter: ["any", is("land"), is("lake")],
        paint: { "line-color": css("--shore"), "line-width": 0.8 },
      },
      { type: "line", filter: is("border"), paint: { "line-color": css("--zone"), "line-width": 1, "line-dasharray": [4, 3] } },
    ], { attribution: this.isDrawn ? credits(view) : "", tolerance: 0.2 });
    this.names = new Sheet(map, "places", "names", () => [{
      type: "symbol", layout: { "icon-image": name(), "symbol-sort-key": ["-", 0, ["get", "people"]], "icon-padding": 6 },
    }]);
    this.lines = new Sheet(map, "graticule", "lines", () => [{ type: "line", paint: { "line-color": css("--grid"), "line-width": 1 } }]);
    map.on("moveend", () => this.draw());
    this.draw();
  }

  draw() {
    this.drawLines();
    this.drawShores();
  }

  /** A graticule of our own: the map is never empty, and nothing is loaded for it. */
  drawLines() {
    const bounds = this.map.getBounds();
    const [south, north] = [Math.max(-85, bounds.getSouth()), Math.min(85, bounds.getNorth())];
    const [west, east] = [bounds.getWest(), bounds.getEast()];
    const rough = Math.max(1e-4, north - south) / 5;
    const step = STEPS.find((each) => each <= rough) ?? STEPS.at(-1);
    const first = (edge) => Math.ceil(edge / step) * step;
    const lines = [];
    const line = (...places) => lines.push(feature({ type: "LineString", coordinates: places }));
    for (let lat = first(south); lat < north; lat += step) line([west, lat], [east, lat]);
    for (let lon = first(west); lon < east; lon += step) line([lon, south], [lon, north]);
    this.lines.show(lines);
  }

  /** Land, lakes, borders and names around what is in view; tiles take their place. */
  async drawShores() {
    if (!this.isDrawn) return;
    const view = this.map.getBounds();
    const zoom = Math.floor(zoomOf(this.map));
    if (this.drawn?.zoom === zoom && this.drawn.bounds.contains(view.getSouthWest()) && this.drawn.bounds.contains(view.getNorthEast())) return;
    const [margin, { lat: height, lng: width }] = [MARGIN * 0.9, spanOf(view)];
    const drawn = (this.drawn = {
      zoom, bounds: new window.maplibregl.LngLatBounds(
        [view.getWest() - margin * width, Math.max(-90, view.getSouth() - margin * height)],
        [view.getEast() + margin * width, Math.min(90, view.getNorth() + margin * height)],
      ),
    });
    const found = await Promise.all(boxesInView(this.map, MARGIN).map((box) => page("world", box))).catch(() => null);
    if (drawn !== this.drawn) return;
    if (!found) {
      this.drawn = undefined; // asked again after the next move
      return;
    }
    const features = found.flatMap((part) => part.features);
    this.shores.show(features.filter(({ geometry }) => geometry.type !== "Point"));
    this.names.show(features.filter(({ geometry }) => geometry.type === "Point"));
    if (this.ground !== "--water") repaint(this.map, (this.ground = "--water")); // what is not land is sea
    document.body.dataset.world = features.length;
  }
}

function spanOf(bounds) {
  return { lat: bounds.getNorth() - bounds.getSouth(), lng: bounds.getEast() - bounds.getWest() };
}

function credits(view) {
  return `Shores: GSHHG${view.places ? ", names: GeoNames" : ""}`;
}
