// The map itself, on MapLibre GL: an empty style with an order, to which the page's parts add sheets.

import { signed } from "/-/page/token.js";

const { Map: GlMap, NavigationControl, ScaleControl, AttributionControl, LngLatBounds } = window.maplibregl ?? {};

/** From the ground up; what is added to a place lies under everything that is named after it. */
const ORDER = ["world", "tiles", "lines", "zones", "names", "grid", "cover", "heat", "trails", "areas", "things", "marks"];

/** A colour of the page's theme. */
export const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** GeoJSON of a geometry. */
export const feature = (geometry, properties = {}) => ({ type: "Feature", geometry, properties });

const collection = (features) => ({ type: "FeatureCollection", features });

/** What is wrong with this browser for a map; nothing: empty. */
export function obstacle() {
  if (!GlMap) return "The map's program (MapLibre GL) could not be loaded.";
  const drawn = document.createElement("canvas").getContext("webgl2");
  drawn?.getExtension("WEBGL_lose_context")?.loseContext();
  return drawn ? "" : "This browser offers no WebGL 2, with which the map is drawn: "
    + "switch hardware acceleration on, or use another browser. The REST interface works without it.";
}

// Zooms are counted as tiles are: at 0 the world is 256 pixels wide. MapLibre begins at 512.
export const zoomOf = (map) => map.getZoom() + 1;
export const fromZoom = (zoom) => zoom - 1;

/** The map in `#map`; ready for sheets when the promise is kept. */
export async function openMap(center, zoom) {
  const map = new GlMap({
    container: "map", center: [center[1], center[0]], zoom: fromZoom(zoom), minZoom: 0, maxZoom: 21,
    style: {
      version: 8, sources: {},
      layers: [
        { id: "ground", type: "background", paint: { "background-color": css("--land") } },
        ...ORDER.map((id) => ({ id, type: "background", layout: { visibility: "none" } })),
      ],
    },
    attributionControl: false, dragRotate: false, pitchWithRotate: false, touchPitch: false, fadeDuration: 0,
    transformRequest: signed,
  });
  map.touchZoomRotate.disableRotation();
  map.keyboard.disableRotation();
  map.addControl(new NavigationControl({ showCompass: false }), "top-left");
  map.addControl(new ScaleControl({ maxWidth: 120 }), "bottom-left");
  map.addControl(new AttributionControl({ compact: false, customAttribution: '<a href="https://maplibre.org">MapLibre</a>' }), "bottom-left");
  map.sheets = new Set();
  await map.once("style.load");
  map.getCanvas().setAttribute("aria-label", "Map; arrow keys move it, plus and minus zoom");
  return map;
}

/** The theme has changed: every sheet takes its colours anew. */
export function repaint(map, ground) {
  map.setPaintProperty("ground", "background-color", css(ground));
  for (const sheet of map.sheets) sheet.repaint();
}

/** Features that are drawn in the same way: a source of the map, and the layers that show it. While
 * there are none the layers are hidden: else every frame would look through their empty tiles. */
export class Sheet {
  /** `looks()` gives the layers, bottom first, in the colours of the theme as it is. */
  constructor(map, name, place, looks, source = {}) {
    Object.assign(this, { map, name, looks });
    this.features = [];
    map.addSource(name, { type: "geojson", data: collection([]), ...source });
    this.ids = looks().map((layer, number) => {
      const id = `${name}-${number}`;
      map.addLayer({ ...layer, layout: { ...layer.layout, visibility: "none" }, id, source: name }, place);
      return id;
    });
    map.sheets.add(this);
  }

  get source() {
    return this.map.getSource(this.name);
  }

  show(features) {
    const change = this.features.length > 0 !== features.length > 0;
    this.features = features;
    this.source?.setData(collection(features));
    const visibility = features.length ? "visible" : "none";
    if (change) for (const id of this.ids) this.map.setLayoutProperty(id, "visibility", visibility);
  }

  repaint() {
    this.looks().forEach(({ paint = {}, layout = {} }, number) => {
      for (const [name, value] of Object.entries(paint)) this.map.setPaintProperty(this.ids[number], name, value);
      if (layout["icon-image"]) this.map.setLayoutProperty(this.ids[number], "icon-image", layout["icon-image"]);
    });
  }
}

/** The box around places or geometries, both longitude first; null around nothing. */
export function boundsOf(coordinates) {
  const bounds = new LngLatBounds();
  const add = (each) => (typeof each[0] === "number" ? bounds.extend([each[0], each[1]]) : each.forEach(add));
  coordinates.forEach(add);
  return bounds.isEmpty() ? null : bounds;
}

/** The view, and `margin` times as much on each side, as boxes of the REST interface: one, or two
 * where it lies across the antimeridian. */
export function boxesInView(map, margin = 0) {
  const view = map.getBounds();
  const [height, width] = [view.getNorth() - view.getSouth(), view.getEast() - view.getWest()];
  const [south, north] = [Math.max(-90, view.getSouth() - margin * height), Math.min(90, view.getNorth() + margin * height)];
  const [west, east] = [view.getWest() - margin * width, view.getEast() + margin * width];
  const box = (from, to) => ({ shape: "box", min_lat: south, max_lat: north, min_long: from, max_long: to });
  if (east - west >= 360) return [box(-180, 180)];
  const turn = 360 * Math.floor((west + 180) / 360);
  if (east - turn <= 180) return [box(west - turn, east - turn)];
  return [box(west - turn, 180), box(-180, east - turn - 360)];
}
