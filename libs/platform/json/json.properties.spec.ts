import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { JsonInputError, RawJson, parseExactly, parseJson, toJsonText, typedJson } from '.';
import { bodyNumber } from './raw-json';
import { isPlainText } from './text.scanner';

/** JSON as written: members in order, possibly several with one name. */
type Node =
  | { readonly kind: 'scalar'; readonly value: string | number | boolean | null }
  /** A number in any spelling. */
  | { readonly kind: 'number'; readonly literal: string }
  | { readonly kind: 'array'; readonly items: readonly Node[] }
  | { readonly kind: 'object'; readonly members: readonly (readonly [string, Node])[] };

const text = fc.string({ unit: 'binary' }).filter((value) => !value.includes('\0'));
const name = fc.oneof(
  text,
  fc.nat(20).map(String),
  fc.constantFrom('__proto__', 'constructor', 'toJSON', 'a', 'b', '', '4294967294', '4294967295', '01', '1a'),
);
const number = fc.oneof(
  fc.double({ noDefaultInfinity: true, noNaN: true }),
  fc.maxSafeInteger(),
  fc.integer({ min: 53, max: 69 }).map((exponent) => 2 ** exponent),
);
/** Trees of these scalars. */
const treeOf = (scalar: fc.Arbitrary<Node>, names: fc.Arbitrary<string>): fc.Arbitrary<Node> =>
  fc.letrec<{ node: Node }>((tie) => ({
    node: fc.oneof(
      { depthSize: 'medium', withCrossShrink: true },
      scalar,
      fc.record({ kind: fc.constant('array' as const), items: fc.array(tie('node'), { maxLength: 5 }) }),
      fc.record({
        kind: fc.constant('object' as const),
        members: fc.array(fc.tuple(names, tie('node')), { maxLength: 6 }),
      }),
    ),
  })).node;
const scalarOf = (texts: fc.Arbitrary<string>): fc.Arbitrary<Node> =>
  fc.record({
    kind: fc.constant('scalar' as const),
    value: fc.oneof(texts, number, fc.boolean(), fc.constant(null)),
  });
const node = treeOf(scalarOf(text), name);
const anyText = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('\0', 'a\0\0b', '\\u0000'));
const literal = fc
  .stringMatching(/^-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?$/)
  .filter((spelling) => Number.isFinite(Number(spelling)))
  .map((spelling): Node => ({ kind: 'number', literal: spelling }));
const exactNode = treeOf(fc.oneof(scalarOf(anyText), literal), fc.oneof(name, anyText));

/** Choices of spelling, used in turn. */
const spellings = fc.array(fc.nat(11), { minLength: 1, maxLength: 20 });

/** Returns the number with all its digits, unless it is written with an exponent. */
function digits(value: number): string {
  return Number.isInteger(value) && Math.abs(value) < 1e21 ? BigInt(value).toString() : String(value);
}

function compact(tree: Node): string {
  switch (tree.kind) {
    case 'number':
      return tree.literal;
    case 'scalar':
      return typeof tree.value === 'number' ? digits(tree.value) : JSON.stringify(tree.value);
    case 'array':
      return `[${tree.items.map(compact).join(',')}]`;
    case 'object': {
      const members = new Map(tree.members.map(([key, value]) => [key, compact(value)]));
      return `{${[...members].map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`;
    }
  }
}

/** Writes a tree with varying whitespace and escapes. */
function spelt(tree: Node, choices: readonly number[]): string {
  let turn = 0;
  const choose = (): number => choices[turn++ % choices.length] ?? 0;
  const gap = (): string => ['', '', '', '', ' ', '\n', '\t\r '][choose()] ?? '';
  const escaped = (character: string): string =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join('');
  const character = (one: string): string => (choose() > 8 ? escaped(one) : JSON.stringify(one).slice(1, -1));
  const string = (value: string): string => `"${Array.from(value, character).join('')}"`;
  const write = (part: Node): string => {
    if (part.kind === 'array') return `[${gap()}${part.items.map(write).join(`${gap()},${gap()}`)}${gap()}]`;
    if (part.kind === 'object') {
      const members = part.members.map(
        ([key, value]) => `${gap()}${string(key)}${gap()}:${gap()}${write(value)}`,
      );
      return `{${members.join(`${gap()},`)}${gap()}}`;
    }
    if (part.kind === 'number') return part.literal;
    if (typeof part.value === 'string') return string(part.value);
    return typeof part.value === 'number' ? digits(part.value) : String(part.value);
  };
  return gap() + write(tree) + gap();
}

const BODY = { number: bodyNumber, isBody: true };

interface Outcome {
  readonly isAccepted: boolean;
  readonly value?: unknown;
}

