import { memberNames, objectOf } from './member-order';
import { RawJson } from './raw-json';

const NONE: ReadonlySet<string> = new Set();

/**
 * Applies a JSON merge patch (RFC 7396): members of the patch replace those of the target, objects are merged member by
 * member, and null removes. Neither argument is changed, but the result may share parts with both. New members are
 * appended.
 *
 * A {@link RawJson} in the target is parsed if the patch merges into it, and kept otherwise. A `RawJson` in the patch counts
 * as a scalar. Undefined members of the patch are ignored.
 *
 * @param whole names of top-level members of the patch that replace the target's members completely. Nulls inside their
 *   values are kept.
 */
export function mergePatch(target: unknown, patch: unknown, whole: readonly string[] = []): unknown {
  return merge(target, patch, new Set(whole));
}

function merge(target: unknown, patch: unknown, whole: ReadonlySet<string>): unknown {
  if (!isObject(patch)) return patch;
  const members = membersOf(target);
  for (const [name, value] of membersOf(patch)) {
    if (value === undefined) continue;
    if (whole.has(name)) members.set(name, value);
    else if (value === null) members.delete(name);
    else members.set(name, merge(members.get(name), value, NONE));
  }
  return objectOf([...members.keys()], [...members.values()]);
}

function membersOf(value: unknown): Map<string, unknown> {
  const parsed = value instanceof RawJson ? value.parseExactly() : value;
  return new Map(isObject(parsed) ? memberNames(parsed).map((name) => [name, parsed[name]]) : []);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof Date) &&
    !(value instanceof RawJson)
  );
}
