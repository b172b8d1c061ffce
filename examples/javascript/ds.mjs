// SPDX-License-Identifier: MIT
//
// A reader of ds files for browsers, and for Node 20 or newer. docs/format.md of ds_format specifies their bytes.
//
//   const file = await open("https://example.org/sample.ds");  // or a File, a Blob, an ArrayBuffer, a typed array
//   file.attributes;                                           // those of the dataset
//   file.variables.temperature;                                // {type, dims, shape, attributes, ...}, or {error}
//   await file.read("temperature", {time: 3});                 // {type, dims, shape, values, missing}

const FIRST_SIZE = 65536; // bytes of the first request: most headers, and small files
const MAX_HEADER_SIZE = 2 ** 28;
const IS_BIG_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 0;
const TYPES = new Map(Object.entries({ // the array that reads the bytes; none for bits and strings
  int8: Int8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array, float32: Float32Array, float64: Float64Array,
  uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, uint64: BigUint64Array, float16: Uint16Array,
  bool: null, str: null, unicode: null,
}));
const UTF8 = new TextDecoder("utf-8", {fatal: true, ignoreBOM: true});

export class DsError extends Error {}

/** Read the header of a file: an address, a File or Blob, an ArrayBuffer or a typed array. */
export async function open(source) {
  const bytes = await locate(source);
  try {
    let head = await bytes.read(0, Math.min(FIRST_SIZE, bytes.size));
    const line = String.fromCharCode(...head.subarray(0, 7));
    if (line !== "ds-1.0\n" && line[0] !== "{") throw new DsError(`found ${show(line)}, expected "ds-1.0" and a line feed`);
    const start = line[0] === "{" ? 0 : 7; // without a version line, it is the layout 2.0.1
    while (head.indexOf(10, start) < 0 && head.length < Math.min(bytes.size, MAX_HEADER_SIZE))
      head = await bytes.read(0, Math.min(8 * head.length, bytes.size));
    const end = head.indexOf(10, start) < 0 ? head.length : head.indexOf(10, start);
    return new DsFile(bytes, parse(UTF8.decode(head.subarray(start, end))), end + 1, start === 0);
  } catch (error) {
    throw new DsError(`${bytes.name}: ${error.message}`, {cause: error});
  }
}

class DsFile {
  #bytes; #start; #isOld; #lastOffset = Infinity;

