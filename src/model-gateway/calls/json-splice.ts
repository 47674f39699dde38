/** The JSON texts of new values, by the name of a top-level member. */
export type Replacements = Readonly<Record<string, string>>;

/**
 * Replaces or adds members of a JSON object, and keeps every other byte, including unknown members, the form of numbers and the
 * order of members.
 *
 * @param text the valid JSON text of an object
 * @param replacements the JSON texts of the new values, by name
 */
export function splice(text: string, replacements: Replacements): string {
  const missing = new Set(Object.keys(replacements));
  let result = '';
  let copied = 0;
  let last = text.indexOf('{') + 1;
  for (const { name, start, end } of members(text)) {
    last = end;
    if (!Object.hasOwn(replacements, name)) continue;
    missing.delete(name);
    result += text.slice(copied, start) + replacements[name]!;
    copied = end;
  }
  result += text.slice(copied, last);
  const isEmpty = text.indexOf('{') + 1 === last;
  const added = [...missing].map((name) => `${JSON.stringify(name)}:${replacements[name]!}`).join(',');
  if (added !== '') result += `${isEmpty ? '' : ','}${added}`;
  return result + text.slice(last);
}

interface Member {
  name: string;
  /** The start and the end of its value. */
  start: number;
  end: number;
}

/** Yields the top-level members of an object. */
function* members(text: string): Generator<Member, void> {
  let at = afterBlanks(text, text.indexOf('{') + 1);
  while (text[at] === '"') {
    const nameEnd = afterString(text, at);
    const name = JSON.parse(text.slice(at, nameEnd)) as string;
    const start = afterBlanks(text, afterBlanks(text, nameEnd) + 1);
    const end = afterValue(text, start);
    yield { name, start, end };
    at = afterBlanks(text, end);
    if (text[at] === ',') at = afterBlanks(text, at + 1);
  }
}

function afterBlanks(text: string, from: number): number {
  let at = from;
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at++;
  return at;
}

function afterString(text: string, from: number): number {
  let at = from + 1;
  for (;;) {
    at = text.indexOf('"', at);
    let backslashes = 0;
    while (text[at - 1 - backslashes] === '\\') backslashes++;
    at++;
    if (backslashes % 2 === 0) return at;
  }
}

const STRUCTURE = /["{}[\]]/g;
const SCALAR_END = /[,}\]\s]|$/g;

function afterValue(text: string, from: number): number {
  const first = text[from];
  if (first === '"') return afterString(text, from);
  if (first !== '{' && first !== '[') {
    SCALAR_END.lastIndex = from;
    return SCALAR_END.exec(text)!.index;
  }
  let depth = 0;
  let at = from;
  do {
    STRUCTURE.lastIndex = at;
    const match = STRUCTURE.exec(text)!;
    const [char] = match;
    if (char === '"') at = afterString(text, match.index);
    else {
      depth += char === '{' || char === '[' ? 1 : -1;
      at = match.index + 1;
    }
  } while (depth > 0);
  return at;
}
