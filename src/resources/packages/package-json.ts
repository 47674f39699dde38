import { createHash } from 'node:crypto';
import { RawJson } from '#platform/json';
import type { PackageFile, UnpackedComponent } from './packager';

/** Returns a file of a package with this text, which is held in memory. */
export function textFile(path: string, text: string): PackageFile {
  const bytes = Buffer.from(text);
  return {
    path,
    size_bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    async *content() {
      yield await Promise.resolve(bytes);
    },
  };
}

/** Reads the JSON file of a component that has no other files. */
export async function readJsonFile({ key, files }: UnpackedComponent, path: string): Promise<RawJson> {
  let text: string | undefined;
  for await (const file of files) {
    const pieces: Buffer[] = [];
    for await (const piece of file.content) pieces.push(piece);
    if (file.path === path) text = Buffer.concat(pieces).toString();
  }
  if (text === undefined) throw new Error(`The component ${key} has no ${path}.`);
  return new RawJson(text);
}
