import { mergePatch, RawJson, toJsonText } from '#platform/json';
import { problem } from '#platform/problem';

/** Free-form `metadata` of a resource, as JSON, in bytes. */
export const METADATA_MAX_BYTES = 16 * 1024;

/** Merges a patch (RFC 7396) into stored metadata; null empties it. 400 when it grows over its limit. */
export const patchMetadata = (stored: RawJson, patch: object | null): RawJson =>
  patch === null ? new RawJson('{}') : mergeWithin('/metadata', stored, patch);

/**
 * Merges a patch (RFC 7396) into a stored object that has the limit of metadata. 400 when it grows over that.
 *
 * @param pointer of the member in the body
 */
export function mergeWithin(pointer: string, stored: RawJson | null, patch: object): RawJson {
  const text = toJsonText(mergePatch(stored?.parse() ?? {}, patch));
  if (Buffer.byteLength(text) > METADATA_MAX_BYTES) {
    const detail = `may have at most ${METADATA_MAX_BYTES / 1024} KiB as JSON after the merge`;
    throw problem.invalidFields([{ pointer, detail }]);
  }
  return new RawJson(text);
}
