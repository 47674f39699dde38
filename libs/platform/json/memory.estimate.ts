import { MAX_DEPTH } from './json-limits';

const OBJECT = '{'.charCodeAt(0);
const LIST = '['.charCodeAt(0);
const END_OF_OBJECT = '}'.charCodeAt(0);
const END_OF_LIST = ']'.charCodeAt(0);
const COLON = ':'.charCodeAt(0);
const COMMA = ','.charCodeAt(0);
const QUOTE = '"'.charCodeAt(0);
const BACKSLASH = '\\'.charCodeAt(0);

/** Estimated bytes of a parsed list or object, of a member and of an element, in V8. */
const CONTAINER_BYTES = 60;
const MEMBER_BYTES = 24;
const ELEMENT_BYTES = 16;
/** An object with more members is a hash table, whose members take more. */
const SMALL_OBJECT = 100;
const HASHED_MEMBER_BYTES = 110;

/**
 * Estimates the memory of parsed JSON in bytes, apart from its strings and numbers, without parsing it. JSON that is
 * nested too deeply to be accepted counts up to that depth.
 */
export function estimateMemory(bytes: Buffer): number {
  const members = new Uint32Array(MAX_DEPTH + 1);
  let depth = 0;
  let estimate = 0;
  let isText = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte === QUOTE) isText = !isText;
    else if (isText) at += byte === BACKSLASH ? 1 : 0;
    else if (byte === COMMA) estimate += ELEMENT_BYTES;
    else if (byte === COLON)
      estimate += ++members[depth]! > SMALL_OBJECT ? HASHED_MEMBER_BYTES : MEMBER_BYTES;
    else if (byte === OBJECT || byte === LIST) {
      estimate += CONTAINER_BYTES;
      if (++depth > MAX_DEPTH) return estimate;
      members[depth] = 0;
    } else if ((byte === END_OF_OBJECT || byte === END_OF_LIST) && depth > 0) depth--;
  }
  return estimate;
}