  constructor(bytes, meta, start, isOld) {
    if (!isObject(meta) || !isObject(meta["."] ?? {})) throw new DsError('header: expected an object, with an object as "."');
    [this.#bytes, this.#start, this.#isOld] = [bytes, start, isOld];
    this.meta = meta; // the header as it is
    this.attributes = attributesOf(meta["."] ?? {}, isOld);
    this.variables = Object.create(null);
    for (const [key, entry] of Object.entries(meta).filter(([key]) => !key.startsWith("."))) {
      const name = isOld ? key : unescape(key);
      try {
        this.variables[name] = describe(name, entry, isOld);
      } catch (error) {
        this.variables[name] = {error: new DsError(`${bytes.name}: variable "${name}": ${error.message}`)};
      }
    }
    // Older programs wrote a wrong `.len` for some strings, and so wrong offsets after it. Then `.len` do not add up.
    const stored = Object.values(this.variables).filter(({n}) => n).sort((a, b) => a.offset - b.offset);
    const total = stored.reduce((end, {offset, length}) => (offset === end ? end + length : NaN), 0);
    const rest = bytes.size - start - total;
    if (rest < 0 || (isOld && rest > 0 && !meta["."]?.[".writer"]))
      this.#lastOffset = stored.find(({Type, type}) => !Type && type !== "bool")?.offset;
  }

  /**
   * Read a variable, or a part: indices of the first dimensions, the last of which may be a range as {time: [0, 10]}.
   *
   * `values` is a typed array, or an array of strings, or of Uint8Array for bytes. Booleans come as Uint8Array, float16
   * as Float32Array, 64-bit integers as BigInt64Array or BigUint64Array. `missing` is null, or a Uint8Array with 1 for
   * each missing value, which is 0 or "" in `values`. Both are null for a variable without data.
   */
  async read(name, selection = {}) {
    const variable = this.variables[name];
    if (variable?.error) throw variable.error;
    try {
      if (!variable) throw new DsError(`not found, expected one of ${Object.keys(this.variables).join(", ")}`);
      const {start, end, ...part} = select(variable, selection);
      const {type, Type, shape, offset, masked} = variable;
      if (shape === null) return {...part, values: null, missing: null};
      if (offset > this.#lastOffset) throw new DsError(`.offset: found ${offset}, which may be wrong. Try \`ds convert\``);
      if (Type && !masked) {
        const bytes = await this.#read(variable, start * Type.BYTES_PER_ELEMENT, end * Type.BYTES_PER_ELEMENT);
        return {...part, values: numbers(variable, bytes), missing: null};
      }
      const {values, missing} = await this.#decode(variable);
      const isMissing = missing?.slice(start, end);
      return {...part, values: values.slice(start, end), missing: isMissing?.includes(1) ? isMissing : null};
    } catch (error) {
      throw new DsError(`${this.#bytes.name}: variable "${name}": ${error.message}`, {cause: error});
    }
  }

  /** Return the bytes of a variable from `start` to `end`, which are counted from its `.offset`. */
  async #read({offset, n}, start, end) {
    if (n === 0 || start === end) return new Uint8Array();
    const available = Math.max(0, this.#bytes.size - this.#start - offset);
    if (end > available) throw new DsError(`.offset: found ${offset} and ${available} bytes after it, expected ${end}`);
    return this.#bytes.read(this.#start + offset + start, this.#start + offset + end);
  }

  /** Return all values of a variable that is not plain numbers. */
  async #decode(variable) {
    const {type, Type, n, masked, big, length, offset} = variable;
    // `.len` is a hint only: if it is right, all bytes come in one request
    let held = await this.#read(variable, 0, Math.max(0, Math.min(length, this.#bytes.size - this.#start - offset)));
    const upTo = async (end) => (held = end > held.length ? await this.#read(variable, 0, end) : held);
    const isString = !Type && type !== "bool";
    const maskSize = masked ? Math.ceil(n / 8) : 0;
    const missing = masked ? unpackBits(await upTo(maskSize), n) : null;
    const present = missing ? missing.reduce((count, bit) => count - bit, n) : n;
    const end = maskSize + Math.ceil((present * bitsOf(type)) / 8);
    const body = (await upTo(end)).subarray(maskSize, end);
    const view = new DataView(body.buffer, body.byteOffset);
    const lengths = Array.from({length: isString ? present : 0}, (_, i) => Number(view.getBigUint64(8 * i, !big)));
    const size = lengths.reduce((a, b) => a + b, end);
    // writers of the layout 2.0.1 confused masks, and lengths of strings
    if (this.#isOld && length !== size) throw new DsError(`.len: found ${length}, expected ${size}. Try \`ds convert\``);
    await upTo(size);
    let [values, start] = [[], end];
    if (Type) values = numbers(variable, body);
    else if (type === "bool") values = unpackBits(body, present);
    else values = lengths.map((length) => held.slice(start, (start += length)));
    if (type === "unicode") values = values.map((bytes) => UTF8.decode(bytes));
    return {values: missing ? spread(values, missing) : values, missing};
  }
}

/** Return the properties of a variable, checked. */
function describe(name, entry, isOld) {
  if (!isObject(entry)) throw new DsError(`found ${show(entry)}, expected an object`);
  const check = (isRight, property, found, expected) => {
    if (!isRight) throw new DsError(`${property}: found ${show(found)}, expected ${expected}`);
  };
  const {".type": kind = "float64", ".size": size = [], ".offset": offset = 0, ".len": length = 0} = entry;
  const {".endian": endian = "b", ".missing": masked = false, ".dsize": bits} = entry;
  const type = isOld && ["float", "int", "uint"].includes(kind) ? `${kind}${bits}` : kind;
  const shape = isOld && size === 1 ? [] : size;
  check(shape === null || (Array.isArray(shape) && shape.length <= 64 && shape.every(isCount)), ".size", size, "up to 64 integers");
  check(TYPES.has(type) || (type === null && shape === null), ".type", type, "a type of the format");
  check(isCount(offset), ".offset", offset, "an integer of 0 or more");
  check(isCount(length), ".len", length, "an integer of 0 or more");
  check(endian === "b" || endian === "l", ".endian", endian, '"b" or "l"');
  check(typeof masked === "boolean", ".missing", masked, "true or false");
  const {".dims": dims = (shape ?? []).map((_, i) => `${name}_${i + 1}`)} = entry;
  check(Array.isArray(dims) && dims.every((dim) => typeof dim === "string"), ".dims", dims, "names");
  check(shape === null || dims.length === shape.length, ".dims", dims, `${shape?.length} names`);
  const n = shape === null ? 0 : product(shape);
  const Type = TYPES.get(type);
  return {type, dims, shape, attributes: attributesOf(entry, isOld), Type, offset, length, big: endian === "b", masked, n};
}

/** Return which values in C order a selection has, with their type, dimensions and shape. */
function select(variable, selection) {
  let [start, n] = [0, variable.n];
  const [type, dims, chosen] = [variable.type, [...variable.dims], {...selection}];
  const shape = variable.shape && [...variable.shape];
  for (let isRange = false; shape?.length && !isRange && Object.hasOwn(chosen, dims[0]); ) {
    const index = chosen[dims[0]];
    isRange = Array.isArray(index);
    const [from, to] = isRange ? index : [index, index + 1];
    if (!isCount(from) || !isCount(to) || from > to || to > shape[0])
      throw new DsError(`dimension "${dims[0]}": found ${show(index)}, expected an index below ${shape[0]} or [start, end]`);
    const step = product(shape.slice(1));
    [start, n] = [start + from * step, (to - from) * step];
    delete chosen[dims[0]];
    if (isRange) shape[0] = to - from;
    else [dims, shape].forEach((list) => list.shift());
  }
  const [other] = Object.keys(chosen);
  if (other !== undefined) throw new DsError(`cannot select "${other}", expected the first of the dimensions ${variable.dims}`);
  return {start, end: start + n, type, dims, shape};
}

/** Return a copy of numbers, in the byte order of this machine. */
function numbers({type, Type, big}, bytes) {
  const [copy, size] = [bytes.slice(), Type.BYTES_PER_ELEMENT];
  for (let i = 0; i < copy.length && big !== IS_BIG_ENDIAN; i += size)
    for (let a = i, b = i + size - 1; a < b; a++, b--) [copy[a], copy[b]] = [copy[b], copy[a]];
  const values = new Type(copy.buffer);
  return type === "float16" ? Float32Array.from(values, fromHalf) : values;
}

function fromHalf(bits) {
  const [sign, exponent, fraction] = [bits & 0x8000 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24);
}

function unpackBits(bytes, n) {
  const bits = new Uint8Array(n);
  for (let i = 0; i < n; i++) bits[i] = (bytes[i >> 3] >> (7 - (i & 7))) & 1;
  return bits;
}

/** Return present values among 0 or "" for missing ones. */
function spread(present, missing) {
  const all = Array.isArray(present) ? Array(missing.length).fill("") : new present.constructor(missing.length);
  for (let i = 0, k = 0; i < all.length; i++) if (!missing[i]) all[i] = present[k++];
  return all;
}

/** Parse JSON as Python writes it, with NaN, Infinity, and integers of any size: beyond 2^53 they become BigInt. */
function parse(text) {
  const mark = `${Math.random()} `; // no string of the file begins with it
  const marked = text.replace(/"(?:[^"\\]|\\.)*"|-?Infinity|NaN|-?\d[\d.eE+-]*/g, (token) => {
    const isLarge = /^-?[1-9]\d*$/.test(token) && !Number.isSafeInteger(Number(token));
    return isLarge || /^(NaN|-?Infinity)$/.test(token) ? `"${mark}${token}"` : token;
  });
  return JSON.parse(marked, (_, value) => {
    if (typeof value !== "string" || !value.startsWith(mark)) return value;
    const token = value.slice(mark.length);
    return /\d/.test(token) ? BigInt(token) : Number(token);
  });
}

