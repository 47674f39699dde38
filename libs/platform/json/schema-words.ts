import { cutText } from './cut-text';
import { isJsonObject } from './raw-json';
import { memberNames } from './member-order';

/** Maximum number of values of a schema to visit. */
const VISITED_MAX = 10_000;

/**
 * Returns the names and descriptions of the properties of a JSON Schema, one per line, for a search index.
 *
 * @param max maximum number of characters
 */
export function schemaWords(schema: unknown, max: number): string {
  const lines: string[] = [];
  let length = 0;
  let visited = 0;
  const add = (line: string): void => {
    lines.push(line);
    length += line.length + 1;
  };
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const { description, properties } = value as Record<string, unknown>;
    if (typeof description === 'string') add(description);
    if (isJsonObject(properties)) add(memberNames(properties).slice(0, max).join('\n'));
    for (const inner of Object.values(value)) {
      visited += 1;
      if (length >= max || visited > VISITED_MAX) return;
      visit(inner);
    }
  };
  visit(schema);
  return cutText(lines.join('\n').replaceAll('\0', ' '), max);
}
