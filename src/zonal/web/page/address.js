// What the page shows, in its address: a reload or a shared link shows the same.

import { zoomOf } from "/-/page/ground.js";

/** What the address says; members that it does not have are undefined. */
export function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  const numbers = (given.get("map") ?? "").split(",").map(Number);
  const [zoom, lat, lon] = numbers.length === 3 && numbers.every(Number.isFinite) ? numbers : [];
  let area;
  try {
    area = JSON.parse(given.get("area") ?? "null") ?? undefined;
  } catch { /* not ours */ }
  const time = Date.parse(given.get("time") ?? "");
  return {
    zoom, center: zoom === undefined ? undefined : [lat, lon], area,
    encoding: given.get("encoding") ?? undefined,
    layers: given.has("layers") ? given.get("layers").split(",").filter(Boolean) : undefined,
    time: Number.isFinite(time) ? time : undefined,
  };
}

/** Write it, without a new entry in the browser's history. */
export function writeAddress({ map, area, encoding, layers, time }) {
  const { lat, lng } = map.getCenter();
  const said = new URLSearchParams({ map: `${Number(zoomOf(map).toFixed(2))},${lat.toFixed(5)},${lng.toFixed(5)}` });
  if (area) {
    said.set("area", JSON.stringify(area, (_, value) => (typeof value === "number" ? Number(value.toFixed(6)) : value)));
    said.set("encoding", encoding);
  }
  said.set("layers", layers.join());
  if (time) said.set("time", new Date(time).toISOString());
  history.replaceState(null, "", `#${said}`);
}
