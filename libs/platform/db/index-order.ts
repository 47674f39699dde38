import { Query, type Submittable } from 'pg';
import type { IndexOrderedStatement, SqlExecutor } from './executor';
import type { Sql } from './sql';

/** The planner settings of plans that do not read a table in the order of an index. */
const DISABLED = ['enable_seqscan', 'enable_bitmapscan', 'enable_sort'];

/** Disables these plans for the rest of a transaction. */
const AS_COMMANDS = DISABLED.map((name) => `SET LOCAL ${name} = off`).join('; ');

/** The same as one statement, as the extended protocol requires. */
const AS_STATEMENT = `SELECT ${DISABLED.map((name) => `set_config('${name}', 'off', true)`).join(', ')}`;

/**
 * Makes the following statements of a transaction read tables in index order wherever an index fits. For pages: the
 * planner's statistics do not know how many rows a tenant or a trace has. If it expects fewer rows than a page has, it may
 * read and sort all of them.
 */
export async function followIndexes(on: SqlExecutor): Promise<void> {
  await on.query(AS_COMMANDS);
}

/**
 * Returns a statement that reads tables in index order, as after `followIndexes`, but without a transaction and in one
 * round trip. Within a transaction, the settings of the transaction apply instead.
 */
export const indexOrdered = ({ text, values }: Sql): IndexOrderedStatement => ({
  text,
  values,
  isIndexOrdered: true,
});

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
 * Sends the settings and a statement together. PostgreSQL runs the messages of the extended protocol up to the next `Sync`
 * in one transaction, so the settings end with the statement.
 */
export class IndexOrderedQuery extends ExtendedQuery {
  private isSet = false;

  constructor({ text, values = [] }: IndexOrderedStatement) {
    super({ text, values: [...values], queryMode: 'extended' });
  }

  override prepare(connection: Connection): void {
    connection.parse({ name: '', text: AS_STATEMENT });
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
