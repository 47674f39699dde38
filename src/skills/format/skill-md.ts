import { Document } from 'yaml';
import { canonicalJson } from '#platform/json';
import { FrontmatterEditor } from './frontmatter.editor';
import { FRONTMATTER_MAX, parseFrontmatter, frontmatterFault } from './frontmatter.parser';
import { FrontmatterReader } from './frontmatter.reader';
import { SkillFault } from './skill.fault';
import { SKILL_MD } from './skill-files';
import {
  FRONTMATTER_NAMES,
  type FrontmatterMember,
  type FrontmatterMembers,
  readMembers,
  type SkillMembers,
} from './skill-members';

/** The maximum size of a SKILL.md in bytes. */
export const SKILL_MD_MAX = 1024 * 1024;

/** A prefix of a SKILL.md of this many bytes contains its whole frontmatter, whatever the characters. */
export const FRONTMATTER_BYTES = 4 * (FRONTMATTER_MAX + 64);

const BYTE_ORDER_MARK = '\uFEFF';
const FENCE = '---';

/** Writes each member on one line, without folding. */
const YAML_OPTIONS = { lineWidth: 0, flowCollectionPadding: false } as const;

/** A SKILL.md in the Agent Skills format: YAML between two lines of `---`, then Markdown. */
export class SkillMd {
  readonly members: SkillMembers;

  private constructor(
    readonly bytes: Buffer,
    private readonly parts: Parts,
    private readonly document: Document,
    frontmatter: FrontmatterMembers,
  ) {
    this.members = { ...frontmatter, instructions: instructionsIn(parts) };
  }

  /** Reads a SKILL.md. Throws `SkillFault`. @param isUpload whether to reject misspelt names of members */
  static read(bytes: Buffer, isUpload = false): SkillMd {
    if (bytes.length > SKILL_MD_MAX) throw new SkillFault(TOO_LARGE, null, 'instructions');
    const text = textOf(bytes);
    if (text.includes('\0')) throw new SkillFault(`${SKILL_MD} must not contain NUL characters.`);
    const parts = partsOf(text);
    const document = parseFrontmatter(parts.frontmatter);
    const reader = new FrontmatterReader(document);
    if (isUpload) reader.checkSpelling();
    return new SkillMd(
      bytes,
      parts,
      document,
      readMembers((name) => reader.read(name)),
    );
  }

  /**
   * Returns the frontmatter of a stored SKILL.md as written, including unknown members. Returns null if JSON cannot represent
   * it, or if it has aliases, which could expand it to any size.
   *
   * @param bytes at least its first `FRONTMATTER_BYTES`
   */
  static frontmatterOf(bytes: Buffer): Record<string, unknown> | null {
    try {
      const document = parseFrontmatter(partsOf(bytes.toString('utf8')).frontmatter);
      const value = document.toJS({ maxAliasCount: 0 }) as Record<string, unknown>;
      return hasOnlyJson(value) ? value : null;
    } catch {
      return null;
    }
  }

  /** Creates a SKILL.md from members. Throws `SkillFault` for members that exceed its limits. */
  static create(input: SkillMembers): SkillMd {
    const { instructions, ...members } = withPlainZeros(input);
    const document = new Document({});
    const editor = new FrontmatterEditor(document);
    for (const member of MEMBERS) editor.put(member, members[member]);
    return readBack({ ...members, instructions }, document, NOT_WRITABLE, (frontmatter) => ({
      mark: '',
      opening: `${FENCE}\n`,
      frontmatter,
      closing: `${FENCE}\n`,
      body: `\n${instructions}`,
    }));
  }

  /**
   * Returns the SKILL.md with changed members. Unknown members, comments and the order stay as written. Throws `SkillFault`
   * like `create`, and for a frontmatter that cannot be edited.
   */
  edit(input: SkillMembers): SkillMd {
    const changed = withPlainZeros(input);
    const document = this.document.clone();
    const editor = new FrontmatterEditor(document);
    const differing = MEMBERS.filter(
      (member) => canonicalJson(changed[member]) !== canonicalJson(this.members[member]),
    );
    for (const member of differing) {
      if (member === 'metadata') editor.putMetadata(this.members.metadata, changed.metadata);
      else editor.put(member, changed[member]);
    }
    if (!editor.keepsAliases()) throw new SkillFault(NOT_EDITABLE);
    const { parts } = this;
    const isWindows = parts.opening.endsWith('\r\n');
    const body =
      changed.instructions === this.members.instructions
        ? parts.body
        : `${isWindows ? '\r\n' : '\n'}${changed.instructions}`;
    // The file may end with the fence.
    const closing = body === '' || parts.closing.endsWith('\n') ? parts.closing : `${FENCE}\n`;
    return readBack(changed, document, NOT_EDITABLE, (written) => ({
      ...parts,
      frontmatter:
        differing.length === 0 ? parts.frontmatter : isWindows ? written.replace(/\r?\n/g, '\r\n') : written,
      closing,
      body,
    }));
  }
}

