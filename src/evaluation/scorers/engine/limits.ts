/** Members of what a scorer sees, in the order in which they cross to a sandbox thread. */
export const SUBJECT_MEMBERS = ['input', 'output', 'expected', 'metadata', 'trace', 'session'] as const;

/**
 * Longest subject, as the JSON texts of all its members together, in UTF-16 code units.
 *
 * A thread that runs out of its own heap can take the whole process with it, so nothing gets into one that could fill
 * it: parsed JSON takes up to 23 times its text (`[{},{},…]`), with what checks make of it a third of
 * {@link THREAD_HEAP_MB}.
 */
export const MAX_SUBJECT_LENGTH = 8_388_608;
/** Longest definition as JSON text that is looked into at all. */
export const MAX_DEFINITION_LENGTH = 1_048_576;
/** Heap of a sandbox thread besides the interpreters' memories, in MiB. */
export const THREAD_HEAP_MB = 1_024;

/** Memory of a script, in MiB (memory_mb): what the interpreter's heap may take. */
export const DEFAULT_MEMORY_MB = 32;
export const MIN_MEMORY_MB = 2;
export const MAX_MEMORY_MB = 256;
/** Time of a script, in ms (timeout_ms), counted from when a thread begins with it. */
export const DEFAULT_TIMEOUT_MS = 1_000;
export const MAX_TIMEOUT_MS = 10_000;
/** Longest source, in bytes of UTF-8. */
export const MAX_SOURCE_BYTES = 256 * 1024;
/** Most checks of one definition, their longest JSON text, and the time they have for one target together, in ms. */
export const MAX_CHECKS = 100;
export const MAX_CHECKS_LENGTH = 131_072;
export const CHECKS_TIMEOUT_MS = 5_000;

/** Longest error of a scored item, in UTF-16 code units; what is longer is cut. */
export const MAX_ERROR_LENGTH = 2_000;
/** Longest result of a script as JSON text, in UTF-16 code units; what is longer is that item's error. */
export const MAX_RESULT_LENGTH = 65_536;
/** Longest string that an edit distance is computed for, in UTF-16 code units: 20,000 by 20,000 takes about 0.1 s. */
export const MAX_LEVENSHTEIN_LENGTH = 20_000;

/** Longest reasoning of a definition by checks, in UTF-16 code units; what is longer is cut. */
export const MAX_REASONING_LENGTH = 2_000;

/** Cuts a text to at most `max` UTF-16 code units, never inside a surrogate pair. */
export function cutText(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
