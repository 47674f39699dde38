import { buffer } from 'node:stream/consumers';
import { crc32 } from 'node:zlib';
import { type Entry, fromBufferPromise, getFileNameLowLevel, type ZipFile } from 'yauzl';
import { quotedPath } from '../../resources';
import {
  BYTES_MAX,
  checkPath,
  FILES_MAX,
  type UploadedFile,
  tooManyBytes,
  tooManyFiles,
} from '../format/skill-files';
import { isSystemFile, withoutDots } from '../format/skill-path';
import { SkillFault } from '../format/skill.fault';

/** The maximum number of entries in an archive, including directories and system files. */
const ENTRIES_MAX = 5 * FILES_MAX;

const STORED = 0;
const DEFLATED = 8;

/** The file type in the upper half of an entry's external attributes, as on Unix (stat.h). */
const FILE_TYPE = 0o170000;
const REGULAR_FILE = 0o100000;
const DIRECTORY = 0o040000;

interface ZipEntry {
  entry: Entry;
  path: string;
}

/**
 * Returns the files of a zip archive in its order. The declared sizes must be within the limit, and each file stops
 * inflating at its declared size, so that an archive never takes more than `BYTES_MAX` of memory. Throws `SkillFault` for
 * invalid archives and paths, links, devices, and encrypted files.
 */
export async function filesOfZip(bytes: Buffer): Promise<UploadedFile[]> {
  try {
    const archive = await fromBufferPromise(bytes, { decodeStrings: false, validateEntrySizes: true });
    if (archive.entryCount > ENTRIES_MAX) throw tooManyFiles();
    const entries: ZipEntry[] = [];
    for await (const entry of archive.eachEntry()) entries.push(...fileOf(entry));
    if (entries.length > FILES_MAX) throw tooManyFiles();
    if (entries.reduce((sum, { entry }) => sum + entry.uncompressedSize, 0) > BYTES_MAX) throw tooManyBytes();
    const files: UploadedFile[] = [];
    for (const one of entries) files.push({ path: one.path, content: await contentOf(archive, one) });
    return files;
  } catch (error) {
    if (error instanceof SkillFault) throw error;
    throw new SkillFault('The file is not a valid zip archive, or is truncated.', null, null, {
      cause: error,
    });
  }
}

/** Returns whether bytes begin like a zip archive, or like an empty one. */
export const isZip = (bytes: Buffer): boolean =>
  ['PK\x03\x04', 'PK\x05\x06'].includes(bytes.toString('latin1', 0, 4));

/** Marks a name as UTF-8. */
const UTF8 = 1 << 11;

/** The systems whose archivers may write a backslash between directories (`version made by`): MS-DOS, OS/2, NTFS, VFAT. */
const BACKSLASH_HOSTS: ReadonlySet<number> = new Set([0, 6, 10, 14]);

/**
 * Returns the path of an entry: the Unicode path that Info-ZIP adds to a name in another encoding (extra field 0x7075),
 * otherwise the name, which most tools write in UTF-8 even if they do not mark it. Other encodings become U+FFFD, which no
 * path may contain.
 */
function nameOf({ fileNameRaw, extraFields, versionMadeBy }: Entry): string {
  const name = getFileNameLowLevel(UTF8, fileNameRaw, extraFields, true);
  return BACKSLASH_HOSTS.has(versionMadeBy >>> 8) ? name.replaceAll('\\', '/') : name;
}

/** Checks an entry. Returns an empty list for directories and system files. */
function fileOf(entry: Entry): ZipEntry[] {
  const raw = nameOf(entry);
  const name = withoutDots(raw);
  // The top directory itself may be listed as `./`.
  const isDirectory = name.endsWith('/') || (name === '' && raw !== '');
  const path = name.endsWith('/') ? name.slice(0, -1) : name;
  if (isSystemFile(path)) return [];
  if (path !== '' || raw === '') checkPath(path);
  const type = (entry.externalFileAttributes >>> 16) & FILE_TYPE;
  if (type !== 0 && type !== (isDirectory ? DIRECTORY : REGULAR_FILE)) {
    throw new SkillFault(
      `${quotedPath(path)} is a link or a device. A skill may contain only files and directories.`,
    );
  }
  if (isDirectory) return [];
  if (entry.isEncrypted()) throw new SkillFault(`${quotedPath(path)} is encrypted. Send it unencrypted.`);
  if (entry.compressionMethod !== STORED && entry.compressionMethod !== DEFLATED) {
    throw new SkillFault(`${quotedPath(path)} uses an unsupported compression method. Use deflate.`);
  }
  return [{ entry, path }];
}

/** Reads an entry. The library fails the stream if the content differs from its declared size. */
async function contentOf(archive: ZipFile, { entry, path }: ZipEntry): Promise<Buffer> {
  const damaged = (cause?: unknown) =>
    new SkillFault(
      `${quotedPath(path)} is damaged: its content does not match its size or checksum.`,
      null,
      null,
      {
        cause,
      },
    );
  let content: Buffer;
  try {
    content = await buffer(await archive.openReadStreamPromise(entry));
  } catch (error) {
    throw damaged(error);
  }
  if (crc32(content) !== entry.crc32) throw damaged();
  return content;
}
