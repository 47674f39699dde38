import { isJsonObject } from '#platform/json';
import { SkillFault } from './skill.fault';
import { SKILL_MD } from './skill-files';

/** Words of lower-case letters and digits, separated by single hyphens. */
export const SKILL_NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

export const NAME_MAX = 64;
export const DESCRIPTION_MAX = 1_024;
export const LICENSE_MAX = 1_000;
export const COMPATIBILITY_MAX = 500;
export const TOOLS_MAX = 100;
export const TOOL_MAX = 255;

/** The maximum size as JSON, in bytes. */
const METADATA_MAX = 16 * 1024;

/** The members of a SKILL.md. */
export interface SkillMembers {
  name: string;
  description: string;
  license: string | null;
  compatibility: string | null;
  /** Null if SKILL.md does not mention tools. */
  allowed_tools: string[] | null;
  metadata: object;
  /** The text after the frontmatter. */
  instructions: string;
}

/** The members of the frontmatter. */
export type FrontmatterMembers = Omit<SkillMembers, 'instructions'>;

/** The names of the members in the frontmatter. */
export const FRONTMATTER_NAMES = {
  name: 'name',
  description: 'description',
  license: 'license',
  compatibility: 'compatibility',
  allowed_tools: 'allowed-tools',
  metadata: 'metadata',
} as const satisfies Record<keyof FrontmatterMembers, string>;

export type FrontmatterMember = keyof typeof FRONTMATTER_NAMES;

/** Reads and validates the members. Throws `SkillFault`. @param read returns the value of a name, or null */
export function readMembers(read: (name: string) => unknown): FrontmatterMembers {
  return {
    name: nameIn(read('name')),
    description: required('description', textIn('description', read('description'), DESCRIPTION_MAX)),
    license: textIn('license', read('license'), LICENSE_MAX),
    compatibility: textIn('compatibility', read('compatibility'), COMPATIBILITY_MAX),
    allowed_tools: toolsIn(read(FRONTMATTER_NAMES.allowed_tools)),
    metadata: metadataIn(read('metadata')),
  };
}

function nameIn(value: unknown): string {
  const name = required('name', textIn('name', value, NAME_MAX));
  if (SKILL_NAME.test(name)) return name;
  throw fault('name', 'must be words of lower-case letters and digits, with single hyphens between them');
}

function textIn(member: FrontmatterMember, value: unknown, max: number): string | null {
  if (value === null) return null;
  if (typeof value !== 'string') throw fault(member, 'must be a string. Put it in quotes');
  if (value.trim() === '') throw fault(member, 'must not be empty');
  if ([...value].length > max) throw fault(member, `can have at most ${max} characters`);
  return value;
}

function required(member: FrontmatterMember, value: string | null): string {
  if (value === null) throw fault(member, 'is required');
  return value;
}

/** Reads a list, or a string with spaces or commas between the tools. */
function toolsIn(value: unknown): string[] | null {
  if (value === null) return null;
  const tools = typeof value === 'string' ? toolsOf(value) : value;
  if (!Array.isArray(tools) || !tools.every((tool) => typeof tool === 'string')) {
    throw fault('allowed_tools', 'must be a string or a list of strings');
  }
  if (tools.length > TOOLS_MAX) throw fault('allowed_tools', `can have at most ${TOOLS_MAX} tools`);
  if (!tools.every(isTool)) {
    throw fault(
      'allowed_tools',
      `must have tools of 1 to ${TOOL_MAX} characters, with spaces and commas only in parentheses`,
    );
  }
  return tools;
}

/** Splits a string such as `Bash(git add:*), Read Grep` into tools. */
export function toolsOf(text: string): string[] {
  const tools: string[] = [];
  let tool = '';
  let open = 0;
  for (const character of text) {
    if (open === 0 && /[\s,]/.test(character)) {
      if (tool !== '') tools.push(tool);
      tool = '';
      continue;
    }
    if (character === '(') open++;
    if (character === ')' && open > 0) open--;
    tool += character;
  }
  return tool === '' ? tools : [...tools, tool];
}

/** Returns whether a string is exactly one tool, even when further tools follow it. */
export const isTool = (text: string): boolean => {
  if (text.length > TOOL_MAX || /\p{Cc}/u.test(text)) return false;
  const [first, second] = toolsOf(`${text} ${NEXT_TOOL}`);
  return first === text && second === NEXT_TOOL;
};

const NEXT_TOOL = 'x';

function metadataIn(value: unknown): object {
  if (value === null) return {};
  if (!isJsonObject(value)) throw fault('metadata', 'must be a mapping');
  if (Buffer.byteLength(JSON.stringify(value)) > METADATA_MAX) {
    throw fault('metadata', `can have at most ${METADATA_MAX / 1024} KiB as JSON`);
  }
  return value;
}

const fault = (member: FrontmatterMember, detail: string): SkillFault =>
  new SkillFault(
    `\`${FRONTMATTER_NAMES[member]}\` in the frontmatter of ${SKILL_MD} ${detail}.`,
    null,
    member,
  );
