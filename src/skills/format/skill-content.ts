import { foldedPath, sourceDigest } from '../../resources';
import {
  checkPath,
  directoryOf,
  type GivenFile,
  SKILL_MD,
  type SkillFile,
  skillFile,
  sorted,
} from './skill-files';
import { SkillFault } from './skill.fault';
import { SkillMd } from './skill-md';
import type { SkillMembers } from './skill-members';

/** The content of a version: its files and the members of its SKILL.md. */
export interface SkillContent {
  members: SkillMembers;
  /** Sorted by path. */
  files: SkillFile[];
  source_digest: string;
  file_count: number;
  size_bytes: number;
}

/** Returns the content of an uploaded directory. Throws `SkillFault`. */
export function contentOfDirectory(given: readonly GivenFile[]): SkillContent {
  const files = directoryOf(given);
  const { content } = files.find(({ path }) => path === SKILL_MD)!;
  return contentOf(SkillMd.read(content!).members, files);
}

/** Returns the content of members, from which SKILL.md is written, and further files. Throws `SkillFault`. */
export function contentOfMembers(members: SkillMembers, given: readonly GivenFile[]): SkillContent {
  for (const [index, { path }] of given.entries()) {
    checkPath(path, index);
    if (foldedPath(path) === foldedPath(SKILL_MD)) {
      throw new SkillFault(
        `${SKILL_MD} is written from the other members. To send your own, upload the directory.`,
        index,
      );
    }
  }
  const written = SkillMd.written(members);
  const files = directoryOf([...given, { path: SKILL_MD, content: written.bytes }]);
  return contentOf(written.members, files);
}

/** Returns the content of the files of a version with another SKILL.md. */
export function contentWith(skillMd: SkillMd, others: readonly SkillFile[]): SkillContent {
  const file = skillFile({ path: SKILL_MD, content: skillMd.bytes });
  const files = sorted([...others.filter(({ path }) => path !== SKILL_MD), file]);
  return contentOf(skillMd.members, files);
}

const contentOf = (members: SkillMembers, files: SkillFile[]): SkillContent => ({
  members,
  files,
  source_digest: sourceDigest(files),
  file_count: files.length,
  size_bytes: files.reduce((sum, { size_bytes }) => sum + size_bytes, 0),
});
