import { randomBytes } from 'node:crypto';
import { hasRecordedOrder, isAnyOrderRecorded, memberNames } from './member-order';
import { hasOtherDigits } from './number.rule';
import { RawJson, collectingRawJson } from './raw-json';

/** Matches a member name that may be an array index, in the output of `JSON.stringify`. */
const MAYBE_INDEX_NAME = /"[0-9]+":/;

/**
 * Matches an integer of 17 digits or more in the output of `JSON.stringify`, possibly inside a string. Shorter integers are
 * always written exactly.
 */
const LARGE_INTEGER = /(?:^|[:,[-])[0-9]{17}/;

/** Matches everything that needs a closer look, so that most texts are searched only once. */
const SUSPECT = new RegExp(`null|${LARGE_INTEGER.source}|${MAYBE_INDEX_NAME.source}`);

/** Placeholders to try if the data itself contains them. */
const MAX_ATTEMPTS = 3;

type Replacer = (name: string, value: unknown) => unknown;

/** JSON text with placeholders, and the texts that replace them, in order. */
interface Draft {
  readonly text: string;
  readonly parts: readonly string[];
  readonly embedded: readonly string[];
}

let placeholder = newPlaceholder();

/**
 * Serializes a view: plain objects, arrays, primitives, `Date` (RFC 3339, UTC, milliseconds), {@link RawJson} (verbatim)
 * and objects with `toJSON`. Members keep the order that was recorded when they were parsed. Undefined members are omitted,
 * undefined array items become null. Integers below 1e21 are written with all their digits, because readers with exact
 * integers would read the 1152921504606847000 that ECMAScript writes for 2^60 as another number.
 *
 * `JSON.stringify` does the work, because no code in JavaScript is nearly as fast. It writes a placeholder for each RawJson.
 * The value itself is traversed only if the output shows that a number may have changed or become null, or that the order
 * of members may have changed.
 *
 * @throws TypeError for values without a JSON form, which are programming errors: undefined or a function as the whole
 *   value, a number that is not finite, an invalid `Date`, a BigInt, a circular structure
 */
export function toJsonText(value: unknown): string {
  return serialize(value, exact);
}

/** Returns the stored form of a free-form value. Returns a `RawJson` unchanged, because it may be large. */
export const toRawJson = (value: unknown): RawJson =>
  value instanceof RawJson ? value : new RawJson(toJsonText(value));

/** Like `toRawJson`, for a member that may be absent or null. Both are stored as NULL. */
export const toRawJsonOrNull = (value: unknown): RawJson | null =>
  value === undefined || value === null ? null : toRawJson(value);

/** Like {@link toJsonText}, with large integers as ECMAScript writes them, which RFC 8785 requires. */
export function toEcmaScriptJsonText(value: unknown): string {
  return serialize(value, inRecordedOrder);
}

function serialize(value: unknown, replacer: Replacer): string {
  const draft = draftOf(value);
  if (draft === undefined) throw new TypeError(`A value of type ${typeof value} has no JSON form.`);
  const { text } = draft;
  if (!SUSPECT.test(text)) return join(draft);
  if (text.includes('null')) checkNumbers(value, '');
  const isChanged = LARGE_INTEGER.test(text) || (isAnyOrderRecorded() && MAYBE_INDEX_NAME.test(text));
  return join((isChanged && draftOf(value, replacer)) || draft);
}

function exact(_name: string, value: unknown): unknown {
  return typeof value === 'number' ? withAllDigits(value) : orderMembers(value, exact);
}

function inRecordedOrder(_name: string, value: unknown): unknown {
  return orderMembers(value, inRecordedOrder);
}

function withAllDigits(value: number): unknown {
  return hasOtherDigits(value) ? verbatim(BigInt(value).toString()) : value;
}

function orderMembers(value: unknown, replacer: Replacer): unknown {
  if (typeof value !== 'object' || value === null || !hasRecordedOrder(value)) return value;
  return verbatim(textOfOrdered(value as Record<string, unknown>, replacer));
}

/** Makes `JSON.stringify` write this text, with a placeholder. */
function verbatim(text: string): unknown {
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
  const draft = draftOf(value, replacer);
  return draft && join(draft);
}

/**
 * Serializes with placeholders. A string in the data may equal the placeholder, by chance or on purpose. The text then has
 * more placeholders than texts to insert, and another placeholder is tried.
 */
function draftOf(value: unknown, replacer?: Replacer): Draft | undefined {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const embedded: string[] = [];
    const sink = {
      take(text: string): string {
        embedded.push(text);
        return placeholder;
      },
    };
    // Declared as string, but undefined for a value without a JSON form.
    const text = collectingRawJson(sink, () => JSON.stringify(value, replacer) as string | undefined);
    if (text === undefined) return undefined;
    if (embedded.length === 0) return { text, parts: [text], embedded };
    const parts = text.split(`"${placeholder}"`);
    if (parts.length === embedded.length + 1) return { text, parts, embedded };
    placeholder = newPlaceholder();
  }
  throw new TypeError('A toJSON method turned RawJson into text, which cannot be undone.');
}

function join({ parts, embedded }: Draft): string {
  let text = parts[0] ?? '';
  for (const [place, part] of embedded.entries()) text += part + (parts[place + 1] ?? '');
  return text;
}

/** Throws for numbers and dates that `JSON.stringify` would silently write as null. */
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

/** Tells whether `JSON.stringify` would serialize the result of `toJSON` instead of the object. */
export function hasToJson(value: object): value is { toJSON(): unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}

function newPlaceholder(): string {
  return randomBytes(12).toString('base64url');
}
