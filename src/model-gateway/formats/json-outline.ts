/** Deepest nesting of objects, and of lists, whose content is kept: `{"choices": [{"delta": {…}}]}` has four levels. */
const OBJECT_LEVELS = 4;
const LIST_LEVELS = 3;
/** Maximum elements of a list to keep. OpenAI accepts 128 choices. */
const ELEMENTS_MAX = 128;
/** Maximum bytes of a string, on the first three levels and below. */
const STRING_MAX = 1024;
const DEEP_STRING_MAX = 64;
/** Maximum bytes of a number or another literal. */
const LITERAL_MAX = 32;
/** Size of the outline from which on lists, and all containers, keep no further content. Leaves space for the usage. */
const LISTS_SIZE = 16 * 1024;
const SIZE = 32 * 1024;
/** Maximum size of an outline of text that is not JSON. */
const SIZE_MAX = 2 * SIZE;

const BLANK = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const LOWER_U = 0x75;
const BEGIN_LIST = 0x5b;
const END_LIST = 0x5d;
const BEGIN_OBJECT = 0x7b;
const END_OBJECT = 0x7d;

/**
 * Reads JSON of any size in bounded memory, and in time linear in its length: keeps the JSON text of its upper levels, which have
 * the usage, the end and the errors of an answer. Longer strings are cut, and deeper containers are empty.
 *
 * The outline of bytes that are not JSON may be any text.
 */
export class JsonOutline {
  #kept = Buffer.allocUnsafe(1024);
  #size = 0;
  /** Number of open containers, and which of the upper ones are lists, with their numbers of commas. */
  #depth = 0;
  readonly #isList: boolean[] = [];
  readonly #commas: number[] = [];
  /** Depth of the container whose further content is left out; 0 for none. */
  #leftOut = 0;
  #isString = false;
  /** Whether the last byte was a backslash, and the digits of `\u` that remain. */
  #isEscaped = false;
  #digits = 0;
  #isCut = false;
  /** Bytes of the current string or literal. */
  #length = 0;

  /** Bytes of memory. */
  get heldBytes(): number {
    return this.#kept.length;
  }

  /** Adds the next bytes. */
  write(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]!;
      if (this.#isString) this.#addToString(byte);
      else if (byte > BLANK) this.#addToken(byte);
    }
  }

  /** Returns the outline as JSON text, once the whole text has been written. */
  text(): string {
    return this.#kept.toString('utf8', 0, this.#size);
  }

  #addToString(byte: number): void {
    const isLeftOut = this.#leftOut > 0 || this.#isCut;
    if (this.#isEscaped) {
      this.#isEscaped = false;
      if (isLeftOut) return;
      this.#digits = byte === LOWER_U ? 4 : 0;
      this.#keep(byte);
    } else if (byte === QUOTE) {
      this.#isString = false;
      this.#length = 0;
      if (this.#leftOut === 0) this.#keep(byte);
    } else {
      this.#isEscaped = byte === BACKSLASH;
      if (isLeftOut) return;
      if (this.#digits > 0) {
        this.#digits--;
      } else if (this.#length >= (this.#depth < OBJECT_LEVELS ? STRING_MAX : DEEP_STRING_MAX)) {
        // a character is not cut
        this.#isCut = (byte & 0xc0) !== 0x80;
        if (this.#isCut) return;
      }
      this.#length++;
      this.#keep(byte);
    }
  }

  #addToken(byte: number): void {
    switch (byte) {
      case QUOTE:
        this.#isString = true;
        this.#isCut = false;
        this.#digits = 0;
        break;
      case BEGIN_LIST:
      case BEGIN_OBJECT:
        return this.#open(byte === BEGIN_LIST);
      case END_LIST:
      case END_OBJECT:
        return this.#close(byte);
      case COMMA:
        if (this.#leftOut === 0) this.#separate();
        break;
      default:
        if (++this.#length > LITERAL_MAX) return;
        if (this.#leftOut === 0) this.#keep(byte);
        return;
    }
    this.#length = 0;
    if (this.#leftOut === 0) this.#keep(byte);
  }

  #open(isList: boolean): void {
    this.#length = 0;
    const depth = ++this.#depth;
    if (this.#leftOut > 0) return;
    this.#keep(isList ? BEGIN_LIST : BEGIN_OBJECT);
    this.#isList[depth] = isList;
    this.#commas[depth] = 0;
    if (depth > (isList ? LIST_LEVELS : OBJECT_LEVELS)) this.#leftOut = depth;
  }

  #close(byte: number): void {
    this.#length = 0;
    if (this.#leftOut === this.#depth) this.#leftOut = 0;
    if (this.#leftOut === 0) this.#keep(byte);
    if (this.#depth > 0) this.#depth--;
  }

  /** Leaves out the rest of the container if it is long. */
  #separate(): void {
    const depth = this.#depth;
    const isList = this.#isList[depth]!;
    const commas = ++this.#commas[depth]!;
    if ((isList && (commas >= ELEMENTS_MAX || this.#size > LISTS_SIZE)) || this.#size > SIZE)
      this.#leftOut = depth;
  }

  #keep(byte: number): void {
    if (this.#size === SIZE_MAX) return;
    if (this.#size === this.#kept.length) {
      const larger = Buffer.allocUnsafeSlow(2 * this.#size);
      this.#kept.copy(larger);
      this.#kept = larger;
    }
    this.#kept[this.#size++] = byte;
  }
}

/** Returns the outline of a JSON text, see `JsonOutline`. */
export function outlineOf(bytes: Buffer): string {
  const outline = new JsonOutline();
  outline.write(bytes);
  return outline.text();
}
