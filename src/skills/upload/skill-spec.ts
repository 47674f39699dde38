import { decodeBase64 } from '#platform/http';
import { Problem, problem } from '#platform/problem';
import { contentOfMembers, type SkillContent } from '../format/skill-content';
import type { UploadedFile } from '../format/skill-files';
import { SkillFault } from '../format/skill.fault';
import type { SkillFileInputDto, SkillSpecDto } from './skill-spec.dto';

/** Returns the content of a skill in a JSON body. Errors: 400, with pointers into the body. */
export function contentOfSpec(name: string, spec: SkillSpecDto): SkillContent {
  const files = (spec.files ?? []).map((file, index) => decoded(file, `/files/${index}`));
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
    throw problem.invalidFields([{ pointer, detail }]);
  }
}

function decoded({ path, content, encoding }: SkillFileInputDto, pointer: string): UploadedFile {
  if (encoding !== 'base64') return { path, content: Buffer.from(content) };
  try {
    return { path, content: decodeBase64(content) };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const detail = 'must be base64 with padding (RFC 4648, section 4)';
    throw new Problem(error.code, `${pointer}/content ${detail}.`, {
      errors: [{ pointer: `${pointer}/content`, detail }],
    });
  }
}
