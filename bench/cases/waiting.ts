import { setTimeout as delay } from 'node:timers/promises';
import { newId } from '#platform/ids';
import type { Bench } from '../bench';
import { compare } from '../measure';

const WAITERS = 100;
/** Requests of one caller that can wait at once. */
const PER_CALLER = 8;
const WINDOW_MS = 5_000;
/** Time until all requests wait. Idle connections publish their counts after 10 s. */
const SETTLE_MS = 12_000;

/** Inserts a run that a worker seems to hold, so that it never ends. Returns its path. */
async function endlessRun(bench: Bench): Promise<string> {
  const id = newId('run');
  await bench.direct.query(
    `INSERT INTO score_runs (score_run_id, org_id, workspace_id, scorer_id, scorer_version, grain, run_status, concurrency,
                             total, started_at, lease_token, lease_expires_at, created_at, updated_at, created_by)
     VALUES ($1, $2, $3, 'scr_bench', 1, 'trace', 'running', 1, 1, now(), 'bench', now() + interval '1 hour', now(), now(), 'bench')`,
    [id, bench.scope.orgId, bench.scope.workspaceId],
  );
  return `/eval/v1/score-runs/${id}?wait_s=30`;
}

/** Returns the headers of a new caller. */
async function newCaller(bench: Bench): Promise<Record<string, string>> {
  const accounts = '/registry/v1/service-accounts';
  const { workspaceId } = bench.scope;
  const account = { name: newId('sva'), roles: ['viewer'], workspace_ids: [workspaceId] };
  const { service_account_id } = await bench.http.json<{ service_account_id: string }>(
    'POST',
    accounts,
    201,
    account,
  );
  const path = `${accounts}/${service_account_id}/keys`;
  const { key } = await bench.http.json<{ key: string }>('POST', path, 201, { name: 'bench' });
  return { authorization: `Bearer ${key}`, 'x-service-workspace-id': workspaceId };
}

/** Counts the transactions of the database per second while 100 requests wait for a run, compared with none. */
export async function waiting(bench: Bench): Promise<void> {
  const path = await endlessRun(bench);
  const callers: Record<string, string>[] = [];
  while (callers.length * PER_CALLER < WAITERS) callers.push(await newCaller(bench));
  const measure = async (): Promise<number> => {
    await delay(SETTLE_MS);
    const before = await transactions(bench);
    await delay(WINDOW_MS);
    return ((await transactions(bench)) - before) / (WINDOW_MS / 1000);
  };
  const withWaiters = async (): Promise<number> => {
    const end = new AbortController();
    const url = `http://127.0.0.1:${bench.http.target.port}${path}`;
    const requests = Array.from({ length: WAITERS }, (_, index) =>
      fetch(url, { headers: callers[Math.floor(index / PER_CALLER)]!, signal: end.signal }).then(
        () => true,
        () => false,
      ),
    );
    const rate = await measure();
    end.abort();
    const answered = (await Promise.all(requests)).filter(Boolean).length;
    if (answered > 0) throw new Error(`${answered} requests did not wait.`);
    return rate;
  };
  const result = await compare([
    { name: 'none', measure },
    { name: `${WAITERS} waiting`, measure: withWaiters },
  ]);
  bench.report(`${WAITERS} requests that wait for a run`, 'transactions/s', result, ['none', 'waiting']);
}

async function transactions(bench: Bench): Promise<number> {
  const [row] = await bench.direct.query<{ count: number }>(
    'SELECT xact_commit::float8 AS count FROM pg_stat_database WHERE datname = current_database()',
  );
  return row!.count;
}
