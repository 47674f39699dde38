import { TOOL_CALLS } from './tool-calls.source';

/** JavaScript of the scorer `tool_order`. */
export const TOOL_ORDER = String.raw`// Whether the expected tools were called in their order. Other calls may lie between them.
//
// The score is the length of the longest part of the expected order that was kept (the longest common subsequence),
// divided by the number of expected calls.
function score(subject) {
  const expected = expectedCalls(subject.expected).map(({ name }) => name);
  if (expected.length === 0) throw new Error('expected names no tool');
  const made = toolCalls(subject).map(({ name }) => name);
  let row = new Array(made.length + 1).fill(0);
  for (const name of expected) {
    const next = [0];
    for (let m = 0; m < made.length; m++) {
      next.push(made[m] === name ? row[m] + 1 : Math.max(next[m], row[m + 1]));
    }
    row = next;
  }
  return {
    score: row[made.length] / expected.length,
    reasoning: 'Called were ' + (made.slice(0, 20).join(', ') || 'no tools') + '.',
  };
}
${TOOL_CALLS}`;
