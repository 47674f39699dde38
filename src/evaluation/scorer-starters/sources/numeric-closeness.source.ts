/** JavaScript of the scorer `numeric_closeness`. */
export const NUMERIC_CLOSENESS = String.raw`// Scores 1 minus the difference of output and expected, as a share of the larger of the two. Never below 0.
function score({ output, expected }) {
  const wanted = numberOf(expected);
  if (wanted === null) throw new Error('expected is not a number');
  const given = numberOf(output);
  if (given === null) return { score: 0, reasoning: 'The output is not a number.' };
  const larger = Math.max(Math.abs(given), Math.abs(wanted));
  // Divides first, because the difference of two numbers may overflow.
  const difference = larger === 0 ? 0 : Math.abs(given / larger - wanted / larger);
  return {
    score: Math.max(0, 1 - difference),
    reasoning: given + ' differs from ' + wanted + ' by ' + Math.round(difference * 1e6) / 1e4 + '%.',
  };
}

// Returns a number, or the number that a text holds. Null for anything else.
function numberOf(value) {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return null;
  const text = value.trim();
  const isGrouped = /^[+-]?\d{1,3}(,\d{3})+(\.\d+)?$/.test(text);
  const isPlain = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text);
  if (!isGrouped && !isPlain) return null;
  const number = Number(text.replaceAll(',', ''));
  return Number.isFinite(number) ? number : null;
}
`;
