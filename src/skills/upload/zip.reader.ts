import { promisify } from 'node:util';
import { crc32, inflateRaw, type ZlibOptions } from 'node:zlib';
import { type Entry, fromBufferPromise, type ZipFile } from 'yauzl';
import { SkillFault } from '../format/skill.fault';
import {
  BYTES_MAX,
  checkPath,
  FILES_MAX,
  type GivenFile,
  shown,
  tooManyBytes,
  tooManyFiles,
} from '../format/skill-files';
import { foldedPath, isLeftBySystem, withoutDots } from '../format/skill-path';
import { endsWith } from './zip-end';
import { checkNames, checkPlaces, isSameBefore, type PlacedEntry } from './zip-places';

/** Files, directories, and what systems leave: as many as are looked at. */
const ENTRIES_MAX = 5 * FILES_MAX;

const STORED = 0;
const DEFLATED = 8;

/** Of the upper half of an entry's external attributes, on Unix (stat.h). */
const FILE_TYPE = 0o170000;
const REGULAR_FILE = 0o100000;
const DIRECTORY = 0o040000;

/** Also tells how many bytes it took, which `promisify` does not know. */
const inflate = promisify(inflateRaw) as unknown as (
  bytes: Buffer,
  options: ZlibOptions & { info: true },
) => Promise<{ buffer: Buffer; engine: { bytesWritten: number } }>;

/**
 * The files of a zip archive, in its order; at most `BYTES_MAX` of them, however much they would inflate to. Throws
 * `SkillFault` for what is not well-formed, or says of itself what is not so; for links, devices and what is
 * encrypted; and for what two programs could read as different files.
 *
 * @param bytes which the contents may be parts of
 */
export async function filesOfZip(bytes: Buffer): Promise<GivenFile[]> {
  const entries = await entriesOf(bytes);
  const files = entries.filter(({ isDirectory, path }) => !isDirectory && !isLeftBySystem(path));
  if (files.length > FILES_MAX) throw tooManyFiles();
  checkDirectories(entries, files);
  // what they say: none of them is inflated to more than that
  if (files.reduce((sum, { entry }) => sum + entry.uncompressedSize, 0) > BYTES_MAX) throw tooManyBytes();
  const found: GivenFile[] = [];
  for (const file of files) found.push({ path: file.path, content: await contentOf(bytes, file) });
  return found;
}

/** Whether bytes begin as a zip archive does, or as one that is empty. */
export const isZip = (bytes: Buffer): boolean =>
  ['PK\x03\x04', 'PK\x05\x06'].includes(bytes.toString('latin1', 0, 4));

type ZipEntry = Pick<PlacedEntry, 'entry' | 'path' | 'isDirectory'>;

/** Reads the directory of the archive, and holds it to what lies there. */
async function entriesOf(bytes: Buffer): Promise<PlacedEntry[]> {
  try {
    const archive = await fromBufferPromise(bytes, { decodeStrings: false, validateEntrySizes: true });
    if (archive.entryCount > ENTRIES_MAX) throw tooManyFiles();
    // the library moves this on as it reads; it stands where the directory of the archive begins
    const directoryAt = Number(archive.readEntryCursor);
    const entries: PlacedEntry[] = [];
    for await (const entry of archive.eachEntry()) entries.push(await placed(archive, checkedEntry(entry)));
    const directory = { from: directoryAt, to: Number(archive.readEntryCursor), entries: entries.length };
    if (!endsWith(bytes, directory)) throw new Error('Its directory is not what its end says of it.');
    checkPlaces(bytes, entries, directoryAt);
    return entries;
  } catch (error) {
    throw error instanceof SkillFault ? error : malformed(error);
  }
}

/** @param cause what the library finds wrong with it */
const malformed = (cause: unknown): SkillFault =>
  new SkillFault('The file is not a well-formed zip archive, or is cut off.', null, null, { cause });

function checkedEntry(entry: Entry): ZipEntry {
  const name = withoutDots(nameOf(entry));
  // the directory that the paths are relative to may be there itself, as ./
  const isTop = name === '' && entry.fileNameRaw.length > 0;
  const isDirectory = isTop || name.endsWith('/');
  const path = name.endsWith('/') ? name.slice(0, -1) : name;
  if (!isTop) checkPath(path);
  const told = shown(path);
  const type = (entry.externalFileAttributes >>> 16) & FILE_TYPE;
  if (type !== 0 && type !== (isDirectory ? DIRECTORY : REGULAR_FILE)) {
    throw new SkillFault(`${told} is a link, a device or the like: a skill has files and directories alone`);
  }
  if (entry.isEncrypted()) throw new SkillFault(`${told} is encrypted: send it as it is`);
  if (entry.compressionMethod !== STORED && entry.compressionMethod !== DEFLATED) {
    throw new SkillFault(`${told} is compressed in another way than by deflate`);
  }
  if (isDirectory && entry.uncompressedSize > 0)
    throw new SkillFault(`${told} is a directory, and has a content`);
  return { entry, path, isDirectory };
}

/** A name in UTF-8, which the archive gives once. */
function nameOf({ fileNameRaw, extraFields }: Entry): string {
  let name: string;
  try {
    name = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(fileNameRaw);
  } catch {
    throw new SkillFault(`${shown(fileNameRaw.toString('latin1'))} has a path that is not text in UTF-8`);
  }
  checkNames(fileNameRaw, extraFields, name);
  return name;
}

/** Finds the bytes of an entry, before which the same stands as in the directory. */
async function placed(archive: ZipFile, one: ZipEntry): Promise<PlacedEntry> {
  const local = await archive.readLocalFileHeaderPromise(one.entry);
  return {
    ...one,
    from: one.entry.relativeOffsetOfLocalHeader,
    dataFrom: local.fileDataStart,
    to: local.fileDataStart + one.entry.compressedSize,
    isDescribedBefore: isSameBefore(one.entry, local, one.path),
  };
}

/** No file is also a directory: programs unpack either. */
function checkDirectories(entries: readonly ZipEntry[], files: readonly ZipEntry[]): void {
  const taken = new Set(files.map(({ path }) => foldedPath(path)));
  for (const { path } of entries.filter(({ isDirectory }) => isDirectory)) {
    const folded = `${foldedPath(path)}/`;
    for (let at = folded.indexOf('/'); at >= 0; at = folded.indexOf('/', at + 1)) {
      if (taken.has(folded.slice(0, at)))
        throw new SkillFault(
          `${shown(path)} is a directory, and it or one that it lies in is a file as well`,
        );
    }
  }
}

async function contentOf(bytes: Buffer, { entry, path, dataFrom, to }: PlacedEntry): Promise<Buffer> {
  const packed = bytes.subarray(dataFrom, to);
  const content = entry.compressionMethod === STORED ? packed : await inflated(packed, entry);
  if (content?.length === entry.uncompressedSize && crc32(content) === entry.crc32) return content;
  throw new SkillFault(`${shown(path)} is damaged: its content is not what the archive says of it`);
}

/** Null where it does not end with the bytes, or as it says of itself. */
async function inflated(packed: Buffer, { uncompressedSize }: Entry): Promise<Buffer | null> {
  try {
    const maxOutputLength = Math.max(1, uncompressedSize);
    const { buffer, engine } = await inflate(packed, { info: true, maxOutputLength });
    return engine.bytesWritten === packed.length ? buffer : null;
  } catch {
    return null;
  }
}
