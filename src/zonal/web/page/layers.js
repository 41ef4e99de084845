// What lies under the live things: our own base map, grids, covers, routers, zones, users' GeoJSON.

import * as L from "/-/leaflet/leaflet-src.esm.js";
import { page } from "/-/page/api.js";
import { colourOf } from "/-/page/colours.js";
import { parameters } from "/-/page/shapes.js";

const $ = (id) => document.getElementById(id);
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const quiet = { interactive: false, fill: false };

export class Layers {
  constructor(map, view) {
    this.map = map;
    this.view = view;
    this.zones = new Map();
    this.grids = new Set();
    this.onChange = () => {};
    this.onZones = () => {};
    const heights = { world: 205, base: 210, zones: 250, grid: 300, cover: 350 };
    for (const [name, height] of Object.entries(heights)) map.createPane(name).style.zIndex = height;
    this.ground = L.canvas({ pane: "world", padding: 0.5 });
    this.world = L.layerGroup().addTo(map);
    this.base = L.layerGroup().addTo(map);
    if (view.world && !view.tiles) map.attributionControl.addAttribution("Shores and borders: GSHHG");
    this.grid = L.layerGroup().addTo(map);
    this.cover = L.layerGroup().addTo(map);
    this.routers = L.layerGroup();
    if (view.tiles) L.tileLayer(view.tiles, { attribution: view.attribution, pane: "base" }).addTo(map);
    this.drawBase();
    this.drawWorld();
    map.on("moveend", () => { this.drawBase(); this.drawWorld(); this.drawGrid(); });
    this.choices();
  }

