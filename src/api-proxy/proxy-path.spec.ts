import fc from 'fast-check';
import { pathFault } from './proxy-path';

const BASE = 'http://api.example/tenants/t1';

/** Characters that attacks use, and enough ordinary ones to hide them. */
const PIECES = ['.', '..', '/', '\\', ';', ' ', '\t', '\n', '\0', '?', '#', '%', 'a', 't1', ':', '@', '\xe4'];

const escaped = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');

/** A piece, encoded up to three times, in lower or upper case. */
const piece = fc.tuple(fc.constantFrom(...PIECES), fc.nat(3), fc.boolean()).map(([text, times, isUpper]) => {
  let encoded = text;
  for (let round = 0; round < times; round++)
    encoded = round === 0 ? escaped(encoded) : encoded.replaceAll('%', '%25');
  return isUpper ? encoded.toUpperCase() : encoded;
});

/** Paths as Node's parser passes them on, without a plain `?` or `#`, which would end them. */
const hostile = fc
  .array(piece, { minLength: 1, maxLength: 12 })
  .map((pieces) => pieces.join(''))
  .filter((path) => !/[?#]/.test(path));

/** Returns every form in which a server could read a path: decoded up to three times, with backslashes as slashes. */
function formsOf(path: string): string[] {
  const forms = [path];
  for (let form = path, times = 0; times < 3; times++) {
    try {
      form = decodeURIComponent(form);
    } catch {
      break;
    }
    forms.push(form);
  }
  return forms.flatMap((form) => [form, form.replaceAll('\\', '/')]);
}

/** Returns whether a server that appends the path to the base and resolves it would leave the base. */
function leavesBase(path: string): boolean {
  return formsOf(path).some((form) => {
    const { origin, pathname } = new URL(`${BASE}/${form}`);
    return origin !== 'http://api.example' || !`${pathname}/`.startsWith('/tenants/t1/');
  });
}

describe('pathFault', () => {
  it('rejects every path that some server would resolve outside the base', () => {
    let outside = 0;
    fc.assert(
      fc.property(hostile, (path) => {
        if (!leavesBase(path)) return true;
        outside += 1;
        return pathFault(path) === 'escape';
      }),
      { numRuns: 5_000 },
    );
    expect(outside).toBeGreaterThan(100);
  });

  it('rejects every path that some server would resolve as another host', () => {
    const path = fc.tuple(fc.constantFrom('/', '\\', '%2f', '%5C', '%252f', '%25%32%66'), hostile);
    fc.assert(fc.property(path, ([slash, rest]) => pathFault(slash + rest) === 'escape'));
  });

  it('reports an encoded slash as a separate fault', () => {
    const segment = fc.stringMatching(/^[a-z]{1,8}$/);
    const slash = fc.constantFrom('%2f', '%2F', '%252F', '%25252f');
    fc.assert(
      fc.property(segment, slash, segment, (a, encoded, b) => pathFault(a + encoded + b) === 'encoded_slash'),
    );
  });

  it('accepts ordinary paths of any characters', () => {
    const isOrdinary = (text: string): boolean => !/[\x00-\x1f\x7f%/\\]|^[ .．]|[．／∕⁄＼；]/u.test(text);
    const segment = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }).filter(isOrdinary);
    fc.assert(
      fc.property(fc.array(segment, { minLength: 1, maxLength: 6 }), (segments) => {
        const path = segments.map(encodeURIComponent).join('/');
        return pathFault(path) === null && !leavesBase(path);
      }),
      { numRuns: 5_000 },
    );
  });

  it('accepts paths that only look like an escape', () => {
    for (const path of ['...', 'a..', '..a', '.a', 'a/..b/.c', 'a//b', '%', '%zz', '%2', 'a;..', '100%25']) {
      expect([path, pathFault(path)]).toEqual([path, null]);
    }
  });
});
