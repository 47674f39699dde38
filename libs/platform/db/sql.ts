import tag, { empty, join, raw, type Sql } from 'sql-template-tag';
import type { PreparedStatement } from './executor';

/**
 * A statement, or a part of one, with each value where it is used: ``sql`SELECT name FROM agents WHERE agent_id = ${id}` ``.
 * Values always travel as parameters. Parts nest; `raw` inserts text that comes from the code, never from a caller.
 */
export const sql = tag;

export { empty, join, raw, type Sql };

/** Names a statement of a hot path, so that PostgreSQL parses and plans it once per connection. Its text must never vary. */
export const prepared = (name: string, { text, values }: Sql): PreparedStatement => ({ name, text, values });
