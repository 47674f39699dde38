import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { clashOf, comparePaths, faultOfPath, quotedPath } from '../../resources';
import { SkillFault } from './skill.fault';
import { commonDirectory, isSystemFile } from './skill-path';

/** The limits of one version. */
export const FILES_MAX = 1_000;
export const BYTES_MAX = 32 * 1024 * 1024;

/** The file that makes a directory a skill. */
export const SKILL_MD = 'SKILL.md';

/** A file in an upload or a package. */
export interface UploadedFile {
  path: string;
  content: Buffer;
}

/** A file of a version. */
export interface SkillFile {
  path: string;
  /** SHA-256 of the content, in hexadecimal. */
  sha256: string;
  crc32: number;
  size_bytes: number;
  /** Absent for a file of an earlier version, whose content is already stored. */
  content?: Buffer;
}

export const skillFile = ({ path, content }: UploadedFile): SkillFile => ({
  path,
  sha256: createHash('sha256').update(content).digest('hex'),
  crc32: crc32(content),
  size_bytes: content.length,
  content,
});

/**
 * Returns the files of a skill, sorted by path and without the parent directories that all of them share. Throws
 * `SkillFault` for an invalid path, paths that some file systems cannot tell apart, a file within a file, too many files or
 * bytes, and a missing SKILL.md.
 */
export function directoryOf(uploaded: readonly UploadedFile[]): SkillFile[] {
  const own = uploaded
    .map(({ path, content }, index) => ({ path, content, index }))
    .filter(({ path }) => !isSystemFile(path));
  checkAmount(own);
  for (const { path, index } of own) checkPath(path, index);
  const shared = commonDirectory(own.map(({ path }) => path)).length;
  const files = own.map(({ path, content }) => ({ path: path.slice(shared), content }));
  checkDistinct(files, (file) => own[file]!.index);
  if (!files.some(({ path }) => path === SKILL_MD)) {
    throw new SkillFault(`There is no ${SKILL_MD} at the top of the directory. ${adviceFor(files)}`);
  }
  return sorted(files.map(skillFile));
}

/** The maximum number of directories that an advice names. */
const NAMED_MAX = 5;

/** Says what to do about files without a SKILL.md at the top. */
function adviceFor(files: readonly UploadedFile[]): string {
  const other = files.find(({ path }) => path.toLowerCase() === SKILL_MD.toLowerCase());
  if (other) return `Rename ${quotedPath(other.path)}.`;
  const directories = files
    .filter(({ path }) => path.endsWith(`/${SKILL_MD}`))
    .map(({ path }) => quotedPath(path.slice(0, -SKILL_MD.length)));
  if (directories.length === 0) return 'Every skill needs one.';
  const names = directories.slice(0, NAMED_MAX).join(', ');
  const more = directories.length > NAMED_MAX ? ` and ${directories.length - NAMED_MAX} more` : '';
  return `These directories have one: ${names}${more}. Upload each skill separately.`;
}

export const sorted = (files: SkillFile[]): SkillFile[] =>
  files.sort((one, other) => comparePaths(one.path, other.path));

/** @param index the file's place in the upload, or null */
export function checkPath(path: string, index: number | null = null): void {
  const fault = faultOfPath(path);
  if (fault !== null) throw new SkillFault(`${quotedPath(path)} ${fault}`, index);
}

function checkAmount(files: readonly UploadedFile[]): void {
  if (files.length > FILES_MAX) throw tooManyFiles();
  if (files.reduce((sum, { content }) => sum + content.length, 0) > BYTES_MAX) throw tooManyBytes();
}

export const tooManyFiles = (): SkillFault => new SkillFault(`A skill can have at most ${FILES_MAX} files.`);

export const tooManyBytes = (): SkillFault =>
  new SkillFault(`A skill can have at most ${BYTES_MAX / 1024 / 1024} MiB, unpacked.`);

/** @param indexOf returns the index of a file in the upload */
function checkDistinct(files: readonly UploadedFile[], indexOf: (file: number) => number): void {
  const clash = clashOf(files.map(({ path }) => path));
  if (clash) throw new SkillFault(clash.detail, indexOf(clash.index));
}
