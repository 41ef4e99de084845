// Thousands of moving dots as one layer of the map: their places go straight to the graphics card,
// with the next frame, without a source that would have to be cut into tiles anew for each move.

import { SHAPE_NAMES, drawShape } from "/-/page/pictures.js";

const REACH_PX = 10;
const SLOW_MS = 100;
const LONGEST_PAUSE_MS = 500;
const WORDS = 8; // of four bytes: x, y, their rests, size, heading, fill with shape, edge
const DOT_PART = "0.7"; // of its picture's width; the dot is the first of the shapes
const BEAK = SHAPE_NAMES.indexOf("beak"); // what a dot with a heading is
const ROUND = 0.6; // the radius of a round shape in its picture

const VERTEX = `#version 300 es
uniform mat4 matrix;
uniform vec2 eye_high, eye_low;
uniform float ratio;
in vec2 high, low, look;
in vec4 fill, edge;
out vec4 fill_colour, edge_colour;
out vec2 turn;
flat out float shape, part;
void main() {
  vec2 far = (high - eye_high) + (low - eye_low);
  far.x -= floor(far.x + 0.5); // on the copy of the world that is nearest to the middle
  gl_Position = matrix * vec4(far, 0.0, 1.0);
  shape = fill.a * 255.0;
  part = shape < 0.5 ? ${DOT_PART} : 1.0; // the middle of the picture is enough for a dot
  gl_PointSize = look.x * part * ratio;
  turn = vec2(cos(look.y), sin(look.y));
  fill_colour = fill;
  edge_colour = edge;
}`;
const FRAGMENT = `#version 300 es
precision mediump float;
precision mediump sampler2DArray;
uniform sampler2DArray shapes;
in vec4 fill_colour, edge_colour;
in vec2 turn;
flat in float shape, part;
out vec4 colour;
void main() {
  vec2 at = (gl_PointCoord - 0.5) * part;
  at = vec2(turn.x * at.x + turn.y * at.y, turn.x * at.y - turn.y * at.x);
  if (max(abs(at.x), abs(at.y)) > 0.5) discard;
  vec4 ink = texture(shapes, vec3(at + 0.5, shape));
  if (ink.a == 0.0) discard;
  colour = vec4(fill_colour.rgb * ink.r + edge_colour.rgb * ink.g, 1.0) * ink.a;
}`;

/** Where a place is on the world's square, both from 0 to 1. */
export function onSquare(lat, lon) {
  const sine = Math.min(0.9999, Math.max(-0.9999, Math.sin((lat * Math.PI) / 180)));
  return [lon / 360 + 0.5, 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI)];
}

function program(gl) {
  const made = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(made, shader);
  }
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS) && !gl.isContextLost()) throw new Error(gl.getProgramInfoLog(made));
  return made;
}

/** The pictures of all shapes: how much is filled in red, how much is edge in green. */
function shapesTexture(gl) {
  const texture = gl.createTexture();
  const pictures = SHAPE_NAMES.map((name) => drawShape(name, "#f00", "#0f0"));
  gl.bindTexture(gl.TEXTURE_2D_ARRAY, texture);
  gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, false);
  gl.pixelStorei(gl.UNPACK_FLIP_Y_WEBGL, false);
  gl.texStorage3D(gl.TEXTURE_2D_ARRAY, 5, gl.RGBA8, pictures[0].width, pictures[0].width, pictures.length);
  pictures.forEach((picture, layer) => gl.texSubImage3D(
    gl.TEXTURE_2D_ARRAY, 0, 0, 0, layer, picture.width, picture.width, 1, gl.RGBA, gl.UNSIGNED_BYTE, picture,
  ));
  gl.generateMipmap(gl.TEXTURE_2D_ARRAY);
  gl.texParameteri(gl.TEXTURE_2D_ARRAY, gl.TEXTURE_MIN_FILTER, gl.LINEAR_MIPMAP_NEAREST);
  for (const edge of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D_ARRAY, edge, gl.CLAMP_TO_EDGE);
  return texture;
}

/** The map's layer of dots, each {x, y, look: {radius, fill, edge, shape}, heading}; the first two
 * on the world's square, colours as [red, green, blue]. */
export class Dots {
  constructor(map, place) {
    Object.assign(this, { map, id: "dots", type: "custom", renderingMode: "2d", frames: 0, took: 0 });
    this.dots = [];
    this.room(1_024);
    map.addLayer(this, place);
    map.on("webglcontextrestored", () => {
      if (map.getLayer(this.id)) map.removeLayer(this.id);
      map.addLayer(this, place);
    });
  }

  room(count) {
    const before = this.words;
    this.words = new Float32Array(count * WORDS);
    if (before) this.words.set(before);
    this.bytes = new Uint8Array(this.words.buffer);
  }

  /** Draw with the next frame. Where frames take long, the page gets as much time in between. */
  ask() {
    if (this.askedAt) return;
    this.askedAt = performance.now();
    this.pause = this.took > SLOW_MS ? Math.min(this.took, LONGEST_PAUSE_MS) : 0;
    if (this.pause) setTimeout(() => this.map.triggerRepaint(), this.pause);
    else this.map.triggerRepaint();
  }

