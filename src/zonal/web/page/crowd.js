// Many things at once: how dense they are, where they came from, and, from far away, how many.

import { RAMP, cssOf } from "/-/page/colours.js";
import { Sheet, css, feature, fromZoom } from "/-/page/ground.js";
import { writing } from "/-/page/pictures.js";

const REFRESH_MS = 1_000; // these sources are cut into tiles anew each time
const FAR = fromZoom(8); // from further away, clusters stand for things
const TRAIL_PLACES = 40;

export class Crowd {
  constructor(map, things) {
    Object.assign(this, { map, things, shown: new Set() });
    const many = ["has", "point_count"];
    this.clusters = new Sheet(map, "clusters", "things", () => [
      {
        type: "circle", maxzoom: FAR,
        paint: {
          "circle-color": css("--accent"), "circle-opacity": 0.85, "circle-stroke-color": css("--on-accent"), "circle-stroke-width": 1.5,
          "circle-radius": ["case", many, ["interpolate", ["linear"], ["log10", ["max", 2, ["get", "point_count"]]], 0, 11, 4, 30], 5],
        },
      },
      {
        type: "symbol", maxzoom: FAR, filter: many,
        layout: {
          "icon-image": writing(["get", "point_count_abbreviated"], { size: 12, weight: 700, ink: css("--on-accent"), halo: "transparent" }),
          "icon-allow-overlap": true, "icon-ignore-placement": true,
        },
      },
    ], { cluster: true, clusterRadius: 46, clusterMaxZoom: Math.ceil(FAR) });
    this.heat = new Sheet(map, "heat-of-things", "heat", () => [{
      type: "heatmap",
      paint: {
        "heatmap-radius": ["interpolate", ["linear"], ["zoom"], 2, 8, 14, 45],
        "heatmap-intensity": ["interpolate", ["linear"], ["zoom"], 2, 0.3, 12, 1],
        "heatmap-weight": 0.8, "heatmap-opacity": 0.75,
        "heatmap-color": ["interpolate", ["linear"], ["heatmap-density"], 0, "rgba(42,120,190,0)",
          ...RAMP.flatMap((colour, number) => [0.12 + (0.88 * number) / (RAMP.length - 1), cssOf(colour)])],
      },
    }]);
    this.trails = new Sheet(map, "trails-of-things", "trails", () => [{
      type: "line", layout: { "line-cap": "round", "line-join": "round" },
      paint: { "line-color": ["get", "colour"], "line-width": 2.5, "line-opacity": 0.65 },
    }]);
    map.on("zoomend", () => this.changed());
  }

  /** Show `clusters`, `heat` or `trails`, or stop it. */
  choose(name, on) {
    this.shown[on ? "add" : "delete"](name);
    if (name === "clusters") this.map.setLayerZoomRange("dots", on ? FAR : 0, 24);
    if (name === "trails" && !on) for (const thing of this.things()) thing.trail = undefined;
    this.draw();
  }

  get isFar() {
    return this.shown.has("clusters") && this.map.getZoom() < FAR;
  }

  /** A thing came or moved. */
  follow(thing) {
    if (this.shown.has("trails")) {
      thing.trail ??= [];
      const last = thing.trail.at(-1);
      if (last?.[0] !== thing.place[0] || last[1] !== thing.place[1]) thing.trail.push(thing.place);
      if (thing.trail.length > TRAIL_PLACES) thing.trail.shift();
    }
    this.changed();
  }

  changed() {
    if (!this.waiting && (this.isFar || this.shown.has("heat") || this.shown.has("trails"))) {
      this.waiting = setTimeout(() => this.draw(), REFRESH_MS);
    }
  }

  draw() {
    clearTimeout(this.waiting);
    this.waiting = null;
    const points = () => Array.from(this.things(), ({ place }) => feature({ type: "Point", coordinates: place }));
    this.update("clusters", this.isFar, points);
    this.update("heat", this.shown.has("heat"), points);
    this.update("trails", this.shown.has("trails"), () => Array.from(this.things())
      .filter(({ trail }) => trail?.length > 1)
      .map(({ trail, look }) => feature({ type: "LineString", coordinates: trail }, { colour: cssOf(look.plain ? look.edge : look.fill) })));
  }

  update(name, isShown, features) {
    if (isShown) this[name].show(features());
    else if (this[name].features.length) this[name].show([]);
  }

  /** A click on a cluster goes nearer; whether there was one. */
  open(point) {
    if (!this.isFar) return false;
    const [found] = this.map.queryRenderedFeatures(point, { layers: [this.clusters.ids[0]] });
    if (!found) return true;
    const go = (zoom) => this.map.easeTo({ center: found.geometry.coordinates, zoom });
    const nearer = () => go(this.map.getZoom() + 2); // the clusters have changed meanwhile
    if (found.properties.cluster) this.clusters.source.getClusterExpansionZoom(found.properties.cluster_id).then(go, nearer);
    else go(FAR + 2);
    return true;
  }
}
