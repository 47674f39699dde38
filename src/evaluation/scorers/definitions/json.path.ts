import { isJsonObject } from '#platform/json';

/** One step of a path: the name of a member, or an index into a list. A negative index counts from the end. */
export type PathStep = string | number;

const MAX_PATH_LENGTH = 500;
const NAME = /^[\p{L}_][\p{L}\p{N}_-]*/u;
const INDEX = /^\[(0|-?[1-9]\d{0,9})\]/;
const QUOTED = /^\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]/s;

/**
 * Parses a singular query of RFC 9535 (section 2.3.5.1), which selects at most one value: `$.output.text`,
 * `$.output.items[0]['a b']`. The leading `$.` is optional. Unlike RFC 9535, a plain name may contain a dash.
 *
 * @throws SyntaxError with the part that is wrong
 */
export function parsePath(path: string): PathStep[] {
  if (path.length > MAX_PATH_LENGTH)
    throw new SyntaxError(`a path must have at most ${MAX_PATH_LENGTH} characters`);
  const steps: PathStep[] = [];
  let rest = path.startsWith('$') ? path.slice(1) : path.startsWith('[') ? path : `.${path}`;
  while (rest !== '') {
    const index = INDEX.exec(rest);
    const quoted = index ? null : QUOTED.exec(rest);
    const name = rest.startsWith('.') ? NAME.exec(rest.slice(1)) : null;
    if (index) steps.push(Number(index[1]));
    else if (quoted) steps.push(unquote(quoted[1] ?? quoted[2] ?? ''));
    else if (name) steps.push(name[0]);
    else throw new SyntaxError(`"${path}" is not a path: expected .name, ['name'] or [index] at "${rest}"`);
    rest = rest.slice(index?.[0].length ?? quoted?.[0].length ?? name![0].length + 1);
  }
  return steps;
}

/** Returns the value at a path. `exists` is false if the path selects nothing. Follows only own members. */
export function resolvePath(value: unknown, steps: readonly PathStep[]): { exists: boolean; value: unknown } {
  let current = value;
  for (const step of steps) {
    const isList = typeof step === 'number' && Array.isArray(current);
    const key = isList && step < 0 ? (current as unknown[]).length + step : step;
    const isOwner = isList || (typeof step === 'string' && isJsonObject(current));
    if (!isOwner || !Object.hasOwn(current as object, key)) return { exists: false, value: undefined };
    current = (current as Record<string | number, unknown>)[key];
  }
  return { exists: true, value: current };
}

const ESCAPES: Record<string, string> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

function unquote(text: string): string {
  return text.replace(/\\(?:u([0-9a-fA-F]{4})|(.))/gs, (_, code: string | undefined, character: string) =>
    code ? String.fromCharCode(parseInt(code, 16)) : (ESCAPES[character] ?? character),
  );
}
