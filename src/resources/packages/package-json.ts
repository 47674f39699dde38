import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { RawJson, toJsonText } from '#platform/json';
import type { PackageFile, UnpackedComponent } from './packager';

/** Returns a file of a package that holds this text in memory. */
export function textFile(path: string, text: string): PackageFile {
  const bytes = Buffer.from(text);
  return {
    path,
    size_bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    isHeld: true,
    async *content() {
      yield await Promise.resolve(bytes);
    },
  };
}

/**
 * Returns a JSON file of a package with sorted members. Free-form members are written verbatim: RFC 8785 would write 2^60 as
 * 1152921504606847000, which `parseJson` rejects, and would sort their members. The same version still gives the same bytes,
 * because its stored text never changes.
 *
 * @param members free-form members as `RawJson`; other members without numbers beyond 2^53
 */
export function jsonFile(path: string, members: object): PackageFile {
  const sorted = Object.entries(members).sort(([one], [other]) => (one < other ? -1 : 1));
  return textFile(path, toJsonText(Object.fromEntries(sorted)));
}

/** Reads the JSON file of a component that has no other files. */
export async function readJsonFile({ key, files }: UnpackedComponent, path: string): Promise<RawJson> {
  let text: string | undefined;
  for await (const file of files) {
    const bytes = await buffer(file.content);
    if (file.path === path) text = bytes.toString();
  }
  if (text === undefined) throw new Error(`The component ${key} has no ${path}.`);
  return new RawJson(text);
}
