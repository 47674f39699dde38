import { escapedToken } from '#platform/json';
import { LinearRegExp, PatternError } from '#platform/linear-regexp';
import { isRecord, KEYWORDS } from './schema.keywords';

const DIALECT = /^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/;
/** Longest schema, as JSON text in UTF-16 code units. Compiling the largest takes about half a second. */
const MAX_SCHEMA_LENGTH = 65_536;
const MAX_SCHEMA_DEPTH = 64;
const MAX_SUBSCHEMAS = 500;
/** Longest list of names that depend on a name. Compiling one takes quadratic time. */
const MAX_DEPENDENT_NAMES = 100;
/** Maximum number of names in `dependentRequired`, and in lists of `dependencies`, of a whole schema. */
const MAX_DEPENDENT_NAMES_IN_TOTAL = 1_000;
/** Maximum time for compiling all patterns of a schema, in units of about 10 µs. */
const MAX_PATTERN_COST = 20_000;

/** A schema cannot be used. `pointer` (RFC 6901) refers to the schema; the message says what is wrong. */
export class SchemaError extends Error {
  override name = 'SchemaError';

  constructor(
    readonly pointer: string,
    detail: string,
  ) {
    super(detail);
  }
}

/** Appends a token to a JSON pointer (RFC 6901). */
export const pointerTo = (pointer: string, token: string | number): string =>
  `${pointer}/${escapedToken(token)}`;

/**
 * Checks a schema that a user wrote, and returns a copy with only known keywords.
 *
 * @throws SchemaError if it is not JSON Schema 2020-12, too long, too deep, too expensive, or has an unsupported pattern
 */
export function normalizeSchema(schema: unknown): Record<string, unknown> | boolean {
  try {
    const length = JSON.stringify(schema)?.length ?? 0;
    if (length <= MAX_SCHEMA_LENGTH) return new SchemaNormalizer().schema(schema, '', 0);
    throw new SchemaError(
      '',
      `the schema has ${length} characters, more than the maximum of ${MAX_SCHEMA_LENGTH}`,
    );
  } catch (error) {
    if (error instanceof SchemaError) throw error;
    if (error instanceof RangeError) throw new SchemaError('', 'the schema is nested too deeply');
    if (error instanceof TypeError) throw new SchemaError('', 'the schema is not JSON');
    throw error;
  }
}

class SchemaNormalizer {
  private count = 0;
  private patternCost = 0;
  private dependentNames = 0;

  schema(schema: unknown, pointer: string, depth: number): Record<string, unknown> | boolean {
    this.count += 1;
    if (this.count > MAX_SUBSCHEMAS) {
      throw new SchemaError(pointer, `the schema has more than ${MAX_SUBSCHEMAS} subschemas`);
    }
    if (depth > MAX_SCHEMA_DEPTH) {
      throw new SchemaError(pointer, `the schema is nested more than ${MAX_SCHEMA_DEPTH} levels deep`);
    }
    if (typeof schema === 'boolean') return schema;
    if (!isRecord(schema)) throw new SchemaError(pointer, 'a schema is an object or a boolean');
    const dialect = schema.$schema;
    if (dialect !== undefined && !(typeof dialect === 'string' && DIALECT.test(dialect))) {
      throw new SchemaError(
        pointerTo(pointer, '$schema'),
        'only JSON Schema 2020-12 is supported (https://json-schema.org/draft/2020-12/schema)',
      );
    }
    const members = Object.entries(schema).flatMap(([keyword, value]): [string, unknown][] => {
      const shape = KEYWORDS.get(keyword);
      return shape ? [[keyword, this.keyword(keyword, value, pointerTo(pointer, keyword), depth)]] : [];
    });
    return Object.fromEntries(members);
  }

  private keyword(keyword: string, value: unknown, pointer: string, depth: number): unknown {
    const shape = KEYWORDS.get(keyword)!;
    if (typeof shape === 'function') {
      const problem = shape(value);
      if (problem) throw new SchemaError(pointer, `${keyword} ${problem}`);
      if (keyword === 'dependentRequired') {
        for (const [name, names] of Object.entries(value as Record<string, string[]>)) {
          this.countDependent(names, pointerTo(pointer, name));
        }
      }
      return value;
    }
    if (shape === 'pattern') return this.pattern(value, pointer);
    if (shape === 'schema') return this.schema(value, pointer, depth + 1);
    if (shape === 'schemas') {
      if (!Array.isArray(value) || value.length === 0) {
        throw new SchemaError(pointer, `${keyword} must be a list of one or more schemas`);
      }
      return value.map((item, index) => this.schema(item, pointerTo(pointer, index), depth + 1));
    }
    if (!isRecord(value)) throw new SchemaError(pointer, `${keyword} must be an object of schemas`);
    const named = Object.entries(value).map(([name, item]): [string, unknown] => {
      const at = pointerTo(pointer, name);
      if (keyword === 'patternProperties') this.pattern(name, at);
      const isNames =
        shape === 'named-or-names' && Array.isArray(item) && item.every((it) => typeof it === 'string');
      if (isNames) this.countDependent(item as string[], at);
      return [name, isNames ? item : this.schema(item, at, depth + 1)];
    });
    return Object.fromEntries(named);
  }

  private countDependent(names: readonly string[], pointer: string): void {
    if (names.length > MAX_DEPENDENT_NAMES) {
      throw new SchemaError(
        pointer,
        `the list has ${names.length} names, more than the maximum of ${MAX_DEPENDENT_NAMES}`,
      );
    }
    this.dependentNames += 1 + names.length;
    if (this.dependentNames > MAX_DEPENDENT_NAMES_IN_TOTAL) {
      throw new SchemaError(
        pointer,
        `dependentRequired and dependencies name more than ${MAX_DEPENDENT_NAMES_IN_TOTAL} members in the whole schema`,
      );
    }
  }

  private pattern(source: unknown, pointer: string): string {
    if (typeof source !== 'string') throw new SchemaError(pointer, 'pattern must be a string');
    try {
      this.patternCost += LinearRegExp.compile(source).compileCost;
    } catch (error) {
      if (error instanceof PatternError)
        throw new SchemaError(pointer, `pattern cannot be used: ${error.message}`);
      throw error;
    }
    if (this.patternCost > MAX_PATTERN_COST) {
      throw new SchemaError(pointer, 'the patterns of the schema are too large in total');
    }
    return source;
  }
}
