import { createHash } from 'node:crypto';
import { toJsonText } from '#platform/json';
import type { PackageFile, UnpackedFile } from './packager';

/** Largest JSON file of a component, in bytes. It is read into memory. */
const JSON_MAX_BYTES = 32 * 1024 * 1024;

/**
 * Returns a JSON file of a component, in canonical form except for its free-form members. These are written as they are
 * stored: RFC 8785 would write 2^60 as 1152921504606847000, which `parseJson` refuses, and would sort their members. The
 * same version still gives the same bytes, because its stored text never changes.
 *
 * @param members free-form ones as `RawJson`; the others must not contain numbers beyond 2^53
 */
export function jsonFile(path: string, members: object): PackageFile {
  const sorted = Object.entries(members).sort(([one], [other]) => (one < other ? -1 : 1));
  const bytes = Buffer.from(toJsonText(Object.fromEntries(sorted)));
  return {
    path,
    size_bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    // eslint-disable-next-line @typescript-eslint/require-await -- a stream of one chunk
    async *content() {
      yield bytes;
    },
  };
}

/** Reads a JSON file of a component. Throws for a file that no packager writes. */
export async function readBytes({ path, size_bytes, content }: UnpackedFile): Promise<Buffer> {
  if (size_bytes > JSON_MAX_BYTES) throw new Error(`${path} of the package is too large.`);
  const chunks: Buffer[] = [];
  for await (const chunk of content) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** The fault of a package that was not written by a packager. */
export const unexpectedFile = (path: string): Error =>
  new Error(`The package has an unexpected file ${path}.`);