  /** A dot came or changed. */
  put(dot) {
    if (dot.slot === undefined) {
      dot.slot = this.dots.length;
      this.dots.push(dot);
      if (this.dots.length * WORDS > this.words.length) this.room(2 * this.dots.length);
    }
    const { words, bytes } = this;
    const { x, y, look, heading } = dot;
    const turns = Number.isFinite(heading);
    let at = dot.slot * WORDS;
    words[at] = x; // as exactly as it has room for
    words[at + 1] = y;
    words[at + 2] = x - words[at];
    words[at + 3] = y - words[at + 1];
    words[at + 4] = (2 * look.radius) / ROUND;
    words[at + 5] = turns ? (heading * Math.PI) / 180 : 0;
    at = (at + 6) * 4;
    bytes.set(look.fill, at);
    bytes[at + 3] = turns && look.shape === "dot" ? BEAK : SHAPE_NAMES.indexOf(look.shape);
    bytes.set(look.edge, at + 4);
    bytes[at + 7] = 255;
    this.ask();
  }

  /** A dot is gone: the last one takes its slot. */
  remove(dot) {
    const last = this.dots.pop();
    if (last !== dot) {
      this.dots[dot.slot] = last;
      last.slot = dot.slot;
      this.put(last);
    }
    dot.slot = undefined;
    this.ask();
  }

  clear() {
    for (const dot of this.dots) dot.slot = undefined;
    this.dots = [];
    this.ask();
  }

  /** MapLibre: the layer is there, or there again. */
  onAdd(_, gl) {
    const made = program(gl);
    const uniform = (name) => gl.getUniformLocation(made, name);
    this.gl = {
      program: made, buffer: gl.createBuffer(), array: gl.createVertexArray(), texture: null,
      matrix: uniform("matrix"), high: uniform("eye_high"), low: uniform("eye_low"), ratio: uniform("ratio"),
    };
    gl.bindVertexArray(this.gl.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.gl.buffer);
    const stride = WORDS * 4;
    const attribute = (name, size, type, offset) => {
      const at = gl.getAttribLocation(made, name);
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, size, type, type === gl.UNSIGNED_BYTE, stride, offset);
    };
    attribute("high", 2, gl.FLOAT, 0);
    attribute("low", 2, gl.FLOAT, 8);
    attribute("look", 2, gl.FLOAT, 16);
    attribute("fill", 4, gl.UNSIGNED_BYTE, 24);
    attribute("edge", 4, gl.UNSIGNED_BYTE, 28);
    gl.bindVertexArray(null);
  }

  /** MapLibre: draw. Places are taken from the middle of the view, since numbers of the graphics
   * card are too coarse for the world as a whole. */
  render(gl, { defaultProjectionData }) {
    this.frames += 1;
    if (this.askedAt) this.took = performance.now() - this.askedAt - this.pause;
    this.askedAt = null;
    if (this.dots.length === 0) return;
    const { lat, lng } = this.map.getCenter();
    const [x, y] = onSquare(lat, lng);
    const matrix = Float64Array.from(defaultProjectionData.mainMatrix);
    for (let row = 0; row < 4; row += 1) matrix[12 + row] += matrix[row] * x + matrix[4 + row] * y;
    const [high, top] = [Math.fround(x), Math.fround(y)];
    gl.useProgram(this.gl.program);
    gl.activeTexture(gl.TEXTURE0);
    if (this.gl.texture) gl.bindTexture(gl.TEXTURE_2D_ARRAY, this.gl.texture);
    else this.gl.texture = shapesTexture(gl);
    gl.uniformMatrix4fv(this.gl.matrix, false, Float32Array.from(matrix));
    gl.uniform2f(this.gl.high, high, top);
    gl.uniform2f(this.gl.low, x - high, y - top);
    gl.uniform1f(this.gl.ratio, this.map.getPixelRatio());
    gl.bindVertexArray(this.gl.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.gl.buffer);
    gl.bufferData(gl.ARRAY_BUFFER, this.words.subarray(0, this.dots.length * WORDS), gl.DYNAMIC_DRAW);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.disable(gl.DEPTH_TEST);
    gl.drawArrays(gl.POINTS, 0, this.dots.length);
    gl.bindVertexArray(null);
  }

  /** The dot nearest to a point of the view, if one is in reach. */
  nearest(point) {
    const { lat, lng } = this.map.getCenter();
    const [x, y] = onSquare(lat, lng);
    const { clientWidth, clientHeight } = this.map.getContainer();
    const scale = 512 * 2 ** this.map.getZoom();
    let found = null;
    let least = REACH_PX;
    for (const dot of this.dots) {
      const east = dot.x - x - Math.floor(dot.x - x + 0.5);
      const [dx, dy] = [east * scale + clientWidth / 2 - point.x, (dot.y - y) * scale + clientHeight / 2 - point.y];
      const far = Math.hypot(dx, dy) - dot.look.radius + 4;
      if (far < least) [found, least] = [dot, far];
    }
    return found;
  }
}
