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
import { quotedPath } from '../../resources';
import { SKILL_MD } from './skill-files';

/** In UTF-16 units. About twenty times the size of the largest real ones. */
export const FRONTMATTER_MAX = 64 * 1024;

/** Bounds the work of the parser, which recurses. Real frontmatters have some hundred tokens. */
const TOKENS_MAX = 8_000;
/** Spaces and line ends, of which a reformatted text has more. */
const BLANKS_MAX = 20_000;
const OPEN_MAX = 200;
/** The most names of all mappings together. */
const NAMES_MAX = 3_000;
/** The most aliases and comment lines, each of which takes longer than other tokens. */
export const ALIASES_MAX = 100;
const COMMENTS_MAX = 1_000;

const COUNTED = new Map([
  ['alias', { name: 'aliases', max: ALIASES_MAX }],
  ['comment', { name: 'comments', max: COMMENTS_MAX }],
]);

const BLANK = new Set<string | null>(['space', 'newline', 'scalar']);

/** Parses one YAML 1.2 document that is a mapping. Throws `SkillFault`. */
export function parseFrontmatter(text: string): Document {
  checkShape(text);
  const document = parseDocument(text, {
    version: '1.2',
    schema: 'core',
    prettyErrors: false,
    // A lower level would ignore a second document.
    logLevel: 'error',
    // The library's check compares each name with all others.
    uniqueKeys: false,
  });
  const [error] = [...document.errors, ...document.warnings];
  if (error?.code === 'MULTIPLE_DOCS')
    throw frontmatterFault('has more than one document. Remove the lines of ... in it');
  if (error) throw frontmatterFault(`is not valid YAML: ${error.message.slice(0, 200)}`);
  if (!isMap(document.contents)) throw frontmatterFault('is not a mapping of names to values');
  checkNames(document);
  checkAliases(document);
  return document;
}

/** Refuses duplicate names, also of unknown members, because other programs refuse them or read either. */
function checkNames(document: Document): void {
  let count = 0;
  visit(document, {
    Map(_, { items }) {
      count += items.length;
      if (count > NAMES_MAX) throw frontmatterFault(`can have at most ${NAMES_MAX} names`);
      const names = new Set<unknown>();
      for (const { key } of items) {
        // An alias could repeat a name.
        if (!isScalar(key))
          throw frontmatterFault('has a name that is an alias, a list or a mapping. Write it as a string');
        if (names.has(key.value))
          throw frontmatterFault(`has the name ${quotedPath(String(key.value))} twice in a mapping`);
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
        throw frontmatterFault(
          `has an alias of ${quotedPath(alias.source)}, which is not an anchor before it`,
        );
    },
  });
}

/** Returns the nodes that aliases stand for. Unknown aliases are left out. */
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

/** Returns a name of a mapping as the API shows it. A number is shown as written. Undefined for other nodes. */
export function nameIn(key: unknown): string | undefined {
  if (!isScalar(key)) return undefined;
  return typeof key.value === 'string' ? key.value : key.source;
}

/**
 * Checks nesting and token counts with the library's lexer first, because its parser recurses and a few thousand brackets
 * would overflow the stack.
 */
function checkShape(text: string): void {
  if (text.length > FRONTMATTER_MAX) throw frontmatterFault(`can have at most ${FRONTMATTER_MAX / 1024} KiB`);
  const parser = new Parser();
  const counter = new TokenCounter();
  for (const lexeme of new Lexer().lex(text)) {
    Array.from(parser.next(lexeme));
    if (parser.stack.length > OPEN_MAX) throw frontmatterFault('is nested too deeply');
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
    if (this.tokens > TOKENS_MAX || this.blanks > BLANKS_MAX) throw frontmatterFault('has too many values');
    const counted = COUNTED.get(type ?? '');
    if (type === null || !counted) return;
    const found = (this.counts.get(type) ?? 0) + 1;
    this.counts.set(type, found);
    if (found > counted.max) throw frontmatterFault(`can have at most ${counted.max} ${counted.name}`);
  }
}

export const frontmatterFault = (detail: string): SkillFault =>
  new SkillFault(`The frontmatter of ${SKILL_MD} ${detail}.`);
