import { checkNumber, type Keep, readFreeForm } from './free-form.reader';
import { InvalidJson } from './invalid-json';
import { JsonInputError } from './json-input.error';
import { endOfValue, isNumber, JsonCursor } from './json.cursor';
import { objectOf } from './member-order';
import { isKeptByDouble, numberFault } from './number.rule';
import type { Outline } from './outline';

/**
 * How the exact parser treats values.
 *
 * - `body`: rejects values that are not allowed in a body with this outline, and keeps the text of free-form members.
 * - `stored`: rejects nothing, because the text was accepted before.
 * - `digits`: rejects nothing, and keeps the text of numbers that a double would change.
 */
export type ExactRules =
  | { readonly source: 'body'; readonly outline: Outline; readonly keep: Keep }
  | { readonly source: 'stored' }
  | { readonly source: 'digits'; readonly keep: Keep };

const TYPED: Outline = { kind: 'whole' };
/** Free-form values that the service reads. */
const FREE: Outline = { kind: 'whole', isFreeForm: true };
/** Free-form values that it does not read, because their members are read-only or unknown. */
const UNREAD: Outline = { kind: 'freeForm' };

const isFree = (outline: Outline): boolean => outline.kind === 'whole' && outline.isFreeForm === true;

/**
 * Parses JSON text like `JSON.parse`, but tracks its position and keeps the order of members. It is several times slower,
 * so use it only for text that needs it.
 *
 * @throws JsonInputError for the first fault in the text
 */
export function parseExactly(text: string, rules: ExactRules): unknown {
  return new ExactParser(text, rules).parse();
}

/**
 * Returns the reason why a text is not JSON (RFC 8259) as a part of a sentence, with the position and what is expected there.
 * Null if it is JSON, or nested too deeply to tell.
 */
export function jsonFault(text: string): string | null {
  try {
    parseExactly(text, { source: 'stored' });
    return null;
  } catch (error) {
    if (error instanceof JsonInputError) return error.syntaxFault ?? null;
    if (error instanceof RangeError) return null;
    throw error;
  }
}

class ExactParser {
  private readonly cursor: JsonCursor;
  private readonly isBody: boolean;
  private isSyntaxChecked = false;

  constructor(
    text: string,
    private readonly rules: ExactRules,
  ) {
    this.cursor = new JsonCursor(text);
    this.isBody = rules.source === 'body';
  }

  parse(): unknown {
    const { cursor, rules } = this;
    cursor.skipWhitespace();
    if (cursor.at === cursor.text.length) {
      const fault = 'it is empty, where a value is expected';
      throw new JsonInputError('', 'The body is empty. A JSON value is expected.', fault);
    }
    const value = this.value(rules.source === 'body' ? rules.outline : TYPED);
    cursor.skipWhitespace();
    if (cursor.at < cursor.text.length) throw cursor.syntaxError('the end', ' of the body');
    return value;
  }

  /** Reads the value at the current position, which is not whitespace. */
  private value(outline: Outline): unknown {
    if (outline.kind === 'freeForm' && this.rules.source === 'body') {
      return readFreeForm(this.cursor, this.rules.keep);
    }
    switch (this.cursor.text[this.cursor.at]) {
      case '{':
        return this.object(outline);
      case '[':
        return this.array(outline);
      case '"': {
        const string = this.cursor.string();
        if (this.isBody) this.cursor.checkCharacters(string, 'string', isFree(outline));
        return string.value;
      }
      default:
        return this.primitive(outline);
    }
  }

  private object(outline: Outline): Record<string, unknown> {
    const { cursor } = this;
    if (this.isBody) cursor.checkDepth();
    cursor.at++;
    const names: string[] = [];
    const values: unknown[] = [];
    cursor.skipWhitespace();
    if (cursor.accept('}')) return objectOf(names, values);
    do {
      const name = cursor.name(names.length === 0);
      if (this.isBody) cursor.checkCharacters(name, 'member name', isFree(outline));
      names.push(name.value);
      values.push(this.member(name.value, outline));
    } while (cursor.accept(','));
    if (!cursor.accept('}')) throw cursor.syntaxError('"," or "}"');
    return objectOf(names, values);
  }

  private member(name: string, outline: Outline): unknown {
    if (outline.kind === 'map') return this.child(name, outline.of);
    if (outline.kind !== 'object') return this.child(name, isFree(outline) ? FREE : TYPED);
    if (Object.hasOwn(outline.members, name)) return this.child(name, outline.members[name]!);
    // a read-only member is ignored, and an unknown member is rejected later
    this.child(name, UNREAD);
    return null;
  }

  private array(outline: Outline): unknown[] {
    const { cursor } = this;
    if (this.isBody) cursor.checkDepth();
    cursor.at++;
    const values: unknown[] = [];
    cursor.skipWhitespace();
    if (cursor.accept(']')) return values;
    const isList = outline.kind === 'list';
    const of = isList ? outline.of : isFree(outline) ? FREE : TYPED;
    do {
      const isSeparate = isList && outline.isSeparate === true && values.length <= outline.max;
      values.push(isSeparate ? this.separate(values.length, of) : this.child(values.length, of));
    } while (cursor.accept(','));
    if (!cursor.accept(']')) throw cursor.syntaxError('"," or "]"');
    return values;
  }

  private child(step: string | number, outline: Outline): unknown {
    const { cursor } = this;
    cursor.path.push(step);
    cursor.skipWhitespace();
    const value = this.value(outline);
    cursor.skipWhitespace();
    cursor.path.pop();
    return value;
  }

  /** Reads an element whose faults do not affect the other elements. */
  private separate(index: number, outline: Outline): unknown {
    const { cursor } = this;
    cursor.skipWhitespace();
    const start = cursor.at;
    const depth = cursor.path.length;
    const place = `${cursor.pointer()}/${index}`;
    try {
      return this.child(index, outline);
    } catch (error) {
      if (!(error instanceof JsonInputError) || error.syntaxFault !== undefined) throw error;
      this.checkSyntax();
      cursor.path.length = depth;
      cursor.at = endOfValue(cursor.text, start);
      cursor.skipWhitespace();
      return new InvalidJson(error.pointer.slice(place.length), error.detail);
    }
  }

  /** Throws for a text that is not JSON, however deeply it is nested. */
  private checkSyntax(): void {
    if (this.isSyntaxChecked) return;
    const { text } = this.cursor;
    try {
      JSON.parse(text);
      this.isSyntaxChecked = true;
    } catch {
      const fault = jsonFault(text) ?? 'its syntax is invalid';
      throw new JsonInputError('', `The body is not JSON: ${fault}.`, fault);
    }
  }

  private primitive(outline: Outline): unknown {
    const { cursor, rules } = this;
    const literal = cursor.primitive();
    if (!isNumber(literal)) return JSON.parse(literal);
    const isKept = rules.source === 'digits' || isFree(outline);
    if (this.isBody && isKept) checkNumber(cursor, literal);
    if (this.isBody && !isKept) {
      const fault = numberFault(literal);
      if (fault !== undefined) throw cursor.rejection(fault);
    }
    return isKept && rules.source !== 'stored' && !isKeptByDouble(literal)
      ? rules.keep(literal)
      : Number(literal);
  }
}
