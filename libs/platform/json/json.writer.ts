import { randomBytes } from 'node:crypto';
import { hasRecordedOrder, isAnyOrderRecorded, memberNames } from './member-order';
import { RawJson, collectingRawJson } from './raw-json';

/** A member name that may be an array index, in the output of `JSON.stringify`. */
const MAYBE_INDEX_NAME = /"[0-9]+":/;

/**
 * An integer of 17 digits or more, in the output of `JSON.stringify` (perhaps inside a string). Up to 2^54,
 * which has 17 digits, it writes integers exactly.
 */
const LARGE_INTEGER = /(?:^|[:,[-])[0-9]{17}/;

/** Any of what must be looked into, so that most texts are searched only once. */
const SUSPECT = new RegExp(`null|${LARGE_INTEGER.source}|${MAYBE_INDEX_NAME.source}`);

/** How many placeholders are tried, when each occurs in the data itself, before giving up. */
const MAX_ATTEMPTS = 3;

type Replacer = (name: string, value: unknown) => unknown;

/** JSON text with placeholders, and the texts that belong in their places, in order. */
interface Draft {
  readonly text: string;
  readonly parts: readonly string[];
  readonly embedded: readonly string[];
}

let placeholder = newPlaceholder();

/**
 * Serialises a view: plain objects, arrays, primitives, `Date` (RFC 3339, UTC, milliseconds), {@link RawJson}
 * (its text as it stands) and objects with `toJSON`. Members come in the order recorded when they were
 * parsed. Undefined members are left out, undefined items of arrays are null. Integers below 1e21 are written
 * with all their digits: readers with integers of any size would take the 1152921504606847000 that
 * ECMAScript writes for 2^60 at its word.
 *
 * `JSON.stringify` does the work, because nothing written in JavaScript comes near it. What it cannot do is
 * put right around it: it writes a placeholder for each RawJson, and only where its output shows that a
 * number may have changed or become null, or members changed places, is the value itself looked through.
 *
 * @throws TypeError for what has no JSON form and is a mistake of the program: undefined or a function as the
 *   whole value, a number that is not finite, an invalid `Date`, a BigInt, a circular structure.
 */
export function toJsonText(value: unknown): string {
  return written(value, asSent);
}

/** As {@link toJsonText}, with large integers as ECMAScript writes them, which RFC 8785 requires. */
export function toEcmaScriptJsonText(value: unknown): string {
  return written(value, inRecordedOrder);
}

function written(value: unknown, replacer: Replacer): string {
  const draft = drafted(value);
  if (draft === undefined) throw new TypeError(`A value of type ${typeof value} has no JSON form.`);
  const { text } = draft;
  if (!SUSPECT.test(text)) return joined(draft);
  if (text.includes('null')) checkNumbers(value, '');
  const isChanged = LARGE_INTEGER.test(text) || (isAnyOrderRecorded() && MAYBE_INDEX_NAME.test(text));
  return joined((isChanged && drafted(value, replacer)) || draft);
}

function asSent(_name: string, value: unknown): unknown {
  return typeof value === 'number' ? withAllDigits(value) : ordered(value, asSent);
}

function inRecordedOrder(_name: string, value: unknown): unknown {
  return ordered(value, inRecordedOrder);
}

function withAllDigits(value: number): unknown {
  if (Number.isSafeInteger(value) || !Number.isInteger(value) || Math.abs(value) >= 1e21) return value;
  return placed(BigInt(value).toString());
}

function ordered(value: unknown, replacer: Replacer): unknown {
  if (typeof value !== 'object' || value === null || !hasRecordedOrder(value)) return value;
  return placed(textOfOrdered(value as Record<string, unknown>, replacer));
}

/** Has `JSON.stringify` write this text, by way of a placeholder. */
function placed(text: string): unknown {
  return new RawJson(text).toJSON();
}

function textOfOrdered(object: Record<string, unknown>, replacer: Replacer): string {
  let text = '';
  for (const name of memberNames(object)) {
    const valueText = textOfMember(object[name], replacer);
    if (valueText !== undefined) text += `${text === '' ? '{' : ','}${JSON.stringify(name)}:${valueText}`;
  }
  return text === '' ? '{}' : `${text}}`;
}

function textOfMember(value: unknown, replacer: Replacer): string | undefined {
  if (typeof value === 'string' || Number.isSafeInteger(value)) return JSON.stringify(value);
  const draft = drafted(value, replacer);
  return draft && joined(draft);
}

/**
 * Serialises with placeholders. A string in the data may by chance, or by somebody's design, equal the
 * placeholder; then there are more of them than texts to put in, and another placeholder is tried.
 */
function drafted(value: unknown, replacer?: Replacer): Draft | undefined {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const embedded: string[] = [];
    const sink = {
      take(text: string): string {
        embedded.push(text);
        return placeholder;
      },
    };
    // Declared as string, but undefined for what has no JSON form.
    const text = collectingRawJson(sink, () => JSON.stringify(value, replacer) as string | undefined);
    if (text === undefined) return undefined;
    if (embedded.length === 0) return { text, parts: [text], embedded };
    const parts = text.split(`"${placeholder}"`);
    if (parts.length === embedded.length + 1) return { text, parts, embedded };
    placeholder = newPlaceholder();
  }
  throw new TypeError('A toJSON method serialises RawJson by itself, which cannot be undone.');
}

function joined({ parts, embedded }: Draft): string {
  let text = parts[0] ?? '';
  for (const [place, part] of embedded.entries()) text += part + (parts[place + 1] ?? '');
  return text;
}

/** `JSON.stringify` writes null for numbers that JSON does not have, which would be a silent loss. */
function checkNumbers(value: unknown, name: string): void {
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new TypeError(`The number ${value} at "${name}" has no JSON form.`);
    return;
  }
  if (typeof value !== 'object' || value === null || value instanceof RawJson) return;
  if (Array.isArray(value)) {
    for (const item of value) checkNumbers(item, name);
    return;
  }
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) throw new TypeError(`The date at "${name}" is invalid.`);
    return;
  }
  const json = hasToJson(value) ? value.toJSON() : value;
  if (json !== value) {
    checkNumbers(json, name);
    return;
  }
  for (const member in value) checkNumbers((value as Record<string, unknown>)[member], member);
}

/** Whether `JSON.stringify` would take what the object's own method answers in its place. */
export function hasToJson(value: object): value is { toJSON(): unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}

function newPlaceholder(): string {
  return randomBytes(12).toString('base64url');
}
