import { isRecord, KEYWORDS } from './schema.keywords';
import { pointerTo } from './schema.normalizer';

/** The maximum nesting of a schema. */
const MAX_DEPTH = 128;

/** The keywords that can be a boolean in earlier drafts. */
const EARLIER_BOOLEANS: ReadonlySet<string> = new Set(['exclusiveMaximum', 'exclusiveMinimum', 'required']);

/** What is wrong with a schema. `pointer` (RFC 6901) refers to the schema. */
export interface SchemaShapeFault {
  pointer: string;
  detail: string;
}

/**
 * Returns the first keyword of a schema that no draft of JSON Schema allows, or null. Accepts all drafts and dialects,
 * unknown keywords, any pattern, and null for an absent keyword, because it judges schemas of other people's software. It
 * compiles nothing, so it takes time in proportion to the schema.
 */
export function schemaShapeFault(schema: unknown, pointer = '', depth = 0): SchemaShapeFault | null {
  if (typeof schema === 'boolean') return null;
  if (!isRecord(schema)) return { pointer, detail: 'must be a schema: an object or a boolean' };
  if (depth > MAX_DEPTH) return { pointer, detail: `is nested more than ${MAX_DEPTH} levels deep` };
  for (const [keyword, value] of Object.entries(schema)) {
    if (value === null) continue;
    const fault = keywordFault(keyword, value, pointerTo(pointer, keyword), depth + 1);
    if (fault) return fault;
  }
  return null;
}

function keywordFault(
  keyword: string,
  value: unknown,
  pointer: string,
  depth: number,
): SchemaShapeFault | null {
  const shape = KEYWORDS.get(keyword);
  if (shape === undefined) return null;
  if (typeof shape === 'function') {
    const isEarlier = typeof value === 'boolean' && EARLIER_BOOLEANS.has(keyword);
    const detail = isEarlier ? undefined : shape(value);
    return detail === undefined ? null : { pointer, detail };
  }
  if (shape === 'pattern') return typeof value === 'string' ? null : { pointer, detail: 'must be a string' };
  // earlier drafts have lists of items
  const isList = shape === 'schemas' || (keyword === 'items' && Array.isArray(value));
  if (shape === 'schema' && !isList) return schemaShapeFault(value, pointer, depth);
  if (isList) {
    if (!Array.isArray(value)) return { pointer, detail: 'must be a list of schemas' };
    return firstFault(value.entries(), pointer, depth);
  }
  if (!isRecord(value)) return { pointer, detail: 'must be an object of schemas' };
  const schemas = Object.entries(value).filter(
    ([, named]) => !(shape === 'named-or-names' && Array.isArray(named)),
  );
  return firstFault(schemas, pointer, depth);
}

function firstFault(
  schemas: Iterable<readonly [string | number, unknown]>,
  pointer: string,
  depth: number,
): SchemaShapeFault | null {
  for (const [name, schema] of schemas) {
    const fault = schemaShapeFault(schema, pointerTo(pointer, name), depth);
    if (fault) return fault;
  }
  return null;
}
