// Pictures that the map draws with, made here on a canvas: writing (so that no fonts are loaded from
// anywhere) and the shapes of things.

const MOST = 3_000;
const SIDE = 64;
const TURN = 2 * Math.PI;

/** Outlines of things within a box from -1 to 1, heading up. Round ones have the radius 0.6. */
const SHAPES = {
  dot: (context) => context.arc(0, 0, 0.6, 0, TURN),
  beak: (context) => {
    context.arc(0, 0, 0.6, -0.2 * Math.PI, 1.2 * Math.PI);
    context.lineTo(0, -0.92);
    context.closePath();
  },
  square: (context) => context.roundRect(-0.55, -0.55, 1.1, 1.1, 0.2),
  bus: (context) => {
    trace(context, [[-0.46, -0.5], [0, -0.92], [0.46, -0.5], [0.46, 0.78], [-0.46, 0.78]]);
  },
  plane: (context) => trace(context, [
    [0, -0.92], [0.15, -0.6], [0.15, -0.25], [0.9, 0.25], [0.9, 0.45], [0.15, 0.25], [0.1, 0.6], [0.35, 0.78], [0.35, 0.9],
    [0, 0.8], [-0.35, 0.9], [-0.35, 0.78], [-0.1, 0.6], [-0.15, 0.25], [-0.9, 0.45], [-0.9, 0.25], [-0.15, -0.25], [-0.15, -0.6],
  ]),
  ship: (context) => trace(context, [[0, -0.92], [0.4, -0.3], [0.4, 0.75], [-0.4, 0.75], [-0.4, -0.3]]),
};

/** The names of the shapes; a thing's shape is told to the graphics card by its number. */
export const SHAPE_NAMES = Object.keys(SHAPES);

function trace(context, points) {
  points.forEach(([x, y], number) => (number ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.closePath();
}

/** A canvas with a shape. */
export function drawShape(name, fill, edge, side = SIDE) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = side;
  const context = canvas.getContext("2d");
  context.setTransform(side / 2, 0, 0, side / 2, side / 2, side / 2);
  Object.assign(context, { fillStyle: fill, strokeStyle: edge, lineWidth: 0.15, lineJoin: "round" });
  context.beginPath();
  SHAPES[name](context);
  context.fill();
  context.stroke();
  return canvas;
}

/** Writing as an expression for `icon-image`: `text` is an expression, the rest is as CSS has it. */
export function writing(text, { size = 12, weight = 500, ink, halo }) {
  return ["concat", `writing|${size}|${weight}|${ink}|${halo}|`, text];
}

/** Have pictures ready when layers ask for them. */
export function servePictures(map) {
  const drawn = [];
  map.on("styleimagemissing", ({ id }) => {
    if (!id.startsWith("writing|") || map.hasImage(id)) return;
    const [, size, weight, ink, halo, ...rest] = id.split("|");
    const ratio = Math.ceil(window.devicePixelRatio || 1);
    map.addImage(id, write(rest.join("|"), Number(size), weight, ink, halo, ratio), { pixelRatio: ratio });
    drawn.push(id);
    if (drawn.length > MOST) drawn.splice(0, MOST / 2).forEach((old) => map.removeImage(old));
  });
}

function write(text, size, weight, ink, halo, ratio) {
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("2d");
  const font = `${weight} ${size}px ${getComputedStyle(document.body).fontFamily}`;
  context.font = font;
  const [width, height] = [Math.ceil(context.measureText(text).width) + 6, Math.ceil(size * 1.4) + 4];
  [canvas.width, canvas.height] = [width * ratio, height * ratio];
  context.scale(ratio, ratio);
  Object.assign(context, {
    font, textBaseline: "middle", textAlign: "center", lineJoin: "round", lineWidth: 3, strokeStyle: halo, fillStyle: ink,
  });
  context.strokeText(text, width / 2, height / 2);
  context.fillText(text, width / 2, height / 2);
  return context.getImageData(0, 0, canvas.width, canvas.height);
}
