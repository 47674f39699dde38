import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { SkillFault } from './skill.fault';
import { commonDirectory, comparePaths, faultOfPath, foldedPath, isLeftBySystem } from './skill-path';

/** Of one version. */
export const FILES_MAX = 1_000;
export const BYTES_MAX = 32 * 1024 * 1024;

/** The file that makes a directory a skill. */
export const SKILL_MD = 'SKILL.md';

/** A file as it is sent. */
export interface GivenFile {
  path: string;
  content: Buffer;
}

/** A file of a version. */
export interface SkillFile {
  path: string;
  /** Of the content, in hexadecimal. */
  sha256: string;
  crc32: number;
  size_bytes: number;
  /** Absent where the organization keeps it already. */
  content?: Buffer;
}

export const skillFile = ({ path, content }: GivenFile): SkillFile => ({
  path,
  sha256: createHash('sha256').update(content).digest('hex'),
  crc32: crc32(content),
  size_bytes: content.length,
  content,
});

/**
 * The files of a skill, in the order of their paths, without the directories that all of them lie in. Throws
 * `SkillFault` for a path that is none, for paths that cannot be told apart everywhere, for a file within a file, for
 * what is too much, and where there is no SKILL.md.
 */
export function directoryOf(given: readonly GivenFile[]): SkillFile[] {
  for (const [index, { path }] of given.entries()) checkPath(path, index);
  const kept = given.filter(({ path }) => !isLeftBySystem(path));
  checkAmount(kept);
  const shared = commonDirectory(kept.map(({ path }) => path)).length;
  const files = kept.map(({ path, content }) => ({ path: path.slice(shared), content }));
  checkDistinct(files, (file) => given.indexOf(kept[file]!));
  if (!files.some(({ path }) => path === SKILL_MD)) {
    throw new SkillFault(`There is no ${SKILL_MD} at the top of the directory: a skill begins with one.`);
  }
  return sorted(files.map(skillFile));
}

export const sorted = (files: SkillFile[]): SkillFile[] =>
  files.sort((one, other) => comparePaths(one.path, other.path));

/** @param index of the file, where it is told by its place */
export function checkPath(path: string, index: number | null = null): void {
  const fault = faultOfPath(path);
  if (fault !== null) throw new SkillFault(`${shown(path)} ${fault}`, index);
}

function checkAmount(files: readonly GivenFile[]): void {
  if (files.length > FILES_MAX) throw tooManyFiles();
  if (files.reduce((sum, { content }) => sum + content.length, 0) > BYTES_MAX) throw tooManyBytes();
}

export const tooManyFiles = (): SkillFault => new SkillFault(`A skill may have at most ${FILES_MAX} files.`);

export const tooManyBytes = (): SkillFault =>
  new SkillFault(`A skill may have at most ${BYTES_MAX / 1024 / 1024} MiB, unpacked.`);

/** @param placeOf tells the place of a file among those that were given */
function checkDistinct(files: readonly GivenFile[], placeOf: (file: number) => number): void {
  const taken = new Map<string, string>();
  for (const [index, { path }] of files.entries()) {
    const folded = foldedPath(path);
    const other = taken.get(folded);
    if (other !== undefined) throw new SkillFault(sameAs(path, other), placeOf(index));
    taken.set(folded, path);
  }
  for (const [index, { path }] of files.entries()) {
    const folded = foldedPath(path);
    for (let at = folded.indexOf('/'); at >= 0; at = folded.indexOf('/', at + 1)) {
      const file = taken.get(folded.slice(0, at));
      if (file === undefined) continue;
      throw new SkillFault(`${shown(path)} lies in ${shown(file)}, which is a file`, placeOf(index));
    }
  }
}

const sameAs = (path: string, other: string): string =>
  path === other
    ? `${shown(path)} is there twice`
    : `${shown(path)} and ${shown(other)} cannot be told apart where names do not tell case, or how accents are written`;

const SHOWN_MAX = 100;

/** A path as it is told in a message. */
export function shown(path: string): string {
  const told = path.slice(0, SHOWN_MAX) + (path.length > SHOWN_MAX ? '…' : '');
  return `"${told.replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, '\uFFFD')}"`;
}

/**
 * SHA-256 over paths and contents, in hexadecimal: of each file, in the order of the paths' bytes, the length of its
 * path in UTF-8 (four bytes, the highest first), the path, and the SHA-256 of its content (32 bytes). So no two
 * directories come to the same bytes.
 *
 * @param files in that order
 */
export function sourceDigest(files: readonly SkillFile[]): string {
  const hash = createHash('sha256');
  for (const { path, sha256 } of files) {
    const name = Buffer.from(path);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(name.length);
    hash.update(length).update(name).update(sha256, 'hex');
  }
  return hash.digest('hex');
}
