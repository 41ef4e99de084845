// The operator's tiles, as pictures or as vectors; vectors in the colours of the page, whichever of the
// usual schemes (OpenMapTiles, Protomaps, Shortbread) names their layers.

import { css } from "/-/page/ground.js";
import { writing } from "/-/page/pictures.js";

const fill = (colour) => ({ type: "fill", paint: { "fill-color": css(colour) } });
const line = (colour, width, more = {}) => ({ type: "line", paint: { "line-color": css(colour), "line-width": width, ...more } });
const wider = (far, near) => ["interpolate", ["exponential", 1.6], ["zoom"], 6, far, 16, near];

/** How vector layers are drawn, by their names, bottom first. */
const looks = () => [
  [["earth", "land", "ocean_land"], fill("--land")],
  [["landcover", "landuse", "park", "sites"], fill("--green")],
  [["water", "ocean", "water_polygons"], { ...fill("--water"), filter: ["==", ["geometry-type"], "Polygon"] }],
  [["waterway", "water_lines", "physical_line"], line("--water", wider(0.5, 3))],
  [["buildings", "building"], { ...fill("--building"), minzoom: 12 }],
  [["roads", "transportation", "streets"], line("--road", wider(0.4, 6), { "line-opacity": 0.9 })],
  [["boundaries", "boundary"], line("--zone", 1, { "line-dasharray": [4, 3] })],
  [["places", "place", "place_labels"], {
    type: "symbol", filter: ["has", "name"],
    layout: { "icon-image": writing(["get", "name"], { size: 12, ink: css("--name"), halo: css("--land") }), "icon-padding": 6 },
  }],
];

/** `tiles` as the server describes them. */
export function drawTiles(map, { kind, url, min_zoom: minzoom, max_zoom: maxzoom, attribution }) {
  const address = url.startsWith("/") ? location.origin + url : url;
  const tiles = address.includes("{s}") ? ["a", "b", "c"].map((letter) => address.replace("{s}", letter)) : [address];
  map.addSource("tiles-of-operator", { type: kind, tiles, minzoom, maxzoom, attribution, ...(kind === "raster" ? { tileSize: 256 } : {}) });
  if (kind === "raster") {
    map.addLayer({ id: "tiles-0", type: "raster", source: "tiles-of-operator" }, "tiles");
    return;
  }
  const ids = [];
  for (const [names, look] of looks()) {
    for (const name of names) {
      ids.push(`tiles-${name}`);
      map.addLayer({ ...look, id: ids.at(-1), source: "tiles-of-operator", "source-layer": name }, look.type === "symbol" ? "names" : "tiles");
    }
  }
  map.sheets.add({
    repaint: () => looks().flatMap(([names, look]) => names.map(() => look)).forEach(({ paint = {}, layout = {} }, number) => {
      for (const [name, value] of Object.entries(paint)) map.setPaintProperty(ids[number], name, value);
      for (const [name, value] of Object.entries(layout)) map.setLayoutProperty(ids[number], name, value);
    }),
  });
}
