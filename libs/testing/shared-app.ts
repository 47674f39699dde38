import { Client } from 'pg';
import { rootLogger } from '#platform/logging';
import { afterFile, type Check, checkAfterFile, recordState } from './leftovers';
import { createTestApp, TestApp, type TestAppOptions } from './test-app';
import { TestJudge } from './test-judge';
import { createTestWorker, type TestWorker } from './test-worker';

/** Options with which several files share an application: each set has one application per jest worker. */
export type SharedAppOptions = Pick<TestAppOptions, 'env'>;

/** An application with a scoring worker and the judge that both ask. */
export interface JudgedApp {
  readonly app: TestApp;
  readonly worker: TestWorker;
  readonly judge: TestJudge;
}

/**
 * Variables of every shared application, so that files that differ only in them share one. The prices are in US dollars per
 * million tokens; `usd-per-token` costs one dollar for each token of its input.
 */
const SHARED_ENV = {
  RATE_LIMIT_TIMEOUT_MS: '60000', // a slow machine takes longer than the default
  MODEL_PRICES: JSON.stringify({
    'gpt-test': { input_usd_per_million: 2, output_usd_per_million: 10 },
    priced: { input_usd_per_million: 2, output_usd_per_million: 8 },
    'usd-per-token': { input_usd_per_million: 1_000_000, output_usd_per_million: 0 },
  }),
};

/** US dollars per million tokens of the models in a judged application. */
const JUDGE_PRICE = { input_usd_per_million: 10, output_usd_per_million: 100 };
const JUDGED_ENV = {
  MODEL_PRICES: JSON.stringify({ 'judge-1': JUDGE_PRICE, 'gpt-test': JUDGE_PRICE }),
  OUTBOUND_ALLOW: '127.0.0.0/8',
};

/** The applications of this worker, by their options. */
const shared = new Map<string, Promise<TestApp>>();
/** The check of each shared application, which runs after a file that used it. */
const checkOf = new Map<TestApp, Check>();
/** The judged application of this worker. */
let judged: Promise<JudgedApp> | undefined;

/**
 * Returns an application that this file shares with other files of its jest worker, for the first line of a `describe`. It
 * starts at its first use and stops with the worker. Each test creates its own organization in it. A file that counts the
 * rows that are read, changes tables, stops processes or needs special variables uses {@link ownApp} instead.
 *
 * A file that leaves something behind (an open transaction, a changed table or setting) fails.
 */
export function sharedApp(options: SharedAppOptions = {}): TestApp {
  return handleOf(() => startShared(options), false);
}

/**
 * Returns an application with a scoring worker and a judge, which this file shares with other files of its jest worker, for
 * the first line of a `describe`. Its members can be read once the hooks of the file run. Each test resets the judge.
 *
 * A file that stops the worker or its periodic tasks, or needs Redis or special variables, uses {@link ownApp} instead.
 */
export function sharedJudge(): JudgedApp {
  let running: JudgedApp | undefined;
  beforeAll(async () => {
    judged ??= startJudged();
    running = await judged;
    checkAfterFile(checkOf.get(running.app)!);
  });
  return {
    get app() {
      return running!.app;
    },
    get worker() {
      return running!.worker;
    },
    get judge() {
      return running!.judge;
    },
  };
}

/** Returns an application of this file alone, with a database of its own, which stops after the file. */
export function ownApp(options: TestAppOptions | (() => TestAppOptions) = {}): TestApp {
  return handleOf(() => createTestApp(typeof options === 'function' ? options() : options), true);
}

/** Stops the shared applications of this process. */
export async function closeSharedApps(): Promise<void> {
  const withJudge = await judged?.catch(() => undefined);
  judged = undefined;
  await withJudge?.worker.close();
  await withJudge?.judge.close();
  const starts = [...shared.values()].map((start) => start.catch(() => undefined)); // its tests have failed
  shared.clear();
  for (const app of await Promise.all(starts)) await app?.close();
}

/** Returns an application that is ready once the hooks of the file run. */
function handleOf(start: () => Promise<TestApp>, isOwn: boolean): TestApp {
  const handle = Object.create(TestApp.prototype) as TestApp;
  let running: TestApp | undefined;
  beforeAll(async () => {
    running = await start();
    if (!isOwn) checkAfterFile(checkOf.get(running)!);
    Object.setPrototypeOf(handle, running);
    handle.close = () =>
      isOwn ? running!.close() : Promise.reject(new Error('A shared application stops with its worker.'));
  });
  // after all hooks of the file, which may still need the application: jest calls hooks in the order of their definition
  if (isOwn) afterFile(async () => running?.close());
  return handle;
}

function startShared(options: SharedAppOptions): Promise<TestApp> {
  const key = JSON.stringify(options);
  let app = shared.get(key);
  if (!app) {
    if (shared.size === 0) process.on('message', endWithWorker);
    app = start(options);
    shared.set(key, app);
  }
  return app;
}

async function startJudged(): Promise<JudgedApp> {
  const judge = await TestJudge.listen();
  const app = await startShared({ env: { ...judge.env, ...JUDGED_ENV } });
  const worker = await createTestWorker(app);
  recordState(); // the servers of the judge and the worker stay
  return { app, worker, judge };
}

/** The message with which jest asks a worker process to end. */
const WORKER_END = 2;

function endWithWorker(message: unknown): void {
  if (Array.isArray(message) && message[0] === WORKER_END)
    void closeSharedApps().finally(() => process.exit());
}

async function start({ env }: SharedAppOptions): Promise<TestApp> {
  const app = await createTestApp({ env: { ...SHARED_ENV, ...env } });
  const { level } = rootLogger;
  const client = new Client({ connectionString: app.databaseUrl });
  client.on('error', () => undefined); // the end of the run stops the server
  await client.connect();
  const settings = await settingsOf(client);
  checkOf.set(app, async () => {
    const left = await openTransactions(client);
    if ((await settingsOf(client)) !== settings)
      left.push('a changed table, function or setting of the shared database');
    if (rootLogger.level !== level) left.push(`the log level ${rootLogger.level}`);
    return left;
  });
  recordState(); // the server of the application stays
  return app;
}

async function openTransactions(client: Client): Promise<string[]> {
  const { rows } = await client.query<{
    query: string;
  }>(`SELECT left(query, 80) AS query FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND state LIKE 'idle in transaction%'`);
  return rows.map(({ query }) => `an open transaction in the shared database, after ${query}`);
}

/** Returns a digest of what DDL changes, except partitions, which the service creates and drops. */
async function settingsOf(client: Client): Promise<string> {
  const { rows } = await client.query<{ digest: string }>(`SELECT md5(concat(
    (SELECT string_agg(concat(relname, relkind, relnatts, reloptions), ',' ORDER BY oid) FROM pg_class
       WHERE relnamespace = 'public'::regnamespace AND NOT relispartition),
    (SELECT string_agg(concat(tgname, tgenabled), ',' ORDER BY oid) FROM pg_trigger WHERE tgparentid = 0),
    (SELECT string_agg(concat(proname, md5(prosrc)), ',' ORDER BY oid) FROM pg_proc
       WHERE pronamespace = 'public'::regnamespace),
    (SELECT string_agg(concat(conname, convalidated), ',' ORDER BY oid) FROM pg_constraint
       WHERE connamespace = 'public'::regnamespace AND conislocal), -- those of partitions are inherited
    (SELECT string_agg(setconfig::text, ',') FROM pg_db_role_setting
       JOIN pg_database ON pg_database.oid = setdatabase WHERE datname = current_database()))) AS digest`);
  return rows[0]!.digest;
}