  /** The check boxes of the panel. */
  choices() {
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

  /** A graticule of our own: the map is never empty, and nothing is loaded for it. */
  drawBase() {
    this.base.clearLayers();
    const bounds = this.map.getBounds();
    const span = Math.max(1e-4, bounds.getNorth() - bounds.getSouth());
    const rough = span / 5;
    const step = [30, 15, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001].find((s) => s <= rough) ?? 0.001;
    const style = { ...quiet, color: css("--grid"), weight: 1, pane: "base" };
    const first = (edge) => Math.ceil(edge / step) * step;
    for (let lat = first(bounds.getSouth()); lat < bounds.getNorth(); lat += step) {
      L.polyline([[lat, bounds.getWest()], [lat, bounds.getEast()]], style).addTo(this.base);
    }
    for (let lon = first(bounds.getWest()); lon < bounds.getEast(); lon += step) {
      L.polyline([[bounds.getSouth(), lon], [bounds.getNorth(), lon]], style).addTo(this.base);
    }
  }

  /** Land, lakes and borders around what is in view, from the server; tiles take their place. */
  async drawWorld({ again = false } = {}) {
    if (!this.view.world || this.view.tiles) return;
    const bounds = this.map.getBounds();
    const zoom = this.map.getZoom();
    if (!again && this.drawn?.bounds.contains(bounds) && this.drawn.zoom === zoom) return;
    const wide = bounds.pad(0.5);
    this.drawn = { bounds: wide, zoom };
    const { drawn } = this;
    const found = await page("world", {
      shape: "box",
      min_lat: Math.max(-90, wide.getSouth()), max_lat: Math.min(90, wide.getNorth()),
      min_long: Math.max(-180, wide.getWest()), max_long: Math.min(180, wide.getEast()),
    }).catch(() => null);
    if (!found || drawn !== this.drawn) return;
    const water = css("--water");
    const styles = {
      land: { stroke: false, fillColor: css("--land"), fillOpacity: 1 },
      lake: { stroke: false, fillColor: water, fillOpacity: 1 },
      border: { color: css("--zone"), weight: 1, dashArray: "4 3", fill: false },
    };
    this.world.clearLayers();
    L.geoJSON(found, {
      pane: "world", interactive: false, renderer: this.ground,
      style: (feature) => ({ ...styles[feature.properties.kind], interactive: false }),
    }).addTo(this.world);
    document.body.classList.add("world"); // from here on what is not land is sea
    document.body.dataset.world = found.features.length;
  }

  /** The grids that are chosen; each in its own colour, beside the other. */
  async drawGrid() {
    const number = (this.gridNumber = (this.gridNumber ?? 0) + 1);
    this.grid.clearLayers();
    await Promise.all([...this.grids].map((name) => this.drawOneGrid(name, () => number === this.gridNumber)));
  }

  async drawOneGrid(asked, isWanted) {
    const box = this.map.getBounds();
    const found = await page("grid", {
      shape: "box", encoding: asked,
      min_lat: Math.max(-90, box.getSouth()), max_lat: Math.min(90, box.getNorth()),
      min_long: Math.max(-180, box.getWest()), max_long: Math.min(180, box.getEast()),
    }).catch(() => null);
    if (!found || !isWanted()) return;
    const style = { ...quiet, color: asked === "s2" ? "#7a5cc0" : "#a06a1c", weight: 1, opacity: 0.75, pane: "grid" };
    const cells = L.geoJSON(found, { style, pane: "grid" }).addTo(this.grid);
    if (found.features.length <= 90 && this.grids.size === 1) {
      cells.eachLayer((cell) => cell.bindTooltip(cell.feature.properties.name, {
        permanent: true, direction: "center", className: "cell-name",
      }));
    }
  }

  /** The cells by which routers know the area. */
  async drawCover(area) {
    this.area = area;
    this.cover.clearLayers();
    if (!area || !this.showCover) return;
    const encoding = $("encoding").value;
    const found = await page("cover", { ...parameters(area), encoding }).catch(() => null);
    if (!found || area !== this.area) return;
    this.cover.clearLayers();
    L.geoJSON(found, {
      pane: "cover", interactive: false,
      style: { color: "#e07b00", weight: 1.5, fillColor: "#e07b00", fillOpacity: 0.06, dashArray: "3 3" },
    }).addTo(this.cover);
    this.coverCount = found.features.length;
  }

  async drawRouters(on) {
    this.routers.clearLayers();
    this.routers.remove();
    if (!on) return;
    this.routers.addTo(this.map);
    const found = await page("routers").catch(() => []);
    found.forEach((router, number) => {
      const at = router.location ? [router.location.lat, router.location.long] : this.corner(number);
      const text = document.createElement("div");
      text.textContent = `Router ${router.name ?? router.id.slice(0, 8)} · ${router.sessions.length} sessions · ${router.endpoints.join(", ")}`;
      const marker = L.marker(at, { icon: L.divIcon({ className: "router" }), alt: text.textContent, title: text.textContent });
      marker.bindPopup(text).addTo(this.routers);
      if (!router.location) return;
      for (const other of found) {
        if (other.location && router.sessions.some((s) => s.peer === other.id)) {
          L.polyline([at, [other.location.lat, other.location.long]], { color: "#5b3fa0", weight: 2, interactive: false }).addTo(this.routers);
        }
      }
    });
  }

  /** Routers without a place stand in the corner of the map. */
  corner(number) {
    const { x, y } = this.map.getSize();
    const { lat, lng } = this.map.containerPointToLatLng([Math.min(90, x / 4) + number * 26, y - 40]);
    return [lat, lng];
  }

  /** A GeoJSON file of the operator; its features with a `zone` are coloured by aggregates. */
  async addUserLayer(name, number) {
    const group = this.addGroup(name, `layer-${number}`);
    const features = await page(`layers/${number}`).catch(() => null);
    if (!features) return;
    this.draw(features, group);
    this.onZones();
  }

  /** A layer that only this page has; returns its bounds. */
  addFeatures(name, features) {
    const group = L.layerGroup();
    const drawn = this.draw(features, group);
    this.addGroup(name, `dropped-${(this.dropped = (this.dropped ?? 0) + 1)}`, group);
    return drawn.getBounds();
  }

  addGroup(name, id, group = L.layerGroup()) {
    this.choice(name, true, (on) => (on ? group.addTo(this.map) : group.remove()), id);
    return group.addTo(this.map);
  }

  draw(features, group) {
    return L.geoJSON(features, {
      pane: "zones",
      pointToLayer: (_, at) => L.circleMarker(at, { radius: 4, pane: "zones" }),
      style: () => ({ color: css("--zone"), weight: 1.2, opacity: 0.8, fillColor: css("--zone"), fillOpacity: 0.04, interactive: false }),
      onEachFeature: (feature, layer) => {
        const zone = feature.properties?.zone ?? feature.properties?.name;
        if (zone !== undefined) this.zones.set(String(zone), layer);
      },
    }).addTo(group);
  }

  /** An aggregate of a zone came from the pipeline. */
  colourZone(value) {
    const layer = this.zones.get(String(value.zone));
    const mean = Number(value.mean ?? value[this.view.value]);
    if (!layer || !Number.isFinite(mean)) return;
    layer.setStyle({ fillColor: colourOf(mean, this.view.scale), fillOpacity: 0.38 });
    layer.zonalMean = mean;
    this.coloured = [...this.zones.values()].filter((zone) => zone.zonalMean !== undefined).length;
    document.body.dataset.colouredZones = this.coloured;
  }

  /** No zone has a colour. */
  clearZones() {
    for (const layer of this.zones.values()) {
      layer.setStyle({ fillColor: css("--zone"), fillOpacity: 0.04 });
      delete layer.zonalMean;
    }
    document.body.dataset.colouredZones = 0;
  }

  /** The boxes that are ticked, and ticking just these. */
  get chosen() {
    return [...document.querySelectorAll("#layers input:checked")].map((box) => box.id);
  }

  choose(ids) {
    for (const box of document.querySelectorAll("#layers input")) if (box.checked !== ids.includes(box.id)) box.click();
  }

  restyle() {
    this.drawBase();
    this.drawWorld({ again: true });
    for (const layer of this.zones.values()) layer.setStyle({ color: css("--zone") });
  }
}
