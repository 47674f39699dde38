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
 *
 * @param isPrepared whether its text has few variants. Parsing and planning a page takes longer than reading it
 */
export const indexOrdered = ({ text, values }: Sql, isPrepared = false): IndexOrderedStatement => ({
  text,
  values,
  isIndexOrdered: true,
  isPrepared,
});

/** Maximum number of prepared statements, because each connection keeps them with their plans. */
const PREPARED_MAX = 200;

/** Names the first texts that it gets. */
export class StatementNames {
  private readonly names = new Map<string, string>();

  of(text: string): string | undefined {
    const name = this.names.get(text);
    if (name !== undefined || this.names.size === PREPARED_MAX) return name;
    this.names.set(text, `index-ordered-${this.names.size}`);
    return this.names.get(text);
  }
}

/** The parts of the driver that a statement uses. */
interface Connection {
  /** The texts of the statements that the connection has prepared. */
  readonly parsedStatements: Record<string, string | undefined>;
  parse(statement: { name: string; text: string }): void;
  bind(portal: { statement: string; portal: string; values: unknown[] }): void;
  execute(portal: { portal: string }): void;
}

interface ExtendedQuery extends Submittable {
  name: string | undefined;
  prepare(connection: Connection): void;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, connection: Connection): void;
}

const ExtendedQuery = Query as unknown as new (config: {
  name: string | undefined;
  text: string;
  values: unknown[];
  queryMode: 'extended';
}) => ExtendedQuery;

/** The name of the statement with the settings. */
const SETTINGS = 'index-order';

/**
 * Sends the settings and a statement together. PostgreSQL runs the messages of the extended protocol up to the next `Sync`
 * in one transaction, so the settings end with the statement. They also apply when PostgreSQL plans a prepared statement.
 */
export class IndexOrderedQuery extends ExtendedQuery {
  private isSet = false;

  /** @param name prepares the statement under this name */
  constructor({ text, values = [] }: IndexOrderedStatement, name?: string) {
    super({ name, text, values: [...values], queryMode: 'extended' });
  }

  override prepare(connection: Connection): void {
    if (connection.parsedStatements[SETTINGS] === undefined) {
      connection.parse({ name: SETTINGS, text: AS_STATEMENT });
      // the driver would take this statement for prepared as soon as the settings are
      this.name = undefined;
    }
    connection.bind({ statement: SETTINGS, portal: '', values: [] });
    connection.execute({ portal: '' });
    super.prepare(connection);
  }

  override handleDataRow(message: unknown): void {
    if (this.isSet) super.handleDataRow(message);
  }

  override handleCommandComplete(message: unknown, connection: Connection): void {
    if (this.isSet) return super.handleCommandComplete(message, connection);
    connection.parsedStatements[SETTINGS] = AS_STATEMENT;
    this.isSet = true;
  }
}
