/** Makes the keyed hash of a text; without its key nobody can say what comes out. */
export type KeyedHash = (text: string) => Buffer;

const TOKEN_BYTES = 16;

/** The delimiters of data in one request to a judge. */
export interface DataDelimiters {
  readonly open: string;
  readonly close: string;
}

/**
 * Delimiters for texts that are not to be trusted: they hold a keyed hash of all these texts, so that the same texts
 * always stand between the same delimiters, and nobody who writes one of them can know what ends it. Should a text
 * hold the very hash, another is made.
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

/** A text between its delimiters, each on a line of its own. */
export const dataBlock = ({ open, close }: DataDelimiters, text: string): string =>
  `${open}\n${text}\n${close}`;

/** Bytes that delimiters add to each text. */
export const DATA_BLOCK_BYTES = 2 * TOKEN_BYTES * 2 + '<data-></data->\n\n'.length;
