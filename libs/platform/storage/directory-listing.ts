import { opendir, stat } from 'node:fs/promises';
import path from 'node:path';
import { type StoredObject, translateErrors } from './object-storage';

/** Names of a directory that are in memory at once. Larger directories are read several times. */
const NAMES = 100_000;
/** Files in a batch, whose sizes are read at the same time. */
const BATCH = 64;
/** The names in keys. Everything else is skipped, such as the marker, or `lost+found`, which nobody may read. */
const NAME = /^[\w-]+$/;

/** Lists the files `<directory>/<name>/<name>` as objects, in the binary order of their keys. */
export async function* filesIn(
  directory: string,
  atOnce = NAMES,
): AsyncGenerator<StoredObject[], void, undefined> {
  // As in a key, a slash follows the name.
  for await (const folder of namesIn(directory, '/', atOnce)) {
    let batch: string[] = [];
    for await (const name of namesIn(path.join(directory, folder), '', atOnce)) {
      if (batch.push(`${folder}/${name}`) < BATCH) continue;
      yield await objectsOf(directory, batch);
      batch = [];
    }
    if (batch.length > 0) yield await objectsOf(directory, batch);
  }
}

/**
 * Yields the names in a directory in the binary order of `name + suffix`. Reads the directory again for every `atOnce` names,
 * because the file system returns them in any order.
 */
async function* namesIn(
  directory: string,
  suffix: string,
  atOnce: number,
): AsyncGenerator<string, void, undefined> {
  let after = '';
  for (;;) {
    const names = await translateErrors(() => firstNames(directory, suffix, after, atOnce));
    for (const name of names) yield name.slice(0, name.length - suffix.length);
    if (names.length < atOnce) return;
    after = names.at(-1)!;
  }
}

/** Returns the first names after one, with their suffix. None if there is no such directory. */
async function firstNames(
  directory: string,
  suffix: string,
  after: string,
  count: number,
): Promise<string[]> {
  let names: string[] = [];
  let last: string | undefined;
  const keepFirst = (): void => {
    names = names.sort(inBinaryOrder).slice(0, count);
    if (names.length === count) last = names.at(-1);
  };
  try {
    for await (const entry of await opendir(directory, { bufferSize: 1_000 })) {
      const name = entry.name + suffix;
      if (!NAME.test(entry.name) || name <= after || (last !== undefined && name > last)) continue;
      if (names.push(name) >= 2 * count) keepFirst();
    }
  } catch (error) {
    // deleted meanwhile, or not a directory
    if (!isAbsent(error)) throw error;
  }
  keepFirst();
  return names;
}

async function objectsOf(directory: string, keys: readonly string[]): Promise<StoredObject[]> {
  const objects = await translateErrors(() => Promise.all(keys.map((key) => objectOf(directory, key))));
  return objects.filter((object) => object !== null);
}

async function objectOf(directory: string, key: string): Promise<StoredObject | null> {
  try {
    const status = await stat(path.join(directory, key));
    return status.isFile() ? { key, size: status.size, modifiedAt: status.mtime } : null;
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
}

const isAbsent = (error: unknown): boolean =>
  ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');

const inBinaryOrder = (one: string, other: string): number => (one < other ? -1 : 1);
