/** NUL, or half of a surrogate pair: neither can be stored in PostgreSQL's text. */
const UNSTORABLE = /[\0\p{Surrogate}]/u;

/**
 * Why a JSON text must not be trusted to mean what it parses to, although it parses: an object in it names a member
 * twice (`JSON.parse` keeps the last without a word, other parsers the first; RFC 7519, section 4), or a string in
 * it holds what cannot be stored. Null when there is nothing of the kind.
 *
 * @param text which `JSON.parse` has accepted; only that makes this short scan right.
 */
export function hiddenFault(text: string): string | null {
  /** The names met in each open object, innermost last; null for an array. */
  const open: (Set<string> | null)[] = [];
  let atName = false;
  for (let i = 0; i < text.length; i++) {
    switch (text[i]) {
      case '{':
        open.push(new Set());
        atName = true;
        break;
      case '[':
        open.push(null);
        atName = false;
        break;
      case '}':
      case ']':
        open.pop();
        atName = false;
        break;
      case ',':
        atName = open.at(-1) !== null;
        break;
      case ':':
        atName = false;
        break;
      case '"': {
        const end = endOfString(text, i);
        const literal = text.slice(i, end + 1);
        const escaped = literal.includes('\\');
        const value = escaped ? (JSON.parse(literal) as string) : literal.slice(1, -1);
        if (escaped && UNSTORABLE.test(value)) return 'holds a NUL or half a character';
        const names = open.at(-1);
        if (atName && names) {
          if (names.has(value)) return 'names a member twice';
          names.add(value);
        }
        i = end;
      }
    }
  }
  return null;
}

/** The place of the quotation mark that ends the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  let i = start + 1;
  while (text[i] !== '"') i += text[i] === '\\' ? 2 : 1;
  return i;
}
