import { mergePatch, RawJson, toJsonText } from '#platform/json';
import { problem } from '#platform/problem';

/** Free-form `metadata` of a resource, as JSON, in bytes. */
export const METADATA_MAX_BYTES = 16 * 1024;

/** Merges a patch (RFC 7396) into stored metadata; null empties it. 400 when it grows over its limit. */
export function patchMetadata(stored: RawJson, patch: object | null): RawJson {
  const text = patch === null ? '{}' : toJsonText(mergePatch(stored.parse(), patch));
  if (Buffer.byteLength(text) > METADATA_MAX_BYTES) {
    throw problem.invalidFields([
      {
        pointer: '/metadata',
        detail: `may have at most ${METADATA_MAX_BYTES / 1024} KiB as JSON after the merge`,
      },
    ]);
  }
  return new RawJson(text);
}
