import {
  type Alias,
  CST,
  type Document,
  isMap,
  isNode,
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
import { adviceFor, lineAt } from './yaml-advice';

/** The maximum length of a frontmatter in UTF-16 code units, about twenty times that of the largest real ones. */
export const FRONTMATTER_MAX = 64 * 1024;

/** The maximum number of tokens, because the parser recurses. Real frontmatters have a few hundred. */
const TOKENS_MAX = 8_000;
/** The maximum number of spaces and line ends. Higher than `TOKENS_MAX`, because reformatting adds many of them. */
const BLANKS_MAX = 20_000;
const OPEN_MAX = 200;
/** The maximum number of names in all mappings together. */
const NAMES_MAX = 3_000;
/** The maximum numbers of aliases and comment lines, which are slower to parse than other tokens. */
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
    throw frontmatterFault(
      'contains more than one document. Remove the document markers (--- or ...) within it',
    );
  if (error) {
    const advice = adviceFor(text, document, error);
    throw frontmatterFault(`is not valid YAML: ${error.message.slice(0, 200)}, ${advice}`);
  }
  if (!isMap(document.contents)) throw frontmatterFault('must be a mapping of names to values');
  checkNames(document, text);
  checkAliases(document, text);
  return document;
}

/** Rejects duplicate names, even of unknown members, because other programs reject them or read either one. */
function checkNames(document: Document, text: string): void {
  let count = 0;
  visit(document, {
    Map(_, { items }) {
      count += items.length;
      if (count > NAMES_MAX) throw frontmatterFault(`can have at most ${NAMES_MAX} names`);
      const names = new Set<unknown>();
      for (const { key } of items) {
        // An alias could repeat a name.
        if (!isScalar(key))
          throw frontmatterFault(
            `has a name that is an alias, a list or a mapping, in line ${lineOf(text, key)}. Write it as a string. If it is part of a text, put that text in quotes`,
          );
        if (names.has(key.value))
          throw frontmatterFault(
            `has the name ${quotedPath(String(key.value))} twice in a mapping, in line ${lineOf(text, key)}`,
          );
        names.add(key.value);
      }
    },
  });
}

const lineOf = (text: string, node: unknown): number =>
  lineAt(text, isNode(node) ? (node.range?.[0] ?? 0) : 0);

function checkAliases(document: Document, text: string): void {
  const targets = aliasTargets(document);
  visit(document, {
    Alias(_, alias) {
      if (!targets.has(alias))
        throw frontmatterFault(
          `has the alias ${quotedPath(alias.source)} without an earlier anchor of that name, in line ${lineOf(text, alias)}. If it is a text, put it in quotes`,
        );
    },
  });
}

/** Returns the nodes that aliases refer to. Omits unknown aliases. */
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

/** Returns a name of a mapping as the API shows it: a number as written. Returns undefined for nodes that are not scalar. */
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
    const count = (this.counts.get(type) ?? 0) + 1;
    this.counts.set(type, count);
    if (count > counted.max) throw frontmatterFault(`can have at most ${counted.max} ${counted.name}`);
  }
}

export const frontmatterFault = (detail: string): SkillFault =>
  new SkillFault(`The frontmatter of ${SKILL_MD} ${detail.replace(/\.$/, '')}.`);
