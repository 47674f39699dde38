import { Document } from 'yaml';
import { canonicalJson } from '#platform/json';
import { FrontmatterEditor } from './frontmatter.editor';
import { FRONTMATTER_MAX, parseFrontmatter, unfit } from './frontmatter.parser';
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

/** In bytes. */
export const SKILL_MD_MAX = 1024 * 1024;

const BYTE_ORDER_MARK = '\uFEFF';
const FENCE = '---';

/** One line for each member: nothing is folded that was not before. */
const WRITTEN = { lineWidth: 0, flowCollectionPadding: false } as const;

/** A SKILL.md of the Agent Skills format: YAML between two lines of `---`, and Markdown. */
export class SkillMd {
  readonly members: SkillMembers;

  private constructor(
    /** As it is kept. */
    readonly bytes: Buffer,
    private readonly parts: Parts,
    private readonly document: Document,
    frontmatter: FrontmatterMembers,
  ) {
    this.members = { ...frontmatter, instructions: instructionsIn(parts) };
  }

  /** Throws `SkillFault` for what is not of the format. */
  static read(bytes: Buffer): SkillMd {
    if (bytes.length > SKILL_MD_MAX) throw new SkillFault(TOO_LARGE, null, 'instructions');
    const text = textOf(bytes);
    if (text.includes('\0')) throw new SkillFault(`${SKILL_MD} may not hold a NUL character.`);
    const parts = partsOf(text);
    const document = parseFrontmatter(parts.frontmatter);
    const reader = new FrontmatterReader(document);
    return new SkillMd(
      bytes,
      parts,
      document,
      readMembers((name) => reader.read(name)),
    );
  }

  /** A new one. Throws `SkillFault` for what it has no room for. */
  static written(given: SkillMembers): SkillMd {
    const { instructions, ...members } = withPlainZeros(given);
    const document = new Document({});
    const editor = new FrontmatterEditor(document);
    for (const member of MEMBERS) editor.put(member, members[member]);
    return checked({ ...members, instructions }, document, NOT_WRITABLE, (frontmatter) => ({
      mark: '',
      opening: `${FENCE}\n`,
      frontmatter,
      closing: `${FENCE}\n`,
      body: `\n${instructions}`,
    }));
  }

  /**
   * The same with other members. What is not changed stays as it is written: members that nobody knows, comments,
   * the order, and, where the frontmatter changes nothing, all of it. Throws `SkillFault` as `written` does, and where its form
   * stands in the way.
   */
  edited(given: SkillMembers): SkillMd {
    const changed = withPlainZeros(given);
    const document = this.document.clone();
    const editor = new FrontmatterEditor(document);
    const others = MEMBERS.filter(
      (member) => canonicalJson(changed[member]) !== canonicalJson(this.members[member]),
    );
    for (const member of others) {
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
    // a file may end with its fence
    const closing = body === '' || parts.closing.endsWith('\n') ? parts.closing : `${FENCE}\n`;
    return checked(changed, document, NOT_EDITABLE, (written) => ({
      ...parts,
      frontmatter:
        others.length === 0 ? parts.frontmatter : isWindows ? written.replace(/\r?\n/g, '\r\n') : written,
      closing,
      body,
    }));
  }
}

const MEMBERS = Object.keys(FRONTMATTER_NAMES) as FrontmatterMember[];

const TOO_LARGE = `${SKILL_MD} may have at most ${SKILL_MD_MAX / 1024 / 1024} MiB.`;

/** A text, and nothing of it lost: its parts follow each other. */
interface Parts {
  /** A byte order mark, or nothing. */
  mark: string;
  /** The lines of the fences, each with its end. */
  opening: string;
  frontmatter: string;
  closing: string;
  body: string;
}

function textOf(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new SkillFault(`${SKILL_MD} must be text in UTF-8.`);
  }
}

function partsOf(text: string): Parts {
  const mark = text.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : '';
  const opening = fenceAt(text, mark.length);
  if (opening === null || !opening.endsWith('\n')) {
    throw new SkillFault(`${SKILL_MD} must begin with a line of --- and end its frontmatter with another.`);
  }
  const from = mark.length + opening.length;
  // what is longer than a frontmatter may be is not looked through
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
  throw unfit(`has no end within ${FRONTMATTER_MAX / 1024} KiB: a line of ---`);
}

/** The line of a fence, with its end; null where there is none. */
function fenceAt(text: string, at: number): string | null {
  if (!text.startsWith(FENCE, at)) return null;
  let end = at + FENCE.length;
  while (text[end] === ' ' || text[end] === '\t') end++;
  if (text[end] === '\r' && text[end + 1] === '\n') end++;
  return end >= text.length || text[end] === '\n' ? text.slice(at, end + 1) : null;
}

/** Without the blank line that divides them from the frontmatter. */
const instructionsIn = ({ body }: Parts): string => body.replace(/^\r?\n/, '');

/** -0 is 0 in JSON as most read it, and in YAML another number, which would be told as a text. */
const withPlainZeros = (members: SkillMembers): SkillMembers => ({
  ...members,
  metadata: JSON.parse(JSON.stringify(members.metadata)) as object,
});

/** Reads what was written again: what does not say what was asked for is not kept. */
function checked(
  wanted: SkillMembers,
  document: Document,
  otherwise: string,
  partsWith: (frontmatter: string) => Parts,
): SkillMd {
  const { mark, opening, frontmatter, closing, body } = partsWith(writtenBy(document, otherwise));
  const read = SkillMd.read(Buffer.from(mark + opening + frontmatter + closing + body));
  if (canonicalJson(read.members) !== canonicalJson(wanted)) throw new SkillFault(otherwise);
  return read;
}

function writtenBy(document: Document, otherwise: string): string {
  try {
    return document.toString(WRITTEN);
  } catch {
    throw new SkillFault(otherwise);
  }
}

const NOT_EDITABLE = `The frontmatter of ${SKILL_MD} cannot be changed a member at a time, because of its anchors or its form: upload the directory with another.`;
const NOT_WRITABLE = `${SKILL_MD} cannot be written of these members so that it says the same: upload the directory with one of your own.`;
