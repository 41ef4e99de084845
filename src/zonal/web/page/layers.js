// What can be shown besides the live things: grids, covers, routers, zones, users' GeoJSON.

import { page } from "/-/page/api.js";
import { colourOf, cssOf } from "/-/page/colours.js";
import { Sheet, boundsOf, boxesInView, css, feature } from "/-/page/ground.js";
import { writing } from "/-/page/pictures.js";
import { parameters } from "/-/page/shapes.js";

const $ = (id) => document.getElementById(id);
const MOST_NAMES = 90;
const COLOURS = { s2: "#7a5cc0", mgrs: "#a06a1c", cover: "#e07b00", router: "#5b3fa0" };
const has = (name, then, otherwise) => ["case", ["has", name], then, otherwise];
const M_PER_PX = 55_000; // at zoom 0, between equator and pole; halved with each zoom
const wideAt = (zoom) => [zoom, has("width_m", ["*", ["get", "width_m"], 2 ** zoom / M_PER_PX], 1.2)];
const LINE_WIDTH = ["interpolate", ["exponential", 2], ["zoom"], ...wideAt(8), ...wideAt(20)];
const isKind = (kind, then, otherwise) => ["case", ["==", ["get", "kind"], kind], then, otherwise];

export class Layers {
  constructor(map, view, crowd) {
    Object.assign(this, { map, view, crowd });
    this.zones = new Map();
    this.groups = [];
    this.grids = new Set();
    this.onChange = () => {};
    this.onZones = () => {};
    this.zoneSheet = new Sheet(map, "zones-of-users", "zones", () => [
      {
        type: "fill", filter: ["==", ["geometry-type"], "Polygon"],
        paint: { "fill-color": has("colour", ["get", "colour"], css("--zone")), "fill-opacity": has("colour", 0.38, 0.04) },
      },
      { type: "line", paint: {
        "line-color": isKind("water", css("--shore"), css("--zone")), "line-width": LINE_WIDTH, "line-opacity": isKind("street", 0.35, 0.8),
      } },
      { type: "circle", filter: ["==", ["geometry-type"], "Point"], paint: { "circle-radius": 4, "circle-color": css("--zone") } },
    ]);
    const colour = ["get", "colour"];
    this.grid = new Sheet(map, "grid-of-cells", "grid", () => [
      { type: "line", paint: { "line-color": colour, "line-width": 1, "line-opacity": 0.75 } },
      {
        type: "symbol", filter: ["has", "name"],
        layout: { "icon-image": writing(["get", "name"], { size: 10, weight: 400, ink: css("--soft"), halo: css("--land") }) },
      },
    ]);
    this.cover = new Sheet(map, "cover-of-area", "cover", () => [
      { type: "fill", paint: { "fill-color": COLOURS.cover, "fill-opacity": 0.08 } },
      { type: "line", paint: { "line-color": COLOURS.cover, "line-width": 1.5, "line-dasharray": [2, 2] } },
    ]);
    this.links = new Sheet(map, "links-of-routers", "areas", () => [{ type: "line", paint: { "line-color": COLOURS.router, "line-width": 2 } }]);
    this.routers = [];
    map.on("moveend", () => this.drawGrid());
    this.choices();
  }

  /** The check boxes of the panel. */
  choices() {
    this.choice("Clusters from afar", true, (on) => this.crowd.choose("clusters", on), "show-clusters", "K");
    this.choice("Heat", false, (on) => this.crowd.choose("heat", on), "show-heat", "H");
    this.choice("Trails", false, (on) => this.crowd.choose("trails", on), "show-trails", "L");
    for (const [text, name, key] of [["Cells (S2)", "s2", "S"], ["Squares (MGRS)", "mgrs", "G"]]) {
      this.choice(text, false, (on) => { this.grids[on ? "add" : "delete"](name); this.drawGrid(); }, `grid-${name}`, key);
    }
    this.choice("Cover of the area", true, (on) => { this.showCover = on; this.drawCover(this.area); }, "show-cover", "O");
    this.choice("Routers", false, (on) => this.drawRouters(on), "show-routers", "R");
    this.view.layers.forEach((name, number) => this.addUserLayer(name, number));
  }

  choice(text, on, change, id, key = "") {
    const label = document.createElement("label");
    const box = Object.assign(document.createElement("input"), { type: "checkbox", checked: on, id });
    const hint = document.createElement("small");
    hint.textContent = key;
    label.append(box, text, hint);
    $("layers").append(label);
    box.addEventListener("change", () => change(box.checked));
    box.addEventListener("change", () => this.onChange());
    if (on) change(true);
    return box;
  }

  /** The grids that are chosen; each in its own colour, beside the other. */
  async drawGrid() {
    const number = (this.gridNumber = (this.gridNumber ?? 0) + 1);
    const asked = [...this.grids].flatMap((grid) => boxesInView(this.map).map((box) => [grid, box]));
    const found = await Promise.all(asked.map(([grid, box]) => page("grid", { ...box, encoding: grid })
      .then(({ features }) => features.map((cell) => ({ grid, ...cell })), () => [])));
    if (number !== this.gridNumber) return;
    const cells = found.flat();
    const isNamed = cells.length <= MOST_NAMES && this.grids.size === 1;
    this.grid.show(cells.map(({ grid, geometry, properties }) => feature(
      geometry, { grid, colour: COLOURS[grid], ...(isNamed ? { name: properties.name } : {}) },
    )));
  }

