/** Deepest nesting of arrays and objects in a body: `[[1]]` has two levels. */
export const MAX_DEPTH = 64;
