import { isJsonObject, RawJson, toJsonText } from '#platform/json';
import {
  MAX_SUBJECT_LENGTH,
  parsePrompt,
  resolvePath,
  type ScoringSubject,
  type TemplatePart,
  type TemplatePath,
} from '../scorers';
import { PromptError } from './judge-backend';
import { lacksContent, sessionTranscript, traceTranscript } from './transcript';

/** Assumed UTF-8 bytes per token. Most texts have more, so prompts fit. */
export const BYTES_PER_TOKEN = 3;
/** Parts that the sections of one prompt may repeat. */
const REPETITIONS_MAX = 200_000;
/** Values that one prompt may insert. */
const VALUES_MAX = 10_000;
/** Characters of distinct JSON values and transcripts in one prompt. A prompt may insert a value and each of its members. */
const JSON_MAX = 4 * MAX_SUBJECT_LENGTH;
/** Maximum length of the mark at a cut, in bytes. */
export const CUT_MARK_BYTES = 120;
/** Smallest size to which data is cut, in bytes. A prompt that leaves fewer bytes is too long. */
const DATA_MIN = 2 * CUT_MARK_BYTES;
const TOKEN_BYTES = 16;
/** Bytes that the delimiters add to a text. */
export const DATA_BLOCK_BYTES = 2 * TOKEN_BYTES * 2 + '<data-></data->\n\n'.length;

/** The member of the subject that data comes from. */
type Origin = keyof ScoringSubject;

/** A piece of a prompt: text of the template, or data to judge. */
type PromptPiece = { readonly text: string } | { readonly data: string; readonly origin: Origin };

/** An expanded prompt. */
export interface ExpandedPrompt {
  pieces: PromptPiece[];
  /** Whether a transcript, or other data besides input, output and expected value, is not shown whole. */
  isTruncated: boolean;
}

/** Members whose data is never cut, because a judge would give a score to what it has not seen. */
const SHOWN_WHOLE: ReadonlySet<Origin> = new Set(['input', 'output', 'expected']);

/**
 * Expands the prompt of a definition with a subject to at most `maxBytes` of UTF-8. Keeps the text of the template, the input,
 * the output and the expected value, and cuts the longest of the other data in the middle.
 *
 * @throws PromptError if the prompt leaves too few bytes for the data, or the template is invalid (older releases accepted some)
 */
