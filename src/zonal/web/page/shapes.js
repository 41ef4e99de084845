// Areas as the page draws them, and as the REST interface writes them.
// An area is {shape: "circle", center: [lat, lon], radius}, {shape: "box", south, west, north, east}
// or {shape: "polygon", points: [[lat, lon], …]}. One across the antimeridian goes on beyond 180.

const EARTH_RADIUS_M = 6371008.8;
const CORNERS = 72; // of a circle that is drawn
const radians = (degrees) => (degrees * Math.PI) / 180;
const digits = (number) => Number(number.toFixed(6));

/** Great-circle distance in metres. */
export function distance(a, b) {
  const half = (x) => Math.sin(x / 2) ** 2;
  const h = half(radians(b[0] - a[0]))
    + Math.cos(radians(a[0])) * Math.cos(radians(b[0])) * half(radians(b[1] - a[1]));
  return 2 * EARTH_RADIUS_M * Math.asin(Math.min(1, Math.sqrt(h)));
}

/** The parameters of the REST interface. */
export function parameters(area) {
  switch (area.shape) {
    case "circle":
      return { lat: digits(area.center[0]), long: digits(area.center[1]), shape: "circle", r: Math.round(area.radius) };
    case "box":
      return {
        shape: "box", min_lat: digits(area.south), min_long: digits(area.west),
        max_lat: digits(area.north), max_long: digits(area.east > 180 ? area.east - 360 : area.east),
      };
    default:
      return { shape: "polygon", wkt: wkt(area) };
  }
}

/** Well-known text, longitude first; the circle is Zonal's own extension. */
export function wkt(area) {
  if (area.shape === "circle") {
    return `CIRCLE (${digits(area.center[1])} ${digits(area.center[0])}, ${Math.round(area.radius)})`;
  }
  const ring = corners(area).map(([lat, lon]) => `${digits(lon)} ${digits(lat)}`);
  return `POLYGON ((${[...ring, ring[0]].join(", ")}))`;
}

/** The corners of a box or polygon. */
export function corners(area) {
  if (area.shape === "polygon") return area.points;
  const { south, west, north, east } = area;
  return [[south, west], [south, east], [north, east], [north, west]];
}

/** The point by which an area is held when it is moved. */
export function middle(area) {
  if (area.shape === "circle") return area.center;
  const points = corners(area);
  const sum = points.reduce((s, p) => [s[0] + p[0], s[1] + p[1]], [0, 0]);
  return [sum[0] / points.length, sum[1] / points.length];
}

/** The same area with its middle at another place. */
export function moved(area, to) {
  const from = middle(area);
  return onEarth(shifted(area, to[0] - from[0], to[1] - from[1]));
}

/** An area of any copy of the world, on the one whose longitudes begin at -180. */
export function onEarth(area) {
  const lons = area.shape === "circle" ? [area.center[1]] : corners(area).map(([, lon]) => lon);
  const turns = Math.floor((Math.min(...lons) + 180) / 360);
  if (area.shape === "box" && area.east - area.west >= 360) return { ...area, west: -180, east: 180 };
  return turns ? shifted(area, 0, -360 * turns) : area;
}

function shifted(area, dLat, dLon) {
  switch (area.shape) {
    case "circle":
      return { ...area, center: [area.center[0] + dLat, area.center[1] + dLon] };
    case "box":
      return { ...area, south: area.south + dLat, north: area.north + dLat, west: area.west + dLon, east: area.east + dLon };
    default:
      return { ...area, points: area.points.map(([lat, lon]) => [lat + dLat, lon + dLon]) };
  }
}

/** A few words about an area. */
export function describe(area) {
  const km = (metres) => (metres < 1000 ? `${Math.round(metres)} m` : `${(metres / 1000).toFixed(1)} km`);
  switch (area.shape) {
    case "circle":
      return `Circle of ${km(area.radius)}`;
    case "box":
      return `Box of ${km(distance([area.south, area.west], [area.south, area.east]))} × ${km(distance([area.south, area.west], [area.north, area.west]))}`;
    default:
      return `Polygon with ${area.points.length} corners`;
  }
}

/** An area as GeoJSON; a circle by its corners. */
export function geometryOf(area) {
  const ring = (area.shape === "circle" ? around(area.center, area.radius) : corners(area)).map(([lat, lon]) => [lon, lat]);
  return { type: "Polygon", coordinates: [[...ring, ring[0]]] };
}

/** GeoJSON that can be drawn: a Point with radius_m is a circle. */
export function drawable(geometry) {
  if (geometry.type !== "Point" || geometry.radius_m === undefined) return geometry;
  const [lon, lat] = geometry.coordinates;
  return geometryOf({ shape: "circle", center: [lat, lon], radius: geometry.radius_m });
}

/** Places at a distance in metres from a centre, in all directions. */
function around([lat, lon], radius) {
  const [angle, phi] = [radius / EARTH_RADIUS_M, radians(lat)];
  return Array.from({ length: CORNERS }, (_, number) => {
    const bearing = (2 * Math.PI * number) / CORNERS;
    const sine = Math.sin(phi) * Math.cos(angle) + Math.cos(phi) * Math.sin(angle) * Math.cos(bearing);
    const east = Math.atan2(Math.sin(bearing) * Math.sin(angle) * Math.cos(phi), Math.cos(angle) - Math.sin(phi) * sine);
    return [(Math.asin(sine) * 180) / Math.PI, lon + (east * 180) / Math.PI];
  });
}
