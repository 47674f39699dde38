import { isJsonObject, RawJson, toJsonText } from '#platform/json';
import {
  resolvePath,
  MAX_SUBJECT_LENGTH,
  type ScoringSubject,
  type TemplatePart,
  type TemplatePath,
} from '../../scorers';
import { CannotJudge } from '../judge-backend';
import { sessionTranscript, traceTranscript } from './transcript';

/** Most repetitions of parts by the sections of one prompt, and most values that are inserted. */
const ROUNDS_MAX = 200_000;
const VALUES_MAX = 10_000;
/** Longest JSON and transcripts of one prompt together, because a prompt may insert a value and each of its parts. */
const WRITTEN_MAX = 4 * MAX_SUBJECT_LENGTH;

/** A piece of a prompt: the scorer's own text, or data that is judged. */
export type PromptPiece = { readonly own: string } | { readonly data: string };

/**
 * Expands a template with a subject. Inserts texts as they are, other values as JSON, and nothing for null and missing
 * values. `session` and `trace` become transcripts; their members, such as `trace.spans`, are inserted as JSON.
 *
 * @param textMax the most characters of the scorer's own text in the prompt
 * @throws CannotJudge when sections repeat more than that, or without end
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
  /** Texts of inserted objects, so that each is written once. */
  private readonly texts = new Map<object, string>();
  private rounds = 0;
  private values = 0;
  private length = 0;
  private writtenLength = 0;

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
      if (part.kind === 'text') this.addOwn(part.text);
      else if (part.kind === 'variable') this.addData(this.resolve(part.path, contexts));
      else this.addSection(part, contexts);
    }
  }

  private addOwn(text: string): void {
    this.length += text.length;
    if (this.length > this.textMax) throw new CannotJudge('The prompt is too long for the judge.');
    this.pieces.push({ own: text });
  }

  private addData(value: unknown): void {
    this.values += 1;
    if (this.values > VALUES_MAX) throw new CannotJudge(`The prompt inserts more than ${VALUES_MAX} values.`);
    this.pieces.push({ data: this.textOf(value) });
  }

  private addSection(
    { path, isInverted, parts }: TemplatePart & { kind: 'section' },
    contexts: readonly unknown[],
  ): void {
    const value = this.resolve(path, contexts);
    const isThere = Array.isArray(value) ? value.length > 0 : Boolean(value);
    if (isInverted) {
      if (!isThere) this.round(parts, contexts);
    } else if (Array.isArray(value)) {
      for (const item of value) this.round(parts, [...contexts, this.plain(item)]);
    } else if (isThere) {
      this.round(parts, [...contexts, value]);
    }
  }

  private round(parts: readonly TemplatePart[], contexts: readonly unknown[]): void {
    this.rounds += 1 + parts.length;
    if (this.rounds > ROUNDS_MAX) {
      throw new CannotJudge(`The sections of the prompt repeat its parts more than ${ROUNDS_MAX} times.`);
    }
    this.add(parts, contexts);
  }

  /** Resolves a path, starting at the innermost section that has its first name. Follows only own members. */
  private resolve({ steps, isAbsolute }: TemplatePath, contexts: readonly unknown[]): unknown {
    const from = isAbsolute ? contexts.slice(0, 1) : contexts;
    if (steps.length === 0) return from.at(-1);
    const [first] = steps;
    const holder = from.findLast((context) => resolvePath(context, [first!]).found);
    let value: unknown = holder;
    for (const step of steps) value = this.plain(resolvePath(value, [step]).value);
    return value;
  }

  /** Parses stored JSON once. */
  private plain(value: unknown): unknown {
    if (!(value instanceof RawJson)) return value;
    if (!this.parsed.has(value)) this.parsed.set(value, value.parse());
    return this.parsed.get(value);
  }

  private textOf(value: unknown): string {
    if (value === null || value === undefined) return '';
    if (typeof value === 'string') return value;
    if (typeof value !== 'object') return toJsonText(value);
    const known = this.texts.get(value);
    if (known !== undefined) return known;
    const text = this.written(value);
    this.writtenLength += text.length;
    if (this.writtenLength > WRITTEN_MAX) {
      throw new CannotJudge(`The prompt inserts more than ${WRITTEN_MAX} characters of JSON.`);
    }
    this.texts.set(value, text);
    return text;
  }

  private written(value: object): string {
    const { session, trace } = this.subject;
    if (value === session && isJsonObject(value)) return sessionTranscript(value, trace);
    if (value === trace && isJsonObject(value)) return traceTranscript(value);
    return toJsonText(value);
  }
}
