import { cutText, MAX_ERROR_LENGTH, SUBJECT_MEMBERS } from './limits';
import type { ScoringSubject } from './score-outcome';

/**
 * A subject as it crosses to a sandbox thread: one JSON text for each of `SUBJECT_MEMBERS`, so that a scorer pays only
 * for the members it reads. What JSON does not know is null, as in `JSON.stringify`; a subject with a member that cannot
 * be written at all (a cycle, a bigint, thousands of levels) is an item's error.
 */
export function encodeSubject(subject: ScoringSubject): { members: string[] } | { error: string } {
  try {
    return { members: SUBJECT_MEMBERS.map((name) => JSON.stringify(subject[name]) ?? 'null') };
  } catch (error) {
    return {
      error: cutText(
        `what is to be scored cannot be written as JSON: ${(error as Error).message}`,
        MAX_ERROR_LENGTH,
      ),
    };
  }
}

/** The subject that {@link encodeSubject} wrote. */
export function decodeSubject(members: readonly string[]): ScoringSubject {
  const values = members.map((text): unknown => JSON.parse(text));
  return Object.fromEntries(
    SUBJECT_MEMBERS.map((name, index) => [name, values[index]]),
  ) as unknown as ScoringSubject;
}

/** Above this share of characters beyond ASCII a text takes less room in the interpreter as it is than escaped. */
const ESCAPED_SHARE = 0.25;

/**
 * The same JSON text, with characters beyond ASCII escaped where they are few. In the interpreter a single one of them
 * doubles the memory of the whole text, and while it is read takes five times as much, which a trace of some MB could not
 * afford.
 */
export function escapeSparseUnicode(text: string): string {
  let count = 0;
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) count += 1;
  if (count === 0 || count > text.length * ESCAPED_SHARE) return text;
  return text.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
