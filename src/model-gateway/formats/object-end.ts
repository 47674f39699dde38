const QUOTE = '"'.charCodeAt(0);
const BACKSLASH = '\\'.charCodeAt(0);
const OBJECT = '{'.charCodeAt(0);
const LIST = '['.charCodeAt(0);
const END_OF_OBJECT = '}'.charCodeAt(0);
const END_OF_LIST = ']'.charCodeAt(0);
const BLANK = ' '.charCodeAt(0);

/** Finds the end of a JSON object that arrives in parts, in time linear in its length. Does not check that it is JSON. */
export class ObjectEnd {
  #depth = 0;
  #isString = false;
  #isEscaped = false;
  /** Whether the text is something else than one object. */
  #isOther = false;
  #isReached = false;

  /** Whether the text so far is one whole object. */
  get isReached(): boolean {
    return this.#isReached && !this.#isOther;
  }

  /** Adds the next part of the text. */
  add(text: string): void {
    for (let at = 0; at < text.length && !this.#isOther; at++) {
      const code = text.charCodeAt(at);
      if (this.#isString) this.#addToString(code);
      else if (code > BLANK) this.#addToken(code);
    }
  }

  #addToString(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (code === BACKSLASH) this.#isEscaped = true;
    else if (code === QUOTE) this.#isString = false;
  }

  #addToken(code: number): void {
    if (this.#depth === 0 && (code !== OBJECT || this.#isReached)) this.#isOther = true;
    else if (code === QUOTE) this.#isString = true;
    else if (code === OBJECT || code === LIST) this.#depth++;
    else if (code === END_OF_OBJECT || code === END_OF_LIST) this.#isReached = --this.#depth === 0;
  }
}
