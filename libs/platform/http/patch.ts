import { mergePatch, RawJson, toJsonText } from '#platform/json';
import { problem } from '#platform/problem';

/**
 * Throws 422 `immutable_field` when a patch changes an immutable member. The current value is accepted, so that clients
 * can send back a resource that they have read.
 *
 * @param members members whose values are strings, numbers or null
 */
export function checkImmutable<Row extends object>(
  row: Row,
  dto: { [Member in keyof Row]?: unknown },
  members: readonly (keyof Row & string)[],
): void {
  for (const member of members) {
    const value = dto[member];
    if (value !== undefined && value !== row[member]) throw problem.immutableField(`/${member}`);
  }
}

/** Largest free-form `metadata` of a resource, in bytes of JSON. */
export const METADATA_MAX_BYTES = 16 * 1024;

/**
 * Merges a patch (RFC 7396) into stored metadata, and keeps all digits of numbers. Undefined leaves the metadata unchanged,
 * null empties it. Throws 400 when the result is too large.
 */
export function patchMetadata(stored: RawJson, patch: object | null | undefined): RawJson {
  if (patch === undefined) return stored;
  return patch === null ? new RawJson('{}') : mergeWithin('/metadata', stored, patch);
}

/**
 * Merges a patch (RFC 7396) into a stored object that has the limit of metadata. Throws 400 when the result is too large.
 *
 * @param pointer to the member in the body
 */
export function mergeWithin(pointer: string, stored: RawJson | null, patch: object): RawJson {
  const text = toJsonText(mergePatch(stored ?? {}, patch));
  if (Buffer.byteLength(text) > METADATA_MAX_BYTES) {
    const detail = `must have at most ${METADATA_MAX_BYTES / 1024} KiB as JSON after the merge`;
    throw problem.invalidField(pointer, detail);
  }
  return new RawJson(text);
}
