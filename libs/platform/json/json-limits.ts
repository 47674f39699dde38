/** Deepest nesting of arrays and objects in a body: `[[1]]` has two levels. */
export const MAX_DEPTH = 64;

/**
 * Longest JSON that is parsed, compared or digested on the event loop, in bytes or UTF-16 code units. It takes a few
 * milliseconds. Larger JSON is processed in a thread, see `#platform/json-threads`.
 */
export const INLINE_JSON_MAX = 256 * 1024;
