import { Writer } from 'mustache';
import { parsePath, type PathStep } from './json.path';
import { SUBJECT_MEMBERS } from './limits';

/** Deepest nesting of sections. */
const DEPTH_MAX = 16;

/** Longest run of whitespace. The library searches for the end of a tag from each character of a run. */
const WHITESPACE_MAX = 1_000;
const TOO_MUCH_WHITESPACE = new RegExp(`\\s{${WHITESPACE_MAX + 1}}`);

/** The path that a name in a template refers to. */
export interface TemplatePath {
  readonly steps: readonly PathStep[];
  /** Whether it begins with `$`, and so starts at the variables even within a section. */
  readonly isAbsolute: boolean;
}

export type TemplatePart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'variable'; readonly path: TemplatePath }
  | {
      readonly kind: 'section';
      readonly path: TemplatePath;
      readonly isInverted: boolean;
      readonly parts: readonly TemplatePart[];
    };

type Token = readonly [type: string, value: string, start: number, end: number, inner?: Token[]];

/**
 * Parses the prompt of a judge: Mustache (mustache(5)) with the variables `input`, `output`, `expected`, `metadata`,
 * `trace` and `session`, and with paths into them, `{{metadata.items[0]['a b']}}`, which are singular queries of RFC
 * 9535. Sections and inverted sections work as in Mustache. Nothing is escaped, so two and three braces mean the same.
 * Partials are rejected, because there is nothing to include.
 *
 * @throws SyntaxError for an invalid template, and for an unknown variable outside of sections, because a misspelt
 *   one would silently insert nothing
 */
export function parsePrompt(text: string): TemplatePart[] {
  if (TOO_MUCH_WHITESPACE.test(text)) {
    throw new SyntaxError(`has more than ${WHITESPACE_MAX} characters of whitespace in a row`);
  }
  const writer = new Writer();
  // The library would cache every template for the life of the process.
  (writer as unknown as { templateCache: undefined }).templateCache = undefined;
  let tokens: Token[];
  try {
    tokens = writer.parse(text) as unknown as Token[];
  } catch (error) {
    throw new SyntaxError(`is not a Mustache template: ${(error as Error).message}`, { cause: error });
  }
  return partsOf(tokens, 0, false);
}

/** @param isNaming whether the parts are in a section whose value defines names. Inverted sections define no names. */
function partsOf(tokens: readonly Token[], depth: number, isNaming: boolean): TemplatePart[] {
  if (depth > DEPTH_MAX) throw new SyntaxError(`has sections more than ${DEPTH_MAX} deep`);
  return tokens.flatMap((token): TemplatePart | [] => {
    const [type, value, , , inner] = token;
    switch (type) {
      case 'text':
        return { kind: 'text', text: value };
      case 'name':
      case '&':
        return { kind: 'variable', path: pathOf(value, isNaming) };
      case '#':
      case '^':
        return {
          kind: 'section',
          path: pathOf(value, isNaming),
          isInverted: type === '^',
          parts: partsOf(inner ?? [], depth + 1, isNaming || type === '#'),
        };
      case '>':
        throw new SyntaxError(`has a partial, {{> ${value}}}, and partials are not supported`);
      default:
        return []; // a comment, or a change of delimiters, which the library has applied
    }
  });
}

const VARIABLES: ReadonlySet<unknown> = new Set(SUBJECT_MEMBERS);

function pathOf(name: string, isNaming: boolean): TemplatePath {
  const isAbsolute = name.startsWith('$');
  const steps = name === '.' ? [] : parsedPath(name);
  const isOfVariable = VARIABLES.has(steps[0]);
  if (!isOfVariable && (!isNaming || isAbsolute)) {
    throw new SyntaxError(
      `has an unknown variable, {{${name}}}; the variables are ${SUBJECT_MEMBERS.join(', ')}`,
    );
  }
  return { steps, isAbsolute };
}

function parsedPath(name: string): PathStep[] {
  try {
    return parsePath(name);
  } catch (error) {
    throw new SyntaxError(`has {{${name}}}: ${(error as Error).message}`, { cause: error });
  }
}
