import { escapeHidden } from '#platform/json';

/** The number of unchanged lines shown before and after a change. */
const CONTEXT = 3;
/** The maximum number of pairs of lines to compare. Longer texts are shown as removed and added. */
const PAIRS_MAX = 1_000_000;

type Mark = ' ' | '-' | '+';
type Line = readonly [mark: Mark, text: string];

/**
 * Returns the lines of a unified diff, without its file names: headers of hunks (`@@ -1,3 +1,4 @@`), and lines that
 * begin with a space, `-` or `+`. Returns no lines for equal texts. Null counts as a text without lines. Hidden
 * characters are escaped (`\u{200B}`), so that readers see the difference.
 */
export function unifiedDiff(before: string | null, after: string | null): string[] {
  const [from, to] = [linesOf(before), linesOf(after)];
  const lines = markedLines(from, to);
  const changed = lines.flatMap(([mark], index) => (mark === ' ' ? [] : index));
  const diff: string[] = [];
  let end = -1;
  for (const [place, index] of changed.entries()) {
    if (index < end) continue;
    const start = Math.max(index - CONTEXT, 0);
    let last = index;
    for (const next of changed.slice(place)) {
      if (next - last > 2 * CONTEXT) break;
      last = next;
    }
    end = Math.min(last + CONTEXT + 1, lines.length);
    diff.push(
      headerOf(lines, start, end),
      ...lines.slice(start, end).map(([mark, text]) => mark + escapeHidden(text)),
    );
  }
  return diff;
}

const linesOf = (text: string | null): string[] => text?.split('\n') ?? [];

function headerOf(lines: readonly Line[], start: number, end: number): string {
  const rangeOf = (other: Mark): string => {
    const count = (some: readonly Line[]) => some.filter(([mark]) => mark !== other).length;
    const [before, length] = [count(lines.slice(0, start)), count(lines.slice(start, end))];
    return `${length === 0 ? before : before + 1},${length}`;
  };
  return `@@ -${rangeOf('+')} +${rangeOf('-')} @@`;
}

function markedLines(from: readonly string[], to: readonly string[]): Line[] {
  const shorter = Math.min(from.length, to.length);
  let start = 0;
  while (start < shorter && from[start] === to[start]) start += 1;
  let end = 0;
  while (end < shorter - start && from.at(-1 - end) === to.at(-1 - end)) end += 1;
  return [
    ...from.slice(0, start).map((line): Line => [' ', line]),
    ...middleLines(from.slice(start, from.length - end), to.slice(start, to.length - end)),
    ...from.slice(from.length - end).map((line): Line => [' ', line]),
  ];
}

/** Keeps a longest common subsequence. */
function middleLines(from: readonly string[], to: readonly string[]): Line[] {
  const all = (mark: Mark, lines: readonly string[]) => lines.map((line): Line => [mark, line]);
  if (from.length * to.length > PAIRS_MAX) return [...all('-', from), ...all('+', to)];
  const width = to.length + 1;
  // lengths[i * width + j]: the longest common subsequence of the lines after i and j
  const lengths = new Uint16Array((from.length + 1) * width);
  for (let i = from.length - 1; i >= 0; i -= 1) {
    for (let j = to.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] =
        from[i] === to[j]
          ? lengths[(i + 1) * width + j + 1]! + 1
          : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!);
    }
  }
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < from.length && j < to.length) {
    if (from[i] === to[j]) {
      lines.push([' ', from[i]!]);
      i += 1;
      j += 1;
    } else if (lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!) lines.push(['-', from[i++]!]);
    else lines.push(['+', to[j++]!]);
  }
  return [...lines, ...all('-', from.slice(i)), ...all('+', to.slice(j))];
}
