import {
  type Alias,
  CST,
  type Document,
  isMap,
  isScalar,
  Lexer,
  type Node,
  parseDocument,
  Parser,
  visit,
} from 'yaml';
import { SkillFault } from './skill.fault';
import { SKILL_MD, shown } from './skill-files';

/** In UTF-16 units: some twenty times what the largest ones have. */
export const FRONTMATTER_MAX = 64 * 1024;

/** So that its parser, which calls itself for each level, ends, and soon: real ones have some hundred tokens. */
const TOKENS_MAX = 8_000;
/** Blanks and line ends, of which what is laid out anew has more. */
const BLANKS_MAX = 20_000;
const OPEN_MAX = 200;
/** In all mappings together. */
const NAMES_MAX = 3_000;
/** In all of the text, whoever reads them: each of them, and each line of comments, takes longer than other tokens. */
export const ALIASES_MAX = 100;
const COMMENTS_MAX = 1_000;

const COUNTED = new Map([
  ['alias', { what: 'aliases', max: ALIASES_MAX }],
  ['comment', { what: 'comments', max: COMMENTS_MAX }],
]);

const BLANK = new Set<string | null>(['space', 'newline', 'scalar']);

/** YAML 1.2 as frontmatter has it: one document, a mapping. Throws `SkillFault`. */
export function parseFrontmatter(text: string): Document {
  checkShape(text);
  const document = parseDocument(text, {
    version: '1.2',
    schema: 'core',
    prettyErrors: false,
    // any less, and a second document would be passed over
    logLevel: 'error',
    // it would compare each name with all others
    uniqueKeys: false,
  });
  const [error] = [...document.errors, ...document.warnings];
  if (error?.code === 'MULTIPLE_DOCS') throw unfit('has more than one document: a line of ... ends it');
  if (error) throw unfit(`is not YAML: ${error.message.slice(0, 200)}`);
  if (!isMap(document.contents)) throw unfit('is no mapping of names to values');
  checkNames(document);
  checkAliases(document);
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
        // an alias could repeat a name, and lists and mappings are none
        if (!isScalar(key)) throw unfit('has a name that is an alias, a list or a mapping: write it out');
        if (names.has(key.value)) throw unfit(`has the name ${shown(String(key.value))} twice in a mapping`);
        names.add(key.value);
      }
    },
  });
}

function checkAliases(document: Document): void {
  const targets = aliasTargets(document);
  visit(document, {
    Alias(_, alias) {
      if (!targets.has(alias))
        throw unfit(`has an alias of ${shown(alias.source)}, which nothing before it is`);
    },
  });
}

/** What aliases stand for, by one walk; those that stand for nothing are not there. */
export function aliasTargets(document: Document): Map<Alias, Node> {
  const anchored = new Map<string, Node>();
  const targets = new Map<Alias, Node>();
  visit(document, {
    Value(_, node) {
      if (node.anchor) anchored.set(node.anchor, node);
    },
    Alias(_, alias) {
      const target = anchored.get(alias.source);
      if (target) targets.set(alias, target);
    },
  });
  return targets;
}

/** A name in a mapping as it is told: what is no text, such as a number, as it is written. Undefined for what is none. */
export function nameIn(key: unknown): string | undefined {
  if (!isScalar(key)) return undefined;
  return typeof key.value === 'string' ? key.value : key.source;
}

/**
 * The parser's own stack is the process's, which a text of a few thousand brackets would end. Its lower half, which has
 * none, tells first how deep it goes.
 */
function checkShape(text: string): void {
  if (text.length > FRONTMATTER_MAX) throw unfit(`may have at most ${FRONTMATTER_MAX / 1024} KiB`);
  const parser = new Parser();
  const counter = new TokenCounter();
  for (const lexeme of new Lexer().lex(text)) {
    Array.from(parser.next(lexeme));
    if (parser.stack.length > OPEN_MAX) throw unfit('is nested too deeply');
    counter.add(lexeme);
  }
}

class TokenCounter {
  private readonly counts = new Map<string, number>();
  private tokens = 0;
  private blanks = 0;

  add(lexeme: string): void {
    const type = CST.tokenType(lexeme);
    if (BLANK.has(type)) this.blanks++;
    else this.tokens++;
    if (this.tokens > TOKENS_MAX || this.blanks > BLANKS_MAX) throw unfit('has too many values');
    const counted = COUNTED.get(type ?? '');
    if (type === null || !counted) return;
    const found = (this.counts.get(type) ?? 0) + 1;
    this.counts.set(type, found);
    if (found > counted.max) throw unfit(`may have at most ${counted.max} ${counted.what}`);
  }
}

export const unfit = (detail: string): SkillFault =>
  new SkillFault(`The frontmatter of ${SKILL_MD} ${detail}.`);