export function judgePrompt(template: string, subject: ScoringSubject, maxBytes: number): ExpandedPrompt {
  const { pieces, isTruncated } = expandPrompt(parse(template), subject, Math.max(0, maxBytes));
  const sizeOf = memoize((text) => Buffer.byteLength(text));
  const data = pieces.flatMap((piece) => ('data' in piece ? piece : []));
  const sizes = data.map((piece) => sizeOf(piece.data));
  const templateBytes = pieces.reduce(
    (sum, piece) => sum + ('text' in piece ? Buffer.byteLength(piece.text) : 0),
    0,
  );
  const dataBytes = maxBytes - templateBytes - sizes.length * DATA_BLOCK_BYTES;
  if (templateBytes > maxBytes || fairShare(sizes, dataBytes) < DATA_MIN) {
    throw new PromptError('The prompt is too long: it leaves no tokens for the data.');
  }
  const isWhole = ({ origin }: { origin: Origin }): boolean => SHOWN_WHOLE.has(origin);
  const whole = sum(data.filter(isWhole).map((piece) => sizeOf(piece.data)));
  const others = data.filter((piece) => !isWhole(piece)).map((piece) => sizeOf(piece.data));
  const share = fairShare(others, dataBytes - whole);
  if (whole <= dataBytes && share < DATA_MIN) throw new PromptError(NO_TOKENS_LEFT, true);
  if (whole > dataBytes) {
    const wholeData = data.filter(isWhole);
    const [longest] = wholeData.sort((a, b) => sizeOf(b.data) - sizeOf(a.data));
    throw new PromptError(tooLong(longest!.origin, sizeOf(longest!.data), dataBytes), true);
  }
  const cut = memoize((text) => cutMiddle(text, share));
  return {
    pieces: pieces.map((piece) =>
      'data' in piece && !isWhole(piece) ? { ...piece, data: cut(piece.data) } : piece,
    ),
    isTruncated: isTruncated || others.some((size) => size > share),
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

const NO_TOKENS_LEFT =
  'The prompt is too long: beside the input, the output and the expected value, it leaves no tokens for the other data.';

const NAMES: Partial<Record<Origin, string>> = { expected: 'expected value' };

const tooLong = (origin: Origin, bytes: number, dataBytes: number): string =>
  `The ${NAMES[origin] ?? origin} has ${bytes} bytes, but the judge can be shown only ${Math.max(0, dataBytes)} bytes of data, and an input, an output or an expected value is never cut. Insert less into the prompt, or use a judge with a longer context.`;

/** Caches the result of `work` per text, because a prompt may contain the same long text a thousand times. */
function memoize<Result>(work: (text: string) => Result): (text: string) => Result {
  const cache = new Map<string, Result>();
  return (text) => {
    if (!cache.has(text)) cache.set(text, work(text));
    return cache.get(text)!;
  };
}

function parse(template: string): TemplatePart[] {
  try {
    return parsePrompt(template);
  } catch (error) {
    throw new PromptError(`The prompt ${(error as Error).message}.`);
  }
}

/**
 * Expands a template with a subject. Inserts texts as they are, other values as JSON, and nothing for null and missing
 * values. Inserts `session` and `trace` as transcripts, but their members, such as `trace.spans`, as JSON.
 *
 * @param textMax characters of template text that the prompt may have
 * @throws PromptError if the prompt exceeds a limit
 */
export function expandPrompt(
  parts: readonly TemplatePart[],
  subject: ScoringSubject,
  textMax: number,
): ExpandedPrompt {
  const expansion = new Expansion(subject, textMax);
  // no template inserts the subject itself
  expansion.add(parts, [{ value: subject, origin: 'output' }]);
  return expansion;
}

/** A value, and the member of the subject that it comes from. */
interface Sourced {
  value: unknown;
  origin: Origin;
}

class Expansion implements ExpandedPrompt {
  readonly pieces: PromptPiece[] = [];
  isTruncated = false;
  private readonly parsed = new Map<RawJson, unknown>();
  /** The texts of inserted objects, so that each object is serialized once. */
  private readonly texts = new Map<object, string>();
  private repetitions = 0;
  private values = 0;
  private textLength = 0;
  private jsonLength = 0;

  constructor(
    private readonly subject: ScoringSubject,
    private readonly textMax: number,
  ) {}

  add(parts: readonly TemplatePart[], contexts: readonly Sourced[]): void {
    for (const part of parts) {
      if (part.kind === 'text') this.addText(part.text);
      else if (part.kind === 'variable') this.addData(this.resolve(part.path, contexts));
      else this.addSection(part, contexts);
    }
  }

  private addText(text: string): void {
    this.textLength += text.length;
    if (this.textLength > this.textMax) throw new PromptError('The prompt is too long for the judge.');
    this.pieces.push({ text });
  }

  private addData({ value, origin }: Sourced): void {
    this.values += 1;
    if (this.values > VALUES_MAX) throw new PromptError(`The prompt inserts more than ${VALUES_MAX} values.`);
    this.isTruncated ||= this.isIncomplete(value, origin);
    this.pieces.push({ data: this.textOf(value), origin });
  }

  /** Tells whether a trace or a session, or a list or an object in one, was too large to be read whole. */
  private isIncomplete(value: unknown, origin: Origin): boolean {
    if (typeof value !== 'object' || value === null) return false;
    const { session, trace } = this.subject;
    if (value === trace && isJsonObject(value)) return lacksContent(value);
    return (origin === 'session' && isCut(session)) || (origin === 'trace' && isCut(trace));
  }

  private addSection(
    { path, isInverted, parts }: TemplatePart & { kind: 'section' },
    contexts: readonly Sourced[],
  ): void {
    const { value, origin } = this.resolve(path, contexts);
    const isPresent = Array.isArray(value) ? value.length > 0 : Boolean(value);
    if (isInverted) {
      if (!isPresent) this.repeat(parts, contexts);
    } else if (Array.isArray(value)) {
      this.isTruncated ||= this.isIncomplete(value, origin);
      for (const item of value) this.repeat(parts, [...contexts, { value: this.plain(item), origin }]);
    } else if (isPresent) {
      this.repeat(parts, [...contexts, { value, origin }]);
    }
  }

  private repeat(parts: readonly TemplatePart[], contexts: readonly Sourced[]): void {
    this.repetitions += 1 + parts.length;
    if (this.repetitions > REPETITIONS_MAX) {
      throw new PromptError(
        `The sections of the prompt repeat its parts more than ${REPETITIONS_MAX} times.`,
      );
    }
    this.add(parts, contexts);
  }

  /** Resolves a path from the innermost section that has its first member. Ignores inherited members. */
  private resolve({ steps, isAbsolute }: TemplatePath, contexts: readonly Sourced[]): Sourced {
    const from = isAbsolute ? contexts.slice(0, 1) : contexts;
    if (steps.length === 0) return from.at(-1)!;
    const first = steps[0]!;
    const context = from.findLast(({ value }) => resolvePath(value, [first]).exists);
    let value = context?.value;
    for (const step of steps) value = this.plain(resolvePath(value, [step]).value);
    // a missing value has no data, so its origin does not matter
    const origin = context?.value === this.subject ? (first as Origin) : (context?.origin ?? 'output');
    return { value, origin };
  }

  /** Parses stored JSON, each value once. A number that JavaScript would change becomes its text, unless it is zero. */
  private plain(value: unknown): unknown {
    if (!(value instanceof RawJson)) return value;
    if (!this.parsed.has(value)) {
      const parsed = value.parseExactly();
      this.parsed.set(value, parsed instanceof RawJson ? numberOf(parsed) : parsed);
    }
    return this.parsed.get(value);
  }

  private textOf(value: unknown): string {
    if (value === null || value === undefined) return '';
    if (typeof value === 'string') return value;
    if (typeof value !== 'object') return toJsonText(value);
    const cached = this.texts.get(value);
    if (cached !== undefined) return cached;
    const text = this.serialize(value);
    this.jsonLength += text.length;
    if (this.jsonLength > JSON_MAX) {
      throw new PromptError(`The prompt inserts more than ${JSON_MAX} characters of JSON.`);
    }
    this.texts.set(value, text);
    return text;
  }

  private serialize(value: object): string {
    const { session, trace } = this.subject;
    if (value === session && isJsonObject(value)) return sessionTranscript(value, trace);
    if (value === trace && isJsonObject(value)) return traceTranscript(value);
    return toJsonText(value);
  }
}

const isCut = (value: unknown): boolean => isJsonObject(value) && value.is_truncated === true;

const numberOf = ({ text }: RawJson): string | number => (Number(text) === 0 ? 0 : text);

const markOf = (characters: number): string =>
  `\n[… ${characters} characters were removed here because the text is too long …]\n…`;

/**
 * Cuts a text in the middle to at most `max` bytes of UTF-8, and marks the cut. Never splits a character. The text after
 * the mark starts with an ellipsis, so that it does not look like a new line. Returns a text that fits unchanged.
 *
 * @param max at least {@link CUT_MARK_BYTES}
 */
export function cutMiddle(text: string, max: number): string {
  // A UTF-16 code unit takes at most three bytes.
  if (text.length * 3 <= max) return text;
  const bytes = Buffer.from(text);
  if (bytes.length <= max) return text;
  const textBytes = Math.max(0, max - CUT_MARK_BYTES);
  let headEnd = Math.ceil(textBytes / 2);
  while (headEnd > 0 && isWithinCharacter(bytes[headEnd]!)) headEnd -= 1;
  let tailStart = bytes.length - Math.floor(textBytes / 2);
  while (tailStart < bytes.length && isWithinCharacter(bytes[tailStart]!)) tailStart += 1;
  const head = bytes.toString('utf8', 0, headEnd);
  const tail = bytes.toString('utf8', tailStart);
  return `${head}${markOf(text.length - head.length - tail.length)}${tail}`;
}

/** Tells whether a byte continues a UTF-8 character. */
const isWithinCharacter = (byte: number): boolean => (byte & 0xc0) === 0x80;

/**
 * Returns the number of bytes that each text may keep, so that all texts together have at most `total` bytes. Short texts
 * stay whole, and long texts share the rest equally.
 */
export function fairShare(sizes: readonly number[], total: number): number {
  let left = total;
  const ascending = [...sizes].sort((a, b) => a - b);
  for (const [index, size] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - index));
    if (size > share) return share;
    left -= size;
  }
  return Infinity;
}

/** Returns the keyed hash of a text. It cannot be predicted without the key. */
export type KeyedHash = (text: string) => Buffer;

/** The delimiters around data in one request to a judge. */
export interface DataDelimiters {
  readonly open: string;
  readonly close: string;
}

/**
 * Returns delimiters for untrusted texts. They contain a keyed hash of all texts, so that equal texts get equal delimiters
 * and the author of a text cannot predict the closing delimiter. If a text contains the hash, another one is used.
 */
export function delimitersOf(hash: KeyedHash, texts: readonly string[]): DataDelimiters {
  for (let round = 0; ; round++) {
    const token = hash(JSON.stringify([round, ...texts]))
      .subarray(0, TOKEN_BYTES)
      .toString('hex');
    if (!texts.some((text) => text.includes(token))) {
      return { open: `<data-${token}>`, close: `</data-${token}>` };
    }
  }
}

/** Returns a text between the delimiters, each of which is on a separate line. */
export const dataBlock = ({ open, close }: DataDelimiters, text: string): string =>
  `${open}\n${text}\n${close}`;
