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
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { type Binaries, installedBinaries, usableBinaries } from './binaries';
import { clusterArgument, clusterDirectory, ensureCluster, readPassword, SUPERUSER } from './cluster';
import { claimDirectory } from './directory-claim';
import { freePort } from './free-port';
import { type HeldProcess, holdProcess } from './held-process';
import { isPidInUse, isServerOf } from './process-identity';
import { SERVER_ENVIRONMENT, type ServerUser, serverUser } from './server-user';

/** Name of the database, and of the role that owns it and that the service logs in as. */
const DATABASE = 'registry';

/** How long a server of an earlier run gets to shut down, in milliseconds. */
const SHUTDOWN_PATIENCE_MS = 60_000;

/** Attempts to start against what passes: a port just taken, processes of a killed server that have yet to end. */
const ATTEMPTS = 50;

const PASSING_FAILURE =
  /could not bind|lock file "postmaster.pid" already exists|pre-existing shared memory block/;

/** How {@link startEmbeddedPostgres} runs the server. */
export interface EmbeddedPostgresOptions {
  /** Directory of its own for the database; made when missing. What lies in it is described there. */
  readonly dataDir: string;
  /**
   * For tests: the server promises nothing about a crash, its role may create databases, and `dataDir`, which must
   * be new or empty, is removed with everything in it when the server ends, also when this process is killed.
   */
  readonly ephemeral?: boolean;
  /** Gets short lines about what takes time or is out of the ordinary. */
  readonly log?: (line: string) => void;
  /**
   * Called when the server has ended though nobody stopped it: somebody ended it, or its directory was removed. It is
   * not started again, so the process has no database any more.
   */
  readonly onLost?: (error: Error) => void;
}

/** A running server. */
export interface EmbeddedPostgres {
  /** Connection URL of the database `registry`, password included: never to be logged. */
  readonly url: string;
  /** Shuts the server down, ending the connections that are left, and resolves when it is down. */
  stop(): Promise<void>;
}