const bitsOf = (type) => (type === "bool" ? 1 : 8 * (TYPES.get(type)?.BYTES_PER_ELEMENT ?? 8)); // lengths of strings take 64
const isCount = (value) => Number.isSafeInteger(value) && value >= 0;
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const product = (counts) => (counts.includes(0) ? 0 : counts.reduce((a, b) => a * b, 1)); // it may be infinite
const show = (value) => String(JSON.stringify(value, (_, part) => (typeof part === "bigint" ? `${part}` : part))).slice(0, 60);
const unescape = (key) => (/^\\[.\\]/.test(key) ? key.slice(1) : key);

function attributesOf(entry, isOld) {
  const own = Object.entries(entry).filter(([key]) => !key.startsWith("."));
  return Object.fromEntries(own.map(([key, value]) => [isOld ? key : unescape(key), value]));
}

/** Return the name and size of a source, and a function that reads a range of it. */
async function locate(source) {
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) source = new Blob([source]);
  if (source instanceof Blob) {
    const read = async (start, end) => new Uint8Array(await source.slice(start, end).arrayBuffer());
    return {name: source.name ?? "bytes", size: source.size, read};
  }
  const name = String(source);
  const first = await request(name, 0, FIRST_SIZE);
  const read = async (start, end) => {
    if (end <= first.bytes.length) return first.bytes.subarray(start, end);
    const {bytes, tag} = await request(name, start, end);
    if (tag !== first.tag) throw new DsError(`found ETag ${tag}, expected ${first.tag}: the file was changed`);
    if (bytes.length !== end - start) throw new DsError(`found ${bytes.length} bytes from ${start}, expected ${end - start}`);
    return bytes;
  };
  return {name, size: first.size, read};
}

/** Request a range of a file. A server that does not know ranges answers with the whole file. */
async function request(url, start, end) {
  const response = await fetch(url, {headers: {Range: `bytes=${start}-${end - 1}`}});
  if (!response.ok) throw new DsError(`${url}: found status ${response.status}, expected 206 or 200`);
  const [bytes, tag] = [new Uint8Array(await response.arrayBuffer()), response.headers.get("ETag")];
  if (response.status !== 206) return {bytes: start ? bytes.subarray(start, end) : bytes, size: bytes.length, tag};
  const range = response.headers.get("Content-Range"); // another site must expose it: Access-Control-Expose-Headers
  const [, from, size] = /^bytes (\d+)-\d+\/(\d+)$/.exec(range) ?? [];
  if (Number(from) !== start) throw new DsError(`${url}: found Content-Range ${range}, expected one from byte ${start}`);
  return {bytes, size: Number(size), tag};
}
