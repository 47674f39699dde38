import { contentBytes } from '#platform/http';
import { problem } from '#platform/problem';
import { contentOfMembers, type SkillContent } from '../format/skill-content';
import { SkillFault } from '../format/skill.fault';
import type { SkillSpecDto } from './skill-spec.dto';

/** Returns the content of a skill in a JSON body. Errors: 400, with pointers into the body. */
export function contentOfSpec(name: string, spec: SkillSpecDto): SkillContent {
  const files = (spec.files ?? []).map((file, index) => ({
    path: file.path,
    content: contentBytes(file, `/files/${index}`),
  }));
  const { description, instructions, license, compatibility, allowed_tools, metadata } = spec;
  const members = {
    name,
    description,
    instructions,
    license: license ?? null,
    compatibility: compatibility ?? null,
    allowed_tools: allowed_tools ?? null,
    metadata: metadata ?? {},
  };
  try {
    return contentOfMembers(members, files);
  } catch (error) {
    if (!(error instanceof SkillFault)) throw error;
    const { file, member, detail } = error;
    const pointer = file === null ? (member === null ? '' : `/${member}`) : `/files/${file}/path`;
    throw problem.invalidField(pointer, detail);
  }
}
