import { isJsonObject, RawJson, toJsonText } from '#platform/json';
import {
  resolvePath,
  MAX_SUBJECT_LENGTH,
  type ScoringSubject,
  type TemplatePart,
  type TemplatePath,
} from '../../scorers';
import { PromptError } from '../judge-backend';
import { sessionTranscript, traceTranscript } from './transcript';

/** Parts that the sections of one prompt may repeat. */
const REPETITIONS_MAX = 200_000;
/** Values that one prompt may insert. */
const VALUES_MAX = 10_000;
/** Characters of distinct JSON values and transcripts in one prompt. A prompt may insert a value and each of its members. */
const JSON_MAX = 4 * MAX_SUBJECT_LENGTH;

/** A piece of a prompt: text of the template, or data to judge. */
export type PromptPiece = { readonly text: string } | { readonly data: string };

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
): PromptPiece[] {
  return new Expansion(subject, textMax).expand(parts);
}

class Expansion {
  private readonly pieces: PromptPiece[] = [];
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

  expand(parts: readonly TemplatePart[]): PromptPiece[] {
    this.add(parts, [this.subject]);
    return this.pieces;
  }

  private add(parts: readonly TemplatePart[], contexts: readonly unknown[]): void {
    for (const part of parts) {
      if (part.kind === 'text') this.addText(part.text);
      else if (part.kind === 'variable') this.addData(this.resolve(part.path, contexts));
      else this.addSection(part, contexts);
    }
  }

  private addText(text: string): void {
    this.textLength += text.length;
    if (this.textLength > this.textMax) throw new PromptError('The prompt is too long for the judge.');
    this.pieces.push({ text: text });
  }

  private addData(value: unknown): void {
    this.values += 1;
    if (this.values > VALUES_MAX) throw new PromptError(`The prompt inserts more than ${VALUES_MAX} values.`);
    this.pieces.push({ data: this.textOf(value) });
  }

  private addSection(
    { path, isInverted, parts }: TemplatePart & { kind: 'section' },
    contexts: readonly unknown[],
  ): void {
    const value = this.resolve(path, contexts);
    const isPresent = Array.isArray(value) ? value.length > 0 : Boolean(value);
    if (isInverted) {
      if (!isPresent) this.repeat(parts, contexts);
    } else if (Array.isArray(value)) {
      for (const item of value) this.repeat(parts, [...contexts, this.plain(item)]);
    } else if (isPresent) {
      this.repeat(parts, [...contexts, value]);
    }
  }

  private repeat(parts: readonly TemplatePart[], contexts: readonly unknown[]): void {
    this.repetitions += 1 + parts.length;
    if (this.repetitions > REPETITIONS_MAX) {
      throw new PromptError(
        `The sections of the prompt repeat its parts more than ${REPETITIONS_MAX} times.`,
      );
    }
    this.add(parts, contexts);
  }

  /** Resolves a path from the innermost section that has its first member. Ignores inherited members. */
  private resolve({ steps, isAbsolute }: TemplatePath, contexts: readonly unknown[]): unknown {
    const from = isAbsolute ? contexts.slice(0, 1) : contexts;
    if (steps.length === 0) return from.at(-1);
    const [first] = steps;
    let value: unknown = from.findLast((context) => resolvePath(context, [first!]).exists);
    for (const step of steps) value = this.plain(resolvePath(value, [step]).value);
    return value;
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

const numberOf = ({ text }: RawJson): string | number => (Number(text) === 0 ? 0 : text);