/**
 * Runs a PostgreSQL server for this process, from the binaries that npm installed.
 *
 * `dataDir` afterwards holds `cluster` (PostgreSQL's data directory), `server.log` (with that of the run before as
 * `server.log.1`) and `claim-…`, the sign of the process that uses it: one at a time, whatever container it is in. The
 * server holds the claim open as well, so that it keeps other containers away also when it outlives this process.
 *
 * Who can reach it: it listens on 127.0.0.1 only, on a port of its own, has no Unix socket, and asks everyone for a
 * random password (SCRAM-SHA-256) that lies in the data directory, readable by the server's user alone. The service
 * logs in as the role `registry`, which owns the database and is no superuser.
 *
 * How it ends: with `stop()`, or within moments of this process's death, however that comes. It runs in a session of
 * its own, so a Ctrl-C reaches this process and not the server. A server that nevertheless was left over is shut
 * down before a new one starts; a stale `postmaster.pid` does not stop it.
 *
 * As root it runs as an unprivileged user, see {@link serverUser}.
 *
 * @throws Error, with what to do about it, when there are no binaries for the platform, when another process uses
 *   `dataDir`, when that holds data of another major version, or when the server does not come up.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { ephemeral = false, log = () => undefined, onLost } = options;
  const dataDir = path.resolve(options.dataDir);
  const cluster = clusterDirectory(dataDir);
  const installed = installedBinaries();
  const user = serverUser(cluster);
  mkdirSync(dataDir, { recursive: true, mode: user ? 0o711 : 0o700 });
  if (ephemeral && readdirSync(dataDir).length > 0) {
    throw new Error(`${dataDir} is not empty, and an ephemeral database would remove what is in it.`);
  }
  const claim = await claimDirectory(dataDir, { log });
  let server: HeldProcess | undefined;
  let ending: Promise<void> | undefined;
  const end = async () => {
    await server?.stop();
    claim.release();
    if (ephemeral) rmSync(dataDir, { recursive: true, force: true });
  };
  const stop = () => (ending ??= end());
  try {
    const binaries = usableBinaries(installed, user);
    await ensureCluster(dataDir, binaries, user, { ephemeral, log });
    // The shell that removes the directory runs as that user.
    if (user && ephemeral) chownSync(dataDir, user.uid, user.gid);
    const running = await run(dataDir, binaries, user, { ephemeral, log, lock: claim.lock });
    server = running.server;
    void server.ended.then(() => {
      if (ending) return;
      const said = `PostgreSQL has ended by itself; see ${path.join(dataDir, 'server.log')}`;
      if (onLost) onLost(new Error(said));
      else log(said);
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

interface Surroundings {
  readonly ephemeral: boolean;
  readonly log: (line: string) => void;
  readonly lock: number | undefined;
}

async function run(
  dataDir: string,
  binaries: Binaries,
  user: ServerUser,
  { ephemeral, log, lock }: Surroundings,
): Promise<{ server: HeldProcess; port: number }> {
  const cluster = clusterDirectory(dataDir);
  for (let attempt = 1; ; attempt++) {
    await settleEarlierServer(cluster, log);
    const port = await freePort();
    const output = openLog(dataDir);
    const server = holdProcess(
      path.join(binaries.directory, 'bin', 'postgres'),
      ['-D', clusterArgument(cluster, user), ...settings(port, ephemeral)],
      {
        ...user,
        cwd: cluster,
        env: SERVER_ENVIRONMENT,
        output,
        removeAfterwards: ephemeral ? dataDir : undefined,
        keepOpen: lock,
      },
    );
    closeSync(output);
    if (await becomesReady(server, cluster, port, log)) return { server, port };
    const said = server.failure?.message ?? readFileSync(path.join(dataDir, 'server.log'), 'utf8').trim();
    if (attempt === ATTEMPTS || !PASSING_FAILURE.test(said)) {
      throw new Error(`PostgreSQL did not start. It said:\n${said.slice(-2_000)}`);
    }
    await sleep(200);
  }
}

/** Everything else is PostgreSQL's default. Given on the command line, so that a new release can change it. */
function settings(port: number, ephemeral: boolean): string[] {
  const chosen: Record<string, string | number> = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    port,
    timezone: 'UTC',
    // The password is too long to be guessed; more iterations would only make every connection 7 ms slower.
    scram_iterations: 1,
    // Statements and details of errors hold what users send. Errors reach the client, so the log need not have them.
    log_min_messages: 'log',
    log_checkpoints: 'off',
    ...(ephemeral && { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
  };
  return Object.entries(chosen).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
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

/**
 * Shuts down a server that an earlier process left on this cluster (it is doing so by itself when that process was
 * killed), and removes a `postmaster.pid` that PostgreSQL would take for a living server's: it only looks whether
 * there is a process of that number, and after a crash or a reboot that can be any other. The caller holds the
 * directory's claim, so no server is starting meanwhile, and none lives in a container whose processes it cannot see.
 */
async function settleEarlierServer(cluster: string, log: (line: string) => void): Promise<void> {
  const status = readServerStatus(cluster);
  if (status === undefined) return;
  const { pid, port } = status;
  if (!isServerOf(pid, cluster, port)) {
    if (!(pid > 0) || isPidInUse(pid)) rmSync(path.join(cluster, 'postmaster.pid'), { force: true });
    return;
  }
  log(`waiting for the PostgreSQL server of an earlier run to end (pid ${pid})`);
  process.kill(pid, 'SIGINT');
  const deadline = Date.now() + SHUTDOWN_PATIENCE_MS;
  while (isServerOf(pid, cluster, port)) {
    if (Date.now() > deadline) {
      throw new Error(
        `A PostgreSQL server of an earlier run (pid ${pid}) does not shut down. End it, then start again.`,
      );
    }
    await sleep(20);
  }
}

async function becomesReady(
  server: HeldProcess,
  cluster: string,
  port: number,
  log: (line: string) => void,
): Promise<boolean> {
  const slow = setTimeout(
    () => log('PostgreSQL is recovering from a crash; this can take a while'),
    5_000,
  ).unref();
  try {
    while (!server.hasEnded) {
      const status = readServerStatus(cluster);
      if (status?.port === port && status.ready && isServerOf(status.pid, cluster, port)) return true;
      await sleep(10);
    }
    return false;
  } finally {
    clearTimeout(slow);
  }
}

/** Reads `postmaster.pid`, whose lines are described in PostgreSQL's `miscadmin.h`; `pid` is NaN in a damaged one. */
function readServerStatus(cluster: string): { pid: number; port: number; ready: boolean } | undefined {
  let lines: string[];
  try {
    lines = readFileSync(path.join(cluster, 'postmaster.pid'), 'utf8').split('\n');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  return {
    pid: Number.parseInt(lines[0] ?? '', 10),
    port: Number(lines[3]),
    ready: lines[7]?.trim() === 'ready',
  };
}

async function ensureDatabase(superuserUrl: string, password: string, ephemeral: boolean): Promise<void> {
  const client = new Client({ connectionString: superuserUrl });
  client.on('error', () => undefined); // The server was ended; whatever waits for an answer says so.
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
