// Values as colours: a ramp that rises in lightness steadily and is readable without red and green.

export const RAMP = [[42, 120, 190], [64, 170, 170], [190, 200, 90], [245, 165, 60], [205, 60, 40], [120, 20, 60]];

/** A colour as CSS writes it. */
export const cssOf = (colour) => `rgb(${colour.join(",")})`;

/** A colour, [red, green, blue], for a value between the two ends of the scale. */
export function colourOf(value, [low, high]) {
  const share = Math.min(1, Math.max(0, (value - low) / (high - low))) * (RAMP.length - 1);
  const at = Math.min(RAMP.length - 2, Math.floor(share));
  return RAMP[at].map((c, i) => Math.round(c + (RAMP[at + 1][i] - c) * (share - at)));
}

/** The whole ramp, for a legend. */
export const gradient = `linear-gradient(90deg, ${RAMP.map(cssOf).join(",")})`;
