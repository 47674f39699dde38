/** Members of a subject, in the order in which a thread gets them. */
export const SUBJECT_MEMBERS = ['input', 'output', 'expected', 'metadata', 'trace', 'session'] as const;

/**
 * Longest subject: the JSON texts of all its members together, in UTF-16 code units.
 *
 * A thread that exhausts its heap can end the whole process, so this keeps subjects far below it: parsed JSON takes up to
 * 23 times its text (`[{},{},…]`), which with the work of checks is a third of {@link THREAD_HEAP_MB}.
 */
export const MAX_SUBJECT_LENGTH = 8_388_608;
/** Longest definition that is parsed, as JSON text in UTF-16 code units. */
export const MAX_DEFINITION_LENGTH = 1_048_576;
/** Heap of a thread in MiB, without the memory of its interpreters. */
export const THREAD_HEAP_MB = 1_024;

/** Heap of the interpreter for one script, in MiB (`memory_mb`). */
export const DEFAULT_MEMORY_MB = 32;
export const MIN_MEMORY_MB = 2;
export const MAX_MEMORY_MB = 256;
/** Time limit of a script in ms (`timeout_ms`), from when a thread starts it. */
export const DEFAULT_TIMEOUT_MS = 1_000;
export const MAX_TIMEOUT_MS = 10_000;
/** Longest source, in bytes of UTF-8. */
export const MAX_SOURCE_BYTES = 256 * 1024;
/** Limits of the checks of one definition: their number, their JSON text, and their time for one target in ms. */
export const MAX_CHECKS = 100;
export const MAX_CHECKS_LENGTH = 131_072;
export const CHECKS_TIMEOUT_MS = 5_000;

/** Longest error of a scored item, in UTF-16 code units. Longer ones are cut. */
export const MAX_ERROR_LENGTH = 2_000;
/** Longest result of a script as JSON text, in UTF-16 code units. A longer one is the item's error. */
export const MAX_RESULT_LENGTH = 65_536;
/** Longest string for an edit distance, in UTF-16 code units. 20,000 by 20,000 takes about 0.1 s. */
export const MAX_LEVENSHTEIN_LENGTH = 20_000;

/** Longest reasoning of checks, in UTF-16 code units. A longer one is cut. */
export const MAX_REASONING_LENGTH = 2_000;

/** Cuts a text to at most `max` UTF-16 code units, never within a surrogate pair. */
export function cutText(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
