import { toJsonText } from '#platform/json';
import { cutText, MAX_ERROR_LENGTH, MAX_SUBJECT_LENGTH, SUBJECT_MEMBERS } from '../definitions/limits';

/**
 * What a scorer sees of one target. Members are JSON values; missing ones are null. For a session, `trace` is absent: a
 * script sees null, and checks of traces read the traces of the session.
 */
export interface ScoringSubject {
  input: unknown;
  output: unknown;
  expected: unknown;
  metadata: unknown;
  trace?: unknown;
  session: unknown;
}

/**
 * The outcome of scoring one target: a score, or an error. A failure is never a score of 0.
 *
 * `score` is finite, or null if the scorer abstains. `error` has at most 2,000 characters and addresses the scorer's
 * author.
 */
export type ScoreOutcome =
  | { score: number | null; label?: string; reasoning?: string; answers?: Record<string, unknown> }
  | { error: string };

/** A subject for a thread: a JSON text for each of `SUBJECT_MEMBERS`, so that a scorer pays only for what it reads. */
export interface EncodedSubject {
  readonly members: readonly string[];
  /** Whether the target is a session, so that the subject has no member `trace`. */
  readonly ofSession: boolean;
}

/**
 * Encodes a subject for a thread. Passes on clients' JSON unparsed, so that it does not block this process. Returns an
 * error for a subject that is too large, or that JSON cannot express (a cycle, a bigint, an infinite number, thousands of
 * levels).
 */
export function encodeSubject(subject: ScoringSubject): EncodedSubject | { error: string } {
  let members: string[];
  try {
    members = SUBJECT_MEMBERS.map((name) =>
      subject[name] === undefined ? 'null' : toJsonText(subject[name]),
    );
  } catch (error) {
    const why = (error as Error).message;
    return { error: cutText(`the subject cannot be written as JSON: ${why}`, MAX_ERROR_LENGTH) };
  }
  const length = members.reduce((sum, text) => sum + text.length, 0);
  if (length <= MAX_SUBJECT_LENGTH) return { members, ofSession: subject.trace === undefined };
  return {
    error: `the subject has ${length} characters as JSON; at most ${MAX_SUBJECT_LENGTH} are allowed`,
  };
}

/** Decodes a subject that {@link encodeSubject} encoded. */
export function decodeSubject({ members, ofSession }: EncodedSubject): ScoringSubject {
  const values = members.map((text): unknown => JSON.parse(text));
  const entries = SUBJECT_MEMBERS.map((name, index) => [name, values[index]] as const);
  return Object.fromEntries(
    entries.filter(([name]) => !(ofSession && name === 'trace')),
  ) as unknown as ScoringSubject;
}

/** Above this share of non-ASCII characters, escaping takes more memory in the interpreter than it saves. */
const ESCAPED_SHARE = 0.25;

/**
 * Escapes the non-ASCII characters of a JSON text if there are few. In the interpreter, a single one doubles the memory of
 * the whole text, and parsing takes five times as much, which is too much for a trace of several MB.
 */
export function escapeSparseUnicode(text: string): string {
  let count = 0;
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > MAX_ASCII) count += 1;
  if (count === 0 || count > text.length * ESCAPED_SHARE) return text;
  // Uses a buffer, because millions of string pieces would fill the thread's heap.
  const escaped = Buffer.allocUnsafe(text.length + 5 * count);
  let end = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit <= MAX_ASCII) {
      escaped[end++] = unit;
      continue;
    }
    escaped[end++] = BACKSLASH;
    escaped[end++] = LETTER_U;
    for (let shift = 12; shift >= 0; shift -= 4) escaped[end++] = HEX_DIGITS[(unit >> shift) & 15]!;
  }
  return escaped.toString('latin1', 0, end);
}

const MAX_ASCII = 0x7f;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
const HEX_DIGITS = Buffer.from('0123456789abcdef');
