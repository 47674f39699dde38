import { Query, type Submittable } from 'pg';
import type { IndexOrderedStatement, SqlExecutor } from './executor';
import type { Sql } from './sql';

/**
 * Makes the following statements of a transaction read tables in index order wherever an index fits. For pages: the
 * planner's statistics do not know how many rows a tenant or a trace has. If it expects fewer rows than a page has, it may
 * read and sort all of them.
 */
export async function followIndexes(on: SqlExecutor): Promise<void> {
  await on.query(
    'SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off',
  );
}

/**
 * Returns a statement that reads tables in index order, as after `followIndexes`, but without a transaction and in one
 * round trip. Within a transaction it is planned as the transaction says.
 */
export const indexOrdered = ({ text, values }: Sql): IndexOrderedStatement => ({
  text,
  values,
  isIndexOrdered: true,
});

/** The settings of `followIndexes`, which a statement can set for the rest of its transaction. */
const SETTINGS = `SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
  set_config('enable_sort', 'off', true)`;

/** The parts of the driver that a statement uses. */
interface Connection {
  parse(statement: { name: string; text: string }): void;
  bind(portal: { statement: string; portal: string; values: unknown[] }): void;
  execute(portal: { portal: string }): void;
}

interface ExtendedQuery extends Submittable {
  prepare(connection: Connection): void;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, connection: Connection): void;
}

const ExtendedQuery = Query as unknown as new (config: {
  text: string;
  values: unknown[];
  queryMode: 'extended';
}) => ExtendedQuery;

/**
 * Sends the settings and a statement together. Up to the `Sync` after the last message, PostgreSQL runs messages of the
 * extended protocol in one transaction, at whose end the settings are gone.
 */
export class IndexOrderedQuery extends ExtendedQuery {
  private isSet = false;

  constructor({ text, values = [] }: IndexOrderedStatement) {
    super({ text, values: [...values], queryMode: 'extended' });
  }

  override prepare(connection: Connection): void {
    connection.parse({ name: '', text: SETTINGS });
    connection.bind({ statement: '', portal: '', values: [] });
    connection.execute({ portal: '' });
    super.prepare(connection);
  }

  override handleDataRow(message: unknown): void {
    if (this.isSet) super.handleDataRow(message);
  }

  override handleCommandComplete(message: unknown, connection: Connection): void {
    if (this.isSet) super.handleCommandComplete(message, connection);
    else this.isSet = true;
  }
}
