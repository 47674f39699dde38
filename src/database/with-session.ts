import { type Client, DatabaseError } from 'pg';
import { WatchedClient } from '#platform/db';
import { StartError } from '#platform/process';

/** Codes of PostgreSQL (its manual, appendix A): a wrong user, password or database. */
const WRONG_URL = /^(28|3D)/;
const INSUFFICIENT_PRIVILEGE = '42501';

/**
 * Runs `work` with a connection of its own.
 *
 * @throws StartError if there is no URL, if the database cannot be reached, or if it refuses the connection or a statement
 */
export async function withSession(
  databaseUrl: string | undefined,
  work: (client: Client, databaseUrl: string) => Promise<void>,
): Promise<void> {
  if (!databaseUrl) {
    throw new StartError(
      'DATABASE_URL is required; set it to a PostgreSQL database, such as postgres://user:password@localhost/registry.',
    );
  }
  const client = new WatchedClient({
    connectionString: databaseUrl,
    application_name: 'agent-registry-service migrate',
  });
  await connect(client);
  try {
    await work(client, databaseUrl);
  } catch (error) {
    throw refusalOf(error) ?? error;
  } finally {
    await client.end();
  }
}

async function connect(session: Client): Promise<void> {
  try {
    await session.connect();
  } catch (error) {
    const [first = error] = error instanceof AggregateError ? (error.errors as unknown[]) : [];
    throw new StartError(connectFailure(first as Error), { cause: error });
  }
}

function connectFailure(error: Error): string {
  const { message } = error;
  if (error instanceof DatabaseError) {
    // with another code, such as 53300 for too many connections, the URL is right
    const remedy = WRONG_URL.test(error.code ?? '') ? '; check DATABASE_URL' : '';
    return `The database refuses the connection (${message})${remedy}.`;
  }
  return 'syscall' in error
    ? `The database cannot be reached (${message}); check DATABASE_URL, and that its server is running.`
    : `The connection to the database failed (${message}); check DATABASE_URL.`;
}

/** Returns the error for the operator if the role lacks a privilege. */
function refusalOf(error: unknown): StartError | undefined {
  const { code, message } = error as DatabaseError;
  if (code !== INSUFFICIENT_PRIVILEGE) return undefined;
  return new StartError(
    `The role in DATABASE_URL may not migrate the database (${message}); use the role that owns the database and its tables, or allow this one to create tables and schemas.`,
    { cause: error },
  );
}
