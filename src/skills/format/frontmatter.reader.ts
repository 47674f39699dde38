import { type Document, isAlias, isMap, isScalar, isSeq, Lexer, parseDocument, Parser, visit } from 'yaml';
import { SkillFault } from './skill.fault';
import { SKILL_MD, shown } from './skill-files';

/** In UTF-16 units: some twenty times what the largest ones have. */
export const FRONTMATTER_MAX = 64 * 1024;

/** So that its parser, which calls itself for each level, ends, and soon. */
const TOKENS_MAX = 20_000;
const OPEN_MAX = 200;
/** In all mappings together: more than the metadata, at its largest, has room for. */
const NAMES_MAX = 3_000;

/** Values that are read, those that aliases repeat counted each time. */
const VALUES_MAX = 10_000;
const ALIASES_MAX = 100;
const DEPTH_MAX = 64;

/** What is unlike a number as JSON has it, such as `1.0` or `.inf`, is told as it is written. */
const asJson = (value: number): string => JSON.stringify(value);

/** YAML 1.2 as frontmatter has it: a mapping. Throws `SkillFault`. */
export function parseFrontmatter(text: string): Document {
  checkShape(text);
  const document = parseDocument(text, {
    version: '1.2',
    schema: 'core',
    prettyErrors: false,
    logLevel: 'silent',
    // it would compare each name with all others
    uniqueKeys: false,
  });
  const [error] = [...document.errors, ...document.warnings];
  if (error) throw unfit(`is not YAML: ${error.message.slice(0, 200)}`);
  if (!isMap(document.contents)) throw unfit('is no mapping of names to values');
  checkNames(document);
  return document;
}

/** No mapping has a name twice, be it of a member that nobody reads: other programs refuse that, or take either. */
function checkNames(document: Document): void {
  let count = 0;
  visit(document, {
    Map(_, { items }) {
      count += items.length;
      if (count > NAMES_MAX) throw unfit(`may have at most ${NAMES_MAX} names`);
      const names = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (names.has(key.value)) throw unfit(`has the name ${shown(String(key.value))} twice in a mapping`);
        names.add(key.value);
      }
    },
  });
}

/**
 * The parser's own stack is the process's, which a text of a few thousand brackets would end. Its lower half, which has
 * none, tells first how deep it goes.
 */
function checkShape(text: string): void {
  if (text.length > FRONTMATTER_MAX) throw unfit(`may have at most ${FRONTMATTER_MAX / 1024} KiB`);
  const parser = new Parser();
  let tokens = 0;
  for (const lexeme of new Lexer().lex(text)) {
    tokens++;
    Array.from(parser.next(lexeme));
    if (parser.stack.length > OPEN_MAX) throw unfit('is nested too deeply');
    if (tokens > TOKENS_MAX) throw unfit('has too many values');
  }
}

/** Reads what a frontmatter holds, as JSON has it. Throws `SkillFault` for what has no JSON form. */
export class FrontmatterReader {
  private values = 0;
  private aliases = 0;

  constructor(private readonly document: Document) {}

  /** The value of a member; null where there is none. @param member as it is written in the frontmatter */
  read(member: string): unknown {
    const node = isMap(this.document.contents) ? this.document.contents.get(member, true) : undefined;
    return node === undefined ? null : this.valueOf(node, member, 0);
  }

  private valueOf(node: unknown, member: string, depth: number): unknown {
    if (++this.values > VALUES_MAX) throw unfit('has too many values');
    if (depth > DEPTH_MAX) throw unfit('is nested too deeply');
    if (isScalar(node)) return scalarOf(node.value, node.source, member);
    if (isSeq(node)) return node.items.map((item) => this.valueOf(item, member, depth + 1));
    if (isMap(node)) return this.objectOf(node.items, member, depth);
    if (!isAlias(node)) return null;
    if (++this.aliases > ALIASES_MAX) throw unfit(`may have at most ${ALIASES_MAX} aliases`);
    return this.valueOf(node.resolve(this.document) ?? null, member, depth + 1);
  }

  private objectOf(
    items: readonly { key: unknown; value: unknown }[],
    member: string,
    depth: number,
  ): object {
    const members = new Map<string, unknown>();
    for (const { key, value } of items) {
      const name = isScalar(key) ? (typeof key.value === 'string' ? key.value : key.source) : undefined;
      if (name === undefined) throw unfit(`has a name in ${member} that is no text`);
      if (members.has(name)) throw unfit(`has a name in ${member} twice`);
      members.set(textIn(name, member), this.valueOf(value, member, depth + 1));
    }
    return Object.fromEntries(members);
  }
}

function scalarOf(value: unknown, source: string | undefined, member: string): unknown {
  if (typeof value === 'string') return textIn(value, member);
  if (typeof value === 'number' && asJson(value) !== source) return source ?? asJson(value);
  return typeof value === 'boolean' || typeof value === 'number' ? value : null;
}

function textIn(text: string, member: string): string {
  if (/[\0\p{Cs}]/u.test(text)) throw unfit(`has a NUL character or half of a character in ${member}`);
  return text;
}

export const unfit = (detail: string): SkillFault =>
  new SkillFault(`The frontmatter of ${SKILL_MD} ${detail}.`);
