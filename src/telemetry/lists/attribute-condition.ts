import type { Where } from '#platform/db';
import type { AttributeFilter } from '../trace-list';

/**
 * Whether a row has an attribute, or its resource. Resources are looked up by keys that rows carry.
 *
 * @param row the name of the row in the statement, which has `attributes`, `workspace_id` and `source_id`
 */
export function hasAttribute(where: Where, row: string, { key, value }: AttributeFilter): string {
  const [name, text] = [`${where.parameter(key)}::text`, `${where.parameter(value)}::text`];
  return `(${row}.attributes ->> ${name} = ${text} OR EXISTS (
    SELECT 1 FROM span_sources o WHERE o.workspace_id = ${row}.workspace_id AND o.source_id = ${row}.source_id
      AND o.resource -> 'attributes' ->> ${name} = ${text} OFFSET 0))`;
}
