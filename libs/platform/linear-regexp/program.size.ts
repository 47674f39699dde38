/**
 * Estimates how many instructions a pattern in RE2 syntax compiles to. The estimate may be too high, but not too low. Nested
 * counted repetitions multiply, so that a few dozen characters can take seconds to compile.
 */
export function estimateProgramSize(pattern: string): number {
  /** Sizes of the open groups: everything before the last atom, and the last atom, which a repetition multiplies. */
  const groups = [{ done: 1, last: 0 }];
  let position = 0;
  while (position < pattern.length) {
    const group = groups[groups.length - 1]!;
    const rest = pattern.slice(position);
    const repeat = /^\{(\d{1,4})(?:,(\d{0,4}))?\}/.exec(rest);
    if (repeat) {
      group.last *= Math.max(1, Number(repeat[1]), Number(repeat[2] ?? 0));
      position += repeat[0].length;
      continue;
    }
    const [token] = TOKEN.exec(rest)!;
    position += token.length;
    if (token === '(') {
      groups.push({ done: 2, last: 0 });
    } else if (token === ')' && groups.length > 1) {
      groups.pop();
      const outer = groups[groups.length - 1]!;
      outer.done += outer.last;
      outer.last = group.done + group.last;
    } else if (token === '*' || token === '+' || token === '?' || token === '|') {
      group.last += 1;
    } else {
      group.done += group.last;
      group.last = sizeOf(token);
    }
  }
  return groups.reduce((sum, group) => sum + group.done + group.last, 0);
}

/** A Unicode class is one instruction with up to a thousand ranges, so it counts as more. */
function sizeOf(token: string): number {
  if (token.startsWith('\\Q')) return token.length;
  return 1 + UNICODE_CLASS_SIZE * (token.match(/\\[pP]/g)?.length ?? 0);
}

const UNICODE_CLASS_SIZE = 50;

/** The next token of a pattern: quoted text, an escape, a class, or one character. */
const TOKEN = /^(?:\\Q[\s\S]*?(?:\\E|$)|\\[\s\S]?|\[\^?\]?(?:\\[\s\S]|[^\]\\])*\]?|[\s\S])/;
