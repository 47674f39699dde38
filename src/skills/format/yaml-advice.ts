import { type Document, visit } from 'yaml';

/** The maximum length of a value in an advice, in characters. */
const VALUE_MAX = 80;

/** A fault of YAML, at an offset in its text. */
export interface YamlFault {
  code: string;
  pos: readonly [number, number];
}

/** A line with a name and a value that starts on it, and is no block of further lines. */
const NAME_AND_VALUE = /^\s*(?:- +)?([^\s:#"'[{][^:]*):[ \t]+([^\s|>].*?)\s*$/;

/** Returns the line of a SKILL.md with an offset in its frontmatter, which begins on the second line. */
export const lineAt = (text: string, offset: number): number => text.slice(0, offset).split('\n').length + 1;

/** Returns where the YAML of a frontmatter is wrong, and what to do about it. */
export function adviceFor(text: string, document: Document, fault: YamlFault): string {
  const isUnclosed = fault.code === 'MISSING_CHAR' && fault.pos[0] >= text.trimEnd().length;
  // The parser reports the end of the text.
  const offset = isUnclosed ? lastQuote(document) : fault.pos[0];
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  const [line = ''] = text.slice(start).split('\n', 1);
  return `in line ${lineAt(text, offset)}. ${remedyFor(fault.code, line, text.slice(start + line.length + 1))}`.trim();
}

function remedyFor(code: string, line: string, following: string): string {
  if (code === 'TAB_AS_INDENT') return 'Indent with spaces.';
  if (code === 'MULTILINE_IMPLICIT_KEY') return 'Indent the line if it continues the value above it.';
  // A list or mapping that is not closed, which quotes do not correct.
  if (code === 'BAD_INDENT') return '';
  if (/^\s*[\w-]+:[^\s:]/.test(line)) return 'Put a space after the colon.';
  const [, name, value] = NAME_AND_VALUE.exec(line) ?? [];
  if (name === undefined || value === undefined) return '';
  if (code === 'BLOCK_AS_IMPLICIT_KEY' && /^[ \t]+\S/.test(following) && !/:(\s|$)|^[?-]\s/.test(value)) {
    return 'Indent the line after it like the others.';
  }
  return quoteAdvice(name, value);
}

/** Says how to put a value in quotes. */
export function quoteAdvice(name: string, value: string): string {
  const [, , inner] = /^(["'])(.*)\1$/.exec(value) ?? [];
  const text = visible(inner ?? value);
  const excerpt = text.length > VALUE_MAX ? `${text.slice(0, VALUE_MAX)}…` : text;
  return `Put the value of \`${visible(name)}\` in quotes: \`${visible(name)}: ${JSON.stringify(excerpt)}\`.`;
}

const visible = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, '\uFFFD');

/** Returns the offset of the last value in quotes. */
function lastQuote(document: Document): number {
  let offset = 0;
  visit(document, {
    Scalar(_, node) {
      if (node.type?.startsWith('QUOTE_')) offset = node.range?.[0] ?? offset;
    },
  });
  return offset;
}
