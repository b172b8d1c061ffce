// SPDX-License-Identifier: MIT
// The viewer of the page on other languages: lists the variables of a ds file, and draws one.

import {open} from "./ds.mjs";

const [input, sample, list, index, canvas, note] = ["input", "sample", "list", "index", "canvas", "note"]
  .map((id) => document.getElementById(`ds-${id}`));
let file;

async function load(source) {
  file = await open(source);
  list.replaceChildren(...Object.entries(file.variables).map(([name, {type, dims, error}]) =>
    new Option(error ? `${name} (invalid)` : `${name}: ${type} (${dims.join(", ")})`, name)));
  const rank = (name) => file.variables[name].dims?.length ?? 0;
  [list.value] = Object.keys(file.variables).sort((a, b) => rank(b) - rank(a));
  index.value = 0;
  await draw();
}

/** Draw the last two dimensions of a variable: at the chosen index of the first one, and at 0 of all between. */
async function draw() {
  const {type, dims: all = [], shape: whole, attributes = {}} = file.variables[list.value];
  index.hidden = all.length < 3;
  index.max = index.hidden ? 0 : whole[0] - 1;
  const chosen = Object.fromEntries(all.slice(0, -2).map((dim, axis) => [dim, axis ? 0 : Number(index.value)]));
  const {values, missing, dims, shape} = await file.read(list.value, chosen);
  const isText = type === "str" || type === "unicode";
  canvas.hidden = !values?.length || isText || dims.length === 0;
  const {scale_factor: factor = 1, add_offset: offset = 0, units = ""} = attributes;
  const unpacked = (value, i) => (missing?.[i] ? NaN : factor * Number(value) + offset);
  const numbers = isText || !values ? [] : Array.from(values, unpacked);
  let [low, high] = [Infinity, -Infinity];
  for (const x of numbers.filter(Number.isFinite)) [low, high] = [Math.min(low, x), Math.max(high, x)];
  const place = Object.entries(chosen).map(([dim, at]) => `${dim} = ${at}, `).join("");
  note.textContent = canvas.hidden ? `${[...(isText ? values : numbers)].slice(0, 20).join(", ")} ${units}`
    : `${place}${low.toPrecision(5)} to ${high.toPrecision(5)} ${units}`;
  if (!canvas.hidden) (dims.length === 1 ? drawLine : drawPicture)(numbers.map((x) => (x - low) / (high - low || 1)), shape);
}

function drawLine(heights) {
  [canvas.width, canvas.height] = [1200, 400];
  const context = canvas.getContext("2d");
  [context.strokeStyle, context.lineWidth] = [getComputedStyle(canvas).color, 3];
  heights.forEach((height, i) => {
    const [x, y] = [5 + (1190 * i) / Math.max(1, heights.length - 1), 390 - 380 * height];
    if (Number.isNaN(heights[i - 1] ?? NaN)) context.moveTo(x, y);
    else context.lineTo(x, y);
  });
  context.stroke();
}

function drawPicture(heights, [rows, columns]) {
  [canvas.width, canvas.height] = [columns, rows];
  const picture = new ImageData(columns, rows);
  heights.forEach((x, i) => picture.data.set([40 + 210 * x, 60 + 160 * x, 130 - 40 * x, x >= 0 ? 255 : 0], 4 * i));
  canvas.getContext("2d").putImageData(picture, 0, 0);
}

const report = (call) => async () => {
  try {
    await call();
  } catch (error) {
    note.textContent = error.message;
  }
};
input.addEventListener("change", report(() => load(input.files[0])));
sample.addEventListener("click", report(() => load(new URL("sample.ds", import.meta.url))));
for (const control of [list, index]) control.addEventListener("input", report(draw));
report(() => load(new URL("sample.ds", import.meta.url)))();