  /** The cells by which routers know the area. */
  async drawCover(area) {
    this.area = area;
    this.cover.show([]);
    if (!area || !this.showCover) return;
    const encoding = $("encoding").value;
    const found = await page("cover", { ...parameters(area), encoding }).catch(() => null);
    if (!found || area !== this.area || !this.showCover) return;
    this.cover.show(found.features);
    this.coverCount = found.features.length;
  }

  async drawRouters(on) {
    this.routers.splice(0).forEach((marker) => marker.remove());
    this.links.show([]);
    const number = (this.routersNumber = (this.routersNumber ?? 0) + 1);
    if (!on) return;
    const found = await page("routers").catch(() => []);
    if (number !== this.routersNumber) return;
    const place = (router, at) => (router.location ? [router.location.long, router.location.lat] : this.corner(at));
    const links = [];
    found.forEach((router, at) => {
      const text = `Router ${router.name ?? router.id.slice(0, 8)} · ${router.sessions.length} sessions · ${router.endpoints.join(", ")}`;
      const element = Object.assign(document.createElement("button"), { type: "button", className: "router", title: text });
      element.setAttribute("aria-label", text);
      const popup = new window.maplibregl.Popup({ maxWidth: "22em" }).setText(text);
      this.routers.push(new window.maplibregl.Marker({ element }).setLngLat(place(router, at)).setPopup(popup).addTo(this.map));
      if (!router.location) return;
      for (const other of found) {
        if (other.location && router.sessions.some((session) => session.peer === other.id)) {
          links.push(feature({ type: "LineString", coordinates: [place(router), place(other)] }));
        }
      }
    });
    this.links.show(links);
  }

  /** Routers without a place stand in the corner of the map. */
  corner(number) {
    const { clientWidth, clientHeight } = this.map.getContainer();
    return this.map.unproject([Math.min(90, clientWidth / 4) + number * 26, clientHeight - 60]);
  }

  /** A GeoJSON file of the operator; its features with a `zone` are coloured by aggregates. */
  async addUserLayer(name, number) {
    const group = this.addGroup(name, `layer-${number}`);
    const features = await page(`layers/${number}`).catch(() => null);
    if (!features) return;
    this.fill(group, features);
    this.onZones();
  }

  /** A layer that only this page has; returns its bounds. */
  addFeatures(name, features) {
    const group = { features: [], on: true };
    this.fill(group, features);
    this.addGroup(name, `dropped-${(this.dropped = (this.dropped ?? 0) + 1)}`, group);
    return boundsOf(group.features.map(({ geometry }) => geometry.coordinates ?? []));
  }

  addGroup(name, id, group = { features: [], on: true }) {
    this.groups.push(group);
    this.choice(name, true, (on) => { group.on = on; this.drawZones(); }, id);
    return group;
  }

  fill(group, given) {
    group.features = featuresOf(given).filter(({ geometry }) => geometry).map(({ geometry, properties }) => {
      const zone = properties?.zone ?? properties?.name;
      const { kind = "", width_m: width } = properties ?? {};
      const made = feature(geometry, {
        kind, ...(zone === undefined ? {} : { zone: String(zone) }), ...(width > 0 ? { width_m: Number(width) } : {}),
      });
      if (zone !== undefined) this.zones.set(String(zone), made);
      return made;
    });
    this.drawZones();
  }

  /** With the next frame, however many zones change before it. */
  drawZones() {
    this.drawingZones ??= requestAnimationFrame(() => {
      this.drawingZones = null;
      this.zoneSheet.show(this.groups.filter(({ on }) => on).flatMap(({ features }) => features));
    });
  }

  /** An aggregate of a zone came from the pipeline. */
  colourZone(value) {
    const zone = this.zones.get(String(value.zone));
    const mean = Number(value.mean ?? value[this.view.value]);
    if (!zone || !Number.isFinite(mean)) return;
    zone.properties.colour = cssOf(colourOf(mean, this.view.scale));
    this.drawZones();
    this.countZones();
  }

  /** No zone has a colour. */
  clearZones() {
    for (const zone of this.zones.values()) delete zone.properties.colour;
    this.drawZones();
    this.countZones();
  }

  countZones() {
    document.body.dataset.colouredZones = [...this.zones.values()].filter(({ properties }) => properties.colour).length;
  }

  /** The boxes that are ticked, and ticking just these. */
  get chosen() {
    return [...document.querySelectorAll("#layers input:checked")].map((box) => box.id);
  }

  choose(ids) {
    for (const box of document.querySelectorAll("#layers input")) if (box.checked !== ids.includes(box.id)) box.click();
  }
}

/** The features of any GeoJSON. */
function featuresOf(given) {
  if (given?.type === "FeatureCollection" && Array.isArray(given.features)) return given.features;
  if (given?.type === "Feature") return [given];
  if (given?.coordinates || given?.geometries) return [feature(given)];
  throw new Error("it is no GeoJSON");
}