/** Returns whether a parser accepts a text, and the value. Rethrows errors of any other kind than `rejection`. */
function outcome(parse: () => unknown, rejection: new (...args: never[]) => Error = JsonInputError): Outcome {
  try {
    return { isAccepted: true, value: parse() };
  } catch (error) {
    if (error instanceof rejection) return { isAccepted: false };
    throw error;
  }
}

describe('any JSON', () => {
  it('is returned equal, with members in their original order', () => {
    fc.assert(
      fc.property(node, spellings, (tree, choices) => {
        expect(toJsonText(parseJson(Buffer.from(spelt(tree, choices))))).toBe(compact(tree));
      }),
      { numRuns: 100 },
    );
  });

  it('is returned digit for digit, with its NUL characters', () => {
    fc.assert(
      fc.property(exactNode, spellings, (tree, choices) => {
        expect(toJsonText(parseJson(Buffer.from(spelt(tree, choices))))).toBe(compact(tree));
        expect(toJsonText(new RawJson(compact(tree)).parseExactly())).toBe(compact(tree));
      }),
      { numRuns: 100 },
    );
  });

  it('is returned equal after it was stored', () => {
    fc.assert(
      fc.property(node, spellings, (tree, choices) => {
        const raw = new RawJson(spelt(tree, choices));
        expect(toJsonText({ raw: raw.parse() })).toBe(`{"raw":${compact(tree)}}`);
        expect(toJsonText([raw, raw])).toBe(`[${raw.text},${raw.text}]`);
      }),
    );
  });

  it('is parsed alike by the exact parser and JSON.parse', () => {
    fc.assert(
      fc.property(node, spellings, (tree, choices) => {
        const body = spelt(tree, choices);
        expect(isDeepStrictEqual(typedJson(parseExactly(body, BODY)), JSON.parse(body))).toBe(true);
      }),
      { numRuns: 100 },
    );
  });

  const fragments = fc.constantFrom(
    ...['"', '\\', '\\u', '\\u0000', '\\ud83d', '\\ude00', '\\udbff\\udfff', '\0', '\n', ' ', ',', ':'],
    ...['[', ']', '{', '}', '1', '-', '.', 'e', 'E9', '1e400', '9007199254740993', '1e-999', '0', 'null'],
    ...['"1":', '"\\u0031":', '"__proto__":', 'tru', '\u2028', '日', '[['],
  );

  it('fails only with a JsonInputError if it is mangled, and is accepted if JSON.parse accepts it', () => {
    const mangled = fc
      .tuple(
        node,
        spellings,
        fc.array(fc.tuple(fc.nat(), fc.nat(3), fragments), { minLength: 1, maxLength: 4 }),
      )
      .map(([tree, choices, cuts]) =>
        cuts.reduce(
          (body, [place, length, fragment]) => {
            const at = place % (body.length + 1);
            return body.slice(0, at) + fragment + body.slice(at + length);
          },
          spelt(tree, choices),
        ),
      );
    fc.assert(
      fc.property(mangled, (body) => {
        const bytes = Buffer.from(body);
        const text = bytes.toString();
        const native = outcome(() => JSON.parse(text), SyntaxError);
        const stored = outcome(() => parseExactly(text, { number: Number }));
        const exact = outcome(() => parseExactly(text, BODY));
        const strict = outcome(() => parseJson(bytes));
        expect(isDeepStrictEqual(stored, native)).toBe(true);
        expect(strict.isAccepted).toBe(exact.isAccepted);
        if (strict.isAccepted) {
          const typed = outcome(() => typedJson(strict.value));
          if (typed.isAccepted) expect(isDeepStrictEqual(typed, native)).toBe(true);
          expect(toJsonText(strict.value)).toBe(toJsonText(exact.value));
        }
        if (isPlainText(text)) expect(strict.isAccepted).toBe(native.isAccepted);
      }),
      { numRuns: 300 },
    );
  });

  it('fails only with a JsonInputError if its bytes are truncated or changed', () => {
    const broken = fc
      .tuple(node, spellings, fc.nat(), fc.nat(), fc.nat(255), fc.boolean())
      .map(([tree, choices, place, end, byte, isCut]) => {
        const bytes = Buffer.from(spelt(tree, choices));
        if (bytes.length > 0) bytes[place % bytes.length] = byte;
        return isCut ? bytes.subarray(0, end % (bytes.length + 1)) : bytes;
      });
    fc.assert(
      fc.property(
        fc.oneof(
          broken,
          fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
        ),
        (bytes) => {
          outcome(() => parseJson(bytes));
        },
      ),
      { numRuns: 300 },
    );
  });
});
