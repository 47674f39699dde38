import { TOOL_CALLS } from './tool-calls.source';

/** JavaScript of the scorer `tool_call_accuracy`. */
export const TOOL_CALL_ACCURACY = String.raw`// How well the tool calls that were made match those that were expected, in any order.
//
// Each expected call is matched with one that was made, of the same tool and with the most like arguments. A match
// counts with the share of its arguments that are the same. The score is twice what was matched, divided by all calls,
// made and expected (the F1 of both): a call that is missing, one too many and a wrong argument each lower it.
function score(subject) {
  const expected = expectedCalls(subject.expected);
  const made = toolCalls(subject);
  if (expected.length * made.length > 250000) throw new Error('there are too many calls to be matched');
  const pairs = [];
  expected.forEach((call, e) =>
    made.forEach((other, m) => {
      if (call.name === other.name) pairs.push({ e, m, likeness: likeness(call.args, other.args) });
    }),
  );
  pairs.sort((a, b) => b.likeness - a.likeness || a.e - b.e || a.m - b.m);
  const expectedLeft = new Set(expected.keys());
  const madeLeft = new Set(made.keys());
  let matched = 0;
  for (const { e, m, likeness } of pairs) {
    if (!expectedLeft.has(e) || !madeLeft.has(m)) continue;
    expectedLeft.delete(e);
    madeLeft.delete(m);
    matched += likeness;
  }
  const count = expected.length + made.length;
  const names = (calls, left) => [...left].slice(0, 10).map((index) => calls[index].name);
  return {
    score: count === 0 ? 1 : (2 * matched) / count,
    reasoning: made.length + ' calls made, ' + expected.length + ' expected.',
    answers: { missing: names(expected, expectedLeft), unexpected: names(made, madeLeft) },
  };
}

// The share of arguments that are the same, of all that either call has.
function likeness(one, other) {
  if (!isObject(one) || !isObject(other)) return Number(isSame(one, other));
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  if (names.size === 0) return 1;
  let same = 0;
  for (const name of names) {
    if (Object.hasOwn(one, name) && Object.hasOwn(other, name) && isSame(one[name], other[name])) same += 1;
  }
  return same / names.size;
}

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

// The same JSON value; members may be in any order.
function isSame(one, other) {
  if (Array.isArray(one)) {
    return Array.isArray(other) && one.length === other.length && one.every((item, i) => isSame(item, other[i]));
  }
  if (!isObject(one)) return one === other;
  const names = Object.keys(one);
  return (
    isObject(other) &&
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isSame(one[name], other[name]))
  );
}
${TOOL_CALLS}`;
