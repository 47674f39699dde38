import { Base64Decoder } from '#platform/http';
import { Problem, problem } from '#platform/problem';
import type { GivenFile } from '../format/skill-files';
import { SkillFault } from '../format/skill.fault';
import { contentOfMembers, type SkillContent } from '../skill-content';
import type { SkillFileInputDto, SkillSpecDto } from '../skill-members.dto';

/** What a skill holds that is given as JSON. Errors: 400, with pointers into it. */
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
    throw error instanceof SkillFault ? ofSpec(error) : error;
  }
}

function decoded({ path, content, encoding }: SkillFileInputDto, pointer: string): GivenFile {
  if (encoding !== 'base64') return { path, content: Buffer.from(content) };
  try {
    const decoder = new Base64Decoder();
    const bytes = decoder.decode(Buffer.from(content));
    decoder.end();
    return { path, content: bytes };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const detail = 'must be base64 as of RFC 4648, section 4, with its padding';
    throw new Problem(error.code, `${pointer}/content ${detail}.`, {
      errors: [{ pointer: `${pointer}/content`, detail }],
    });
  }
}

/** 400 for a fault of what was given as JSON. */
function ofSpec({ file, member, detail }: SkillFault): Problem {
  const pointer = file === null ? (member === null ? '' : `/${member}`) : `/files/${file}/path`;
  return problem.invalidFields([{ pointer, detail }]);
}

/** 400 for a fault of a directory: the body as a whole has it. */
export const ofBody = ({ detail, cause }: SkillFault): Problem =>
  problem.invalidRequest(detail.endsWith('.') ? detail : `${detail}.`, { cause });
