import {
  chownSync,
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import path from 'node:path';
import { Client } from 'pg';
import { pause, retry } from '#platform/concurrency';
import { type Binaries, installedBinaries, usableBinaries } from './binaries';
import { clusterArgument, clusterDirectory, ensureCluster, readPassword, SUPERUSER } from './cluster';
import { claimDirectory } from './directory-claim';
import { endEarlierServer, openServerPipe, readServerStatus } from './earlier-server';
import { freePort } from './free-port';
import { type HeldProcess, holdProcess } from './held-process';
import { SERVER_ENVIRONMENT, type ServerUser, serverUser } from './server-user';

/** Name of the database and of the role that owns it, which the service uses. */
const DATABASE = 'registry';

/** Attempts to start, each on another port, because another process may take a free port first. */
const ATTEMPTS = 10;
const PORT_TAKEN = /could not bind/;

/** How {@link startEmbeddedPostgres} runs the server. */
export interface EmbeddedPostgresOptions {
  /** A directory that contains only the database, on a local file system. It is created when missing. */
  readonly dataDir: string;
  /**
   * For tests: data may be lost in a crash, and the role may create databases. `dataDir` must be new or empty. It is
   * removed with its contents when the server ends, even if this process is killed.
   */
  readonly ephemeral?: boolean;
  /** Receives short lines about slow or unusual steps. */
  readonly log?: (line: string) => void;
  /**
   * Called when the server ended without `stop()`, for example because somebody killed it. It is not restarted, so this
   * process has lost its database.
   */
  readonly onLost?: (error: Error) => void;
  /** Called after each attempt to start the server's process, to work while it gets ready. Must not throw. */
  readonly whileStarting?: () => void;
}

/** A running server. */
export interface EmbeddedPostgres {
  /** Connection URL of the database `registry`. Never log it, because it contains the password. */
  readonly url: string;
  /** Ends the remaining connections and shuts the server down. Resolves when it is down. */
  stop(): Promise<void>;
}

/**
 * Runs a PostgreSQL server for this process, from the binaries that npm installed.
 *
 * `dataDir` contains `cluster` (PostgreSQL's data directory), `server.log` (`server.log.1` is the log of the previous run),
 * and two named pipes that keep other processes away: this process holds `claim-…` open, and the server `server.pipe`.
 *
 * Access: the server listens only on 127.0.0.1, on a free port, and has no Unix socket. Every login needs a random password
 * (SCRAM-SHA-256), which is in the data directory and readable only by the server's user. The service logs in as the role
 * `registry`, which owns the database and is not a superuser.
 *
 * End: the server ends with `stop()`, or shortly after this process dies, even by SIGKILL. It runs in its own session, so
 * a Ctrl-C reaches this process and not the server. The next start ends a server that is left over, and is not prevented
 * by a stale `postmaster.pid`.
 *
 * A process of root runs the server as an unprivileged user, see {@link serverUser}.
 *
 * @throws Error that says what to do when there are no binaries for the platform, when another process uses `dataDir`,
 *   when it contains data of another major version, or when the server does not start.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { ephemeral = false, log = () => undefined, onLost, whileStarting } = options;
  const dataDir = path.resolve(options.dataDir);
  const cluster = clusterDirectory(dataDir);
  const installed = installedBinaries();
  const user = serverUser(cluster);
  mkdirSync(dataDir, { recursive: true, mode: user ? 0o711 : 0o700 });
  if (ephemeral && readdirSync(dataDir).length > 0) {
    throw new Error(`${dataDir} is not empty, and an ephemeral database would delete its contents.`);
  }
  const release = await claimDirectory(dataDir);
  let server: HeldProcess | undefined;
  let ending: Promise<void> | undefined;
  const end = async () => {
    await server?.stop();
    release();
    if (ephemeral) rmSync(dataDir, { recursive: true, force: true });
  };
  const stop = () => (ending ??= end());
  try {
    const binaries = usableBinaries(installed, user);
    await ensureCluster(dataDir, binaries, user, { ephemeral, log });
    // The shell that removes the directory runs as this user.
    if (user && ephemeral) chownSync(dataDir, user.uid, user.gid);
    const running = await run(dataDir, binaries, user, { ephemeral, log, whileStarting });
    server = running.server;
    void server.ended.then(() => {
      if (ending) return;
      const message = `PostgreSQL has ended unexpectedly; see ${path.join(dataDir, 'server.log')}`;
      if (onLost) onLost(new Error(message));
      else log(message);
    });
    const password = readPassword(cluster);
    const url = (role: string, database: string) =>
      `postgres://${role}:${password}@127.0.0.1:${running.port}/${database}`;
    await ensureDatabase(url(SUPERUSER, 'postgres'), password, ephemeral);
    return { url: url(DATABASE, DATABASE), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The server did not start. `reason` is its log, or the error of starting its process. */
class StartFailure extends Error {
  constructor(readonly reason: string) {
    super(`PostgreSQL did not start. Its log ends with:\n${reason.slice(-2_000)}`);
  }
}

type StartOptions = Required<Pick<EmbeddedPostgresOptions, 'ephemeral' | 'log'>> &
  Pick<EmbeddedPostgresOptions, 'whileStarting'>;

interface RunningServer {
  server: HeldProcess;
  port: number;
}

/** Starts the server, on another port if a port is taken. */
const run = (
  dataDir: string,
  binaries: Binaries,
  user: ServerUser,
  options: StartOptions,
): Promise<RunningServer> =>
  retry(() => runOnce(dataDir, binaries, user, options), {
    attempts: ATTEMPTS,
    firstDelayMs: 0,
    isRetryable: (error) => error instanceof StartFailure && PORT_TAKEN.test(error.reason),
  });

async function runOnce(
  dataDir: string,
  binaries: Binaries,
  user: ServerUser,
  { ephemeral, log, whileStarting }: StartOptions,
): Promise<RunningServer> {
  const cluster = clusterDirectory(dataDir);
  await endEarlierServer(dataDir, log);
  const port = await freePort();
  const output = openLog(dataDir);
  const pipe = openServerPipe(dataDir);
  const server = holdProcess(
    path.join(binaries.directory, 'bin', 'postgres'),
    ['-D', clusterArgument(cluster, user), ...settings(port, ephemeral)],
    {
      ...user,
      cwd: cluster,
      env: SERVER_ENVIRONMENT,
      output,
      removeAfterwards: ephemeral ? dataDir : undefined,
      inherited: pipe,
    },
  );
  closeSync(output);
  closeSync(pipe);
  whileStarting?.();
  if (await waitUntilReady(server, cluster, port, log)) return { server, port };
  const serverLog = path.join(dataDir, 'server.log');
  throw new StartFailure(server.failure?.message ?? readFileSync(serverLog, 'utf8').trim());
}

/** Settings that differ from PostgreSQL's defaults. They are command-line options, so that a new release can change them. */
function settings(port: number, ephemeral: boolean): string[] {
  const values: Record<string, string | number> = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    port,
    timezone: 'UTC',
    // Nobody can guess the password, so more iterations would only make every connection 7 ms slower.
    scram_iterations: 1,
    // Errors contain user data. They reach the client, so they need not be logged.
    log_min_messages: 'log',
    log_checkpoints: 'off',
    ...(ephemeral
      ? // for tests, whose applications share one server
        { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: 500 }
      : // so that the planner soon knows how many rows a newly loaded table has
        { autovacuum_naptime: '5s' }),
  };
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

function openLog(dataDir: string): number {
  const file = path.join(dataDir, 'server.log');
  try {
    renameSync(file, `${file}.1`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  return openSync(file, 'wx', 0o600);
}

async function waitUntilReady(
  server: HeldProcess,
  cluster: string,
  port: number,
  log: (line: string) => void,
): Promise<boolean> {
  const slow = setTimeout(
    () => log('PostgreSQL is recovering from a crash. This can take a while.'),
    5_000,
  ).unref();
  try {
    while (!server.hasEnded) {
      const status = readServerStatus(cluster);
      if (status?.port === port && status.ready) return true;
      await pause(10);
    }
    return false;
  } finally {
    clearTimeout(slow);
  }
}

async function ensureDatabase(superuserUrl: string, password: string, ephemeral: boolean): Promise<void> {
  const client = new Client({ connectionString: superuserUrl });
  client.on('error', () => undefined); // The failing statement reports the error.
  await client.connect();
  try {
    const { rows } = await client.query<{ role: boolean; database: boolean }>(
      `SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1) AS role,
              EXISTS (SELECT FROM pg_database WHERE datname = $1) AS database`,
      [DATABASE],
    );
    if (!rows[0]?.role) {
      const rights = ephemeral ? 'LOGIN CREATEDB' : 'LOGIN';
      await client.query(`CREATE ROLE ${DATABASE} ${rights} PASSWORD ${client.escapeLiteral(password)}`);
    }
    if (!rows[0]?.database) await client.query(`CREATE DATABASE ${DATABASE} OWNER ${DATABASE}`);
  } finally {
    await client.end();
  }
}