/** The maximum nesting of a frontmatter that is shown as JSON, the same as for request bodies. */
const DEPTH_MAX = 64;

/** Returns whether JSON can represent all values: no infinite number and no NaN. */
const hasOnlyJson = (value: unknown, depth = 0): boolean =>
  typeof value === 'object' && value !== null
    ? depth < DEPTH_MAX && Object.values(value).every((one) => hasOnlyJson(one, depth + 1))
    : typeof value !== 'number' || Number.isFinite(value);

const MEMBERS = Object.keys(FRONTMATTER_NAMES) as FrontmatterMember[];

const TOO_LARGE = `${SKILL_MD} can have at most ${SKILL_MD_MAX / 1024 / 1024} MiB.`;

/** The parts of a SKILL.md in order. Joined, they form the whole text. */
interface Parts {
  /** A byte order mark, or an empty string. */
  mark: string;
  /** The fence lines, with their line ends. */
  opening: string;
  frontmatter: string;
  closing: string;
  body: string;
}

function textOf(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new SkillFault(`${SKILL_MD} must be UTF-8.`);
  }
}

function partsOf(text: string): Parts {
  const mark = text.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : '';
  const opening = fenceAt(text, mark.length);
  if (opening === null || !opening.endsWith('\n')) {
    throw new SkillFault(
      `${SKILL_MD} must begin with a line \`---\`, and its frontmatter must end with another such line.`,
    );
  }
  const from = mark.length + opening.length;
  // Search no further than the limit of a frontmatter.
  const searched = text.slice(from - 1, from + FRONTMATTER_MAX + FENCE.length + 1);
  for (let at = searched.indexOf(`\n${FENCE}`); at >= 0; at = searched.indexOf(`\n${FENCE}`, at + 1)) {
    const end = from + at;
    const closing = fenceAt(text, end);
    if (closing === null) continue;
    return {
      mark,
      opening,
      frontmatter: text.slice(from, end),
      closing,
      body: text.slice(end + closing.length),
    };
  }
  throw frontmatterFault(`must end with a line of --- within ${FRONTMATTER_MAX / 1024} KiB`);
}

/** Returns the fence line at an offset with its line end, or null. */
function fenceAt(text: string, at: number): string | null {
  if (!text.startsWith(FENCE, at)) return null;
  let end = at + FENCE.length;
  while (text[end] === ' ' || text[end] === '\t') end++;
  if (text[end] === '\r' && text[end + 1] === '\n') end++;
  return end >= text.length || text[end] === '\n' ? text.slice(at, end + 1) : null;
}

/** Returns the body without the blank line after the frontmatter. */
const instructionsIn = ({ body }: Parts): string => body.replace(/^\r?\n/, '');

/** Replaces -0 by 0, as JSON does. YAML would keep -0, and the API would show it as a string. */
const withPlainZeros = (members: SkillMembers): SkillMembers => ({
  ...members,
  metadata: JSON.parse(JSON.stringify(members.metadata)) as object,
});

/** Writes a SKILL.md and reads it back. Throws `SkillFault` with `errorDetail` if its members differ from the wanted ones. */
function readBack(
  expected: SkillMembers,
  document: Document,
  errorDetail: string,
  partsWith: (frontmatter: string) => Parts,
): SkillMd {
  const { mark, opening, frontmatter, closing, body } = partsWith(toYaml(document, errorDetail));
  const read = SkillMd.read(Buffer.from(mark + opening + frontmatter + closing + body));
  if (canonicalJson(read.members) !== canonicalJson(expected)) throw new SkillFault(errorDetail);
  return read;
}

function toYaml(document: Document, errorDetail: string): string {
  try {
    return document.toString(YAML_OPTIONS);
  } catch {
    throw new SkillFault(errorDetail);
  }
}

const NOT_EDITABLE = `The frontmatter of ${SKILL_MD} cannot be edited because of its anchors or its form. Upload the directory with a new ${SKILL_MD}.`;
const NOT_WRITABLE = `${SKILL_MD} cannot represent these members. Upload the directory with a new ${SKILL_MD}.`;
