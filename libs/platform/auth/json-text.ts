/** NUL and lone surrogates, which PostgreSQL's `text` cannot store. */
const UNSTORABLE = /[\0\p{Surrogate}]/u;

/**
 * Returns why a JSON text is unsafe although it parses, or null if it is safe. It is unsafe if an object names a member
 * twice (`JSON.parse` silently keeps the last one, other parsers the first; RFC 7519, section 4), or if a string holds
 * characters that cannot be stored.
 *
 * @param text must be valid JSON: this short scan relies on it
 */
export function unsafeJsonReason(text: string): string | null {
  /** Member names of each open object, innermost last; null for an array. */
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
        if (escaped && UNSTORABLE.test(value)) return 'contains a NUL or a lone surrogate';
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

/** Returns the index of the quotation mark that ends the string starting at `start`. */
function endOfString(text: string, start: number): number {
  let i = start + 1;
  while (text[i] !== '"') i += text[i] === '\\' ? 2 : 1;
  return i;
}
