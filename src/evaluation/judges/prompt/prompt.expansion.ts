import { isJsonObject, RawJson, toJsonText } from '#platform/json';
import { resolvePath } from '../../scorers/engine/checks/json.path';
import { MAX_SUBJECT_LENGTH } from '../../scorers/engine/limits';
import type { ScoringSubject } from '../../scorers/engine/score-outcome';
import { CannotJudge } from '../judge-failure';
import type { TemplatePart, TemplatePath } from './prompt.template';
import { sessionTranscript, traceTranscript } from './transcript';

/** Rounds that the sections of one prompt may take together, each with every part in it, and values that may be put in. */
const ROUNDS_MAX = 200_000;
const VALUES_MAX = 10_000;
/** Characters of JSON and of transcripts that are written for one prompt: a value may be asked for with each of its parts. */
const WRITTEN_MAX = 4 * MAX_SUBJECT_LENGTH;

/** A piece of a prompt: the scorer's own words, or something that is judged. */
export type PromptPiece = { readonly own: string } | { readonly data: string };

/**
 * Puts a subject into a template. A text goes in as it is, any other value as its JSON, null and what is not there as
 * nothing; `session` and `trace` as a transcript, and what is in them, such as `trace.spans`, as JSON.
 *
 * @param textMax characters of the scorer's own words that the prompt may have.
 * @throws CannotJudge where sections repeat so much that it would have more, or go round without end.
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
  /** Texts of objects that were asked for, so that one that is asked for again is there once. */
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
    if (this.length > this.textMax) throw new CannotJudge('The prompt is longer than the judge can read.');
    this.pieces.push({ own: text });
  }

  private addData(value: unknown): void {
    this.values += 1;
    if (this.values > VALUES_MAX) throw new CannotJudge(`The prompt puts in more than ${VALUES_MAX} values.`);
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
      throw new CannotJudge(`The sections of the prompt repeat more than ${ROUNDS_MAX} of its parts.`);
    }
    this.add(parts, contexts);
  }

  /** What a path leads to, from the innermost section that has its first name. Only own members are followed. */
  private resolve({ steps, isAbsolute }: TemplatePath, contexts: readonly unknown[]): unknown {
    const from = isAbsolute ? contexts.slice(0, 1) : contexts;
    if (steps.length === 0) return from.at(-1);
    const [first] = steps;
    const holder = from.findLast((context) => resolvePath(context, [first!]).found);
    let value: unknown = holder;
    for (const step of steps) value = this.plain(resolvePath(value, [step]).value);
    return value;
  }

  /** The value of a text that the database keeps, parsed once. */
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
      throw new CannotJudge(`The prompt puts in more than ${WRITTEN_MAX} characters of JSON.`);
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
