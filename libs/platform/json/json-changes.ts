import { pointerOf } from './json-pointer';
import { toJsonText } from './json.writer';
import { memberNames } from './member-order';
import { isJsonObject, RawJson } from './raw-json';

/** Limits of a comparison: the number of changes, and the characters of their pointers and values in total. */
const CHANGES_MAX = 1_000;
const TEXT_MAX = 1024 * 1024;

/** A difference between two JSON values. Values are JSON text. */
export interface JsonChange {
  /** The place of the value (RFC 6901): in the first value for `remove`, in the second one otherwise. */
  pointer: string;
  op: 'add' | 'remove' | 'replace';
  before?: string;
  after?: string;
}

export interface JsonChanges {
  changes: JsonChange[];
  /** Whether there are more changes than a comparison reports. */
  isTruncated: boolean;
}

/**
 * Compares two JSON values by their content. The order of members does not matter. Elements that were inserted into a list
 * or removed from it, at one place, are reported as added or removed. Numbers are compared by their spelling.
 *
 * @param before undefined if there is no value
 * @param after undefined if there is no value
 */
export function jsonChanges(before: unknown, after: unknown): JsonChanges {
  const comparison = new Comparison();
  comparison.compare(before, after);
  return { changes: comparison.changes, isTruncated: comparison.isTruncated };
}

class Comparison {
  readonly changes: JsonChange[] = [];
  isTruncated = false;
  private readonly path: (string | number)[] = [];
  private textLeft = TEXT_MAX;

  compare(before: unknown, after: unknown): void {
    if (this.isTruncated || isSameScalar(before, after)) return;
    if (Array.isArray(before) && Array.isArray(after)) this.compareLists(before, after);
    else if (isJsonObject(before) && isJsonObject(after)) this.compareObjects(before, after);
    else this.report(before, after);
  }

  private compareObjects(before: Record<string, unknown>, after: Record<string, unknown>): void {
    for (const name of memberNames(before)) {
      this.compareAt(name, before[name], Object.hasOwn(after, name) ? after[name] : undefined);
    }
    for (const name of memberNames(after)) {
      if (!Object.hasOwn(before, name)) this.compareAt(name, undefined, after[name]);
    }
  }

  /** Skips the equal elements at both ends, and compares the others in pairs. */
  private compareLists(before: readonly unknown[], after: readonly unknown[]): void {
    const shorter = Math.min(before.length, after.length);
    let start = 0;
    let end = 0;
    if (before.length !== after.length) {
      while (start < shorter && isSameJson(before[start], after[start])) start += 1;
      while (end < shorter - start && isSameJson(before.at(-1 - end), after.at(-1 - end))) end += 1;
    }
    const last = Math.max(before.length, after.length) - end;
    for (let index = start; index < last; index += 1) {
      if (this.isTruncated) return;
      const [from, to] = [before, after].map((list) => (index < list.length - end ? list[index] : undefined));
      this.compareAt(index, from, to);
    }
  }

  private compareAt(step: string | number, before: unknown, after: unknown): void {
    this.path.push(step);
    this.compare(before, after);
    this.path.pop();
  }

  private report(before: unknown, after: unknown): void {
    const change: JsonChange = {
      pointer: pointerOf(this.path),
      op: before === undefined ? 'add' : after === undefined ? 'remove' : 'replace',
      ...(before !== undefined && { before: toJsonText(before) }),
      ...(after !== undefined && { after: toJsonText(after) }),
    };
    this.textLeft -= change.pointer.length + (change.before?.length ?? 0) + (change.after?.length ?? 0);
    if (this.changes.length === CHANGES_MAX || this.textLeft < 0) this.isTruncated = true;
    else this.changes.push(change);
  }
}

/** Tells whether two values are the same scalar. A number that JavaScript would change is a `RawJson`. */
const isSameScalar = (one: unknown, other: unknown): boolean =>
  one === other || (one instanceof RawJson && other instanceof RawJson && one.text === other.text);

/** Tells whether two JSON values have the same content. */
function isSameJson(one: unknown, other: unknown): boolean {
  if (isSameScalar(one, other)) return true;
  if (Array.isArray(one)) {
    return (
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((element, index) => isSameJson(element, other[index]))
    );
  }
  if (!isJsonObject(one) || !isJsonObject(other)) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isSameJson(one[name], other[name]))
  );
}
