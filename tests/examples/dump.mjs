// Read files with the reader of examples/javascript: a request is a line of JSON on standard input, the answer one on standard output.

import {createInterface} from "node:readline";
import {openAsBlob} from "node:fs";
import {DsError, open} from "../../examples/javascript/ds.mjs";

function encoded(value) {
  if (typeof value === "bigint") return {$integer: `${value}`};
  if (typeof value === "number" && (!Number.isSafeInteger(value) || Object.is(value, -0)))
    return {$float: Object.is(value, -0) ? "-0.0" : `${value}`};
  if (ArrayBuffer.isView(value)) {
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    return {$array: value.constructor.name.replace("Array", "").toLowerCase(), hex: bytes.toString("hex")};
  }
  if (Array.isArray(value)) return value.map(encoded);
  if (value === null || typeof value !== "object") return value;
  return {$object: Object.entries(value).map(([key, part]) => [key, encoded(part)])};
}

/** Return the result of a call, or its error, which must be one of ours. */
async function answer(call) {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof DsError)) throw error;
    return {error: error.message};
  }
}

async function dump({bytes, url, path, names, selection}) {
  const source = bytes === undefined ? url ?? (await openAsBlob(path)) : Buffer.from(bytes, "base64");
  const file = await open(source);
  const variables = [];
  for (const name of names ?? Object.keys(file.variables))
    variables.push([name, await answer(async () => encoded(await file.read(name, selection)))]);
  return {meta: encoded(file.meta), attributes: encoded(file.attributes), variables};
}

for await (const line of createInterface({input: process.stdin}))
  console.log(JSON.stringify(await answer(() => dump(JSON.parse(line)))));
