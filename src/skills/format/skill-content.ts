import { foldedPath, sourceDigest } from '../../resources';
import {
  checkPath,
  directoryOf,
  type UploadedFile,
  SKILL_MD,
  type SkillFile,
  skillFile,
  sorted,
} from './skill-files';
import { isSystemFile } from './skill-path';
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

/** Returns the content of a directory. Throws `SkillFault`. @param isUpload whether to reject misspelt names of members */
export function contentOfDirectory(directory: readonly UploadedFile[], isUpload = false): SkillContent {
  const files = directoryOf(directory);
  const { content } = files.find(({ path }) => path === SKILL_MD)!;
  return contentOf(SkillMd.read(content!, isUpload).members, files);
}

/** Returns the content of a skill whose SKILL.md is written from members, with further files. Throws `SkillFault`. */
export function contentOfMembers(members: SkillMembers, others: readonly UploadedFile[]): SkillContent {
  for (const [index, { path }] of others.entries()) {
    if (!isSystemFile(path)) checkPath(path, index);
    if (foldedPath(path) === foldedPath(SKILL_MD)) {
      throw new SkillFault(
        `${SKILL_MD} is written from the other members. To send your own, upload the directory.`,
        index,
      );
    }
  }
  const skillMd = SkillMd.create(members);
  const files = directoryOf([...others, { path: SKILL_MD, content: skillMd.bytes }]);
  return contentOf(skillMd.members, files);
}

/** Returns the content of a version in which SKILL.md is replaced. */
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
