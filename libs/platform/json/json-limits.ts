/** Deepest nesting of arrays and objects in a body: `[[1]]` has two levels. */
export const MAX_DEPTH = 64;

/**
 * Maximum number of values in a body, see `countValues`. The values of 4 MiB could otherwise take more than 100 MiB and block
 * the event loop for a second.
 */
export const VALUES_MAX = 250_000;
