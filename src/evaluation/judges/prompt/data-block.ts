/** Returns the keyed hash of a text. It cannot be predicted without the key. */
export type KeyedHash = (text: string) => Buffer;

const TOKEN_BYTES = 16;

/** The delimiters around data in one request to a judge. */
export interface DataDelimiters {
  readonly open: string;
  readonly close: string;
}

/**
 * Returns delimiters for untrusted texts. They contain a keyed hash of all texts, so that equal texts get equal delimiters
 * and the author of a text cannot predict the closing delimiter. If a text contains the hash, another one is used.
 */
export function delimitersOf(hash: KeyedHash, texts: readonly string[]): DataDelimiters {
  for (let round = 0; ; round++) {
    const token = hash(JSON.stringify([round, ...texts]))
      .subarray(0, TOKEN_BYTES)
      .toString('hex');
    if (!texts.some((text) => text.includes(token))) {
      return { open: `<data-${token}>`, close: `</data-${token}>` };
    }
  }
}

/** Returns a text between the delimiters, each of which is on a separate line. */
export const dataBlock = ({ open, close }: DataDelimiters, text: string): string =>
  `${open}\n${text}\n${close}`;

/** Bytes that the delimiters add to a text. */
export const DATA_BLOCK_BYTES = 2 * TOKEN_BYTES * 2 + '<data-></data->\n\n'.length;
