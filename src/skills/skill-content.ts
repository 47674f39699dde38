import {
  checkPath,
  directoryOf,
  type GivenFile,
  SKILL_MD,
  type SkillFile,
  skillFile,
  sorted,
  sourceDigest,
} from './format/skill-files';
import { SkillFault } from './format/skill.fault';
import { SkillMd } from './format/skill-md';
import type { SkillMembers } from './format/skill-members';
import { foldedPath } from './format/skill-path';

/** What a version holds: all of its files, and what its SKILL.md says. */
export interface SkillContent {
  members: SkillMembers;
  /** In the order of their paths. */
  files: SkillFile[];
  source_digest: string;
  file_count: number;
  size_bytes: number;
}

/** Of a directory that is sent. Throws `SkillFault`. */
export function contentOfDirectory(given: readonly GivenFile[]): SkillContent {
  const files = directoryOf(given);
  const { content } = files.find(({ path }) => path === SKILL_MD)!;
  return contentOf(SkillMd.read(content!).members, files);
}

/** Of members, from which a SKILL.md is written, and further files. Throws `SkillFault`. */
export function contentOfMembers(members: SkillMembers, given: readonly GivenFile[]): SkillContent {
  for (const [index, { path }] of given.entries()) {
    checkPath(path, index);
    if (foldedPath(path) === foldedPath(SKILL_MD)) {
      throw new SkillFault(
        `${SKILL_MD} is written from the other members: to send your own, upload the directory`,
        index,
      );
    }
  }
  const written = SkillMd.written(members);
  const files = directoryOf([...given, { path: SKILL_MD, content: written.bytes }]);
  return contentOf(written.members, files);
}

/** The same files with another SKILL.md. @param others those of the version before, which are kept */
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
