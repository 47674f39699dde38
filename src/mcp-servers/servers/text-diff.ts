import { createPatch, OMIT_HEADERS } from 'diff';
import { escapeHidden } from '#platform/json';

/** The number of unchanged lines shown before and after a change. */
const CONTEXT = 3;
/** The maximum number of removed and added lines to find. The time grows with its square: 500 take up to 40 ms. */
const EDITS_MAX = 500;

/**
 * Returns the lines of a unified diff, without its file names: headers of hunks (`@@ -1,3 +1,4 @@`), and lines that
 * begin with a space, `-` or `+`. Null counts as a text without lines. If too many lines differ, all lines are removed and
 * added. Hidden characters are escaped (`\u{200B}`), so that readers see the difference.
 */
export function unifiedDiff(before: string | null, after: string | null): string[] {
  // with a line break at the end, the library adds no note that one is missing
  const [from, to] = [before, after].map((text) => (text === null ? '' : `${text}\n`)) as [string, string];
  const options = { context: CONTEXT, maxEditLength: EDITS_MAX, headerOptions: OMIT_HEADERS };
  const patch = createPatch('', from, to, undefined, undefined, options) ?? replacement(from, to);
  return patch.split('\n').slice(0, -1).map(escapeHidden);
}

function replacement(from: string, to: string): string {
  const [removed, added] = [from, to].map((text) => text.split('\n').slice(0, -1)) as [string[], string[]];
  const range = ({ length }: string[]): string => `${Math.min(length, 1)},${length}`;
  const lines = [...removed.map((line) => `-${line}`), ...added.map((line) => `+${line}`)];
  return `@@ -${range(removed)} +${range(added)} @@\n${lines.join('\n')}\n`;
}
