import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Environment } from '#platform/config';
import { newId } from '#platform/ids';
import { ScoreRepository } from '../../src/evaluation/scores/score.repository';
import { ScoreTargetRepository } from '../../src/evaluation/scores/score-target.repository';
import { RunExecutionRepository } from '../../src/evaluation/scoring/score-runs/run-execution.repository';
import type { Bench } from '../bench';
import { noDeletedTraces } from '../deleted-traces';
import { compare, median } from '../measure';

export const SESSIONS = 100;
const CONCURRENCY = 32;
const POLL_MS = 5;
/** Poll interval of a batch, which takes longer than a run. */
const BATCH_POLL_MS = 100;

interface ScoreRun {
  score_run_id: string;
  scorer_id: string;
  run_status: string;
  finished_at: string | null;
}

/** Exports a trace of one span for each of `SESSIONS` new sessions. Returns the sessions. */
export const newSessions = async (bench: Bench): Promise<string[]> =>
  (await exportSessions(bench)).sessionIds;

/** Exports a trace of one span for each of `SESSIONS` new sessions. Returns the traces. */
export const newTraces = async (bench: Bench, rootName?: string): Promise<string[]> =>
  (await exportSessions(bench, rootName)).traceIds;

async function exportSessions(
  bench: Bench,
  rootName = 'agent',
): Promise<{ sessionIds: string[]; traceIds: string[] }> {
  const sessionIds = Array.from({ length: SESSIONS }, () => newId('ses'));
  const spans = sessionIds.map((sessionId) => ({
    traceId: randomBytes(16).toString('hex'),
    spanId: randomBytes(8).toString('hex'),
    name: rootName,
    startTimeUnixNano: `${Date.now()}000000`,
    endTimeUnixNano: `${Date.now()}000000`,
    attributes: [
      { key: 'session.id', value: { stringValue: sessionId } },
      // distinct questions, so that no cached judgement applies
      { key: 'input.value', value: { stringValue: `What is ${sessionId}?` } },
      { key: 'output.value', value: { stringValue: 'A session.' } },
    ],
  }));
  await bench.http.json('POST', '/telemetry/v1/traces', 200, {
    resourceSpans: [{ scopeSpans: [{ spans }] }],
  });
  return { sessionIds, traceIds: spans.map(({ traceId }) => traceId) };
}

/** Creates a scorer, by default one that does nothing. */
export async function newScorer(bench: Bench, members: object = {}): Promise<string> {
  const scorer = await bench.http.json<{ scorer_id: string }>('POST', '/eval/v1/scorers', 201, {
    workspace_id: bench.scope.workspaceId,
    name: newId('scr'),
    scorer_kind: 'code',
    grain: 'session',
    definition: { language: 'javascript', source: 'function score() { return 1; }' },
    ...members,
  });
  return scorer.scorer_id;
}

/** Runs a scorer over sessions. Returns the milliseconds from the request to the end of the run. */
export const scoreSessions = (
  bench: Bench,
  scorerId: string,
  session_ids: string[],
  concurrency: number,
): Promise<number> => scoreTargets(bench, scorerId, { session_ids, concurrency });

/** Runs a scorer. Returns the milliseconds from the request to the end of the run. */
async function scoreTargets(bench: Bench, scorerId: string, body: object): Promise<number> {
  const startedAt = performance.now();
  await runToEnd(bench, scorerId, body, POLL_MS);
  return performance.now() - startedAt;
}

async function runToEnd(bench: Bench, scorerId: string, body: object, pollMs: number): Promise<ScoreRun> {
  let run = await bench.http.json<ScoreRun>('POST', `/eval/v1/scorers/${scorerId}/score`, 202, body);
  while (run.run_status === 'queued' || run.run_status === 'running') {
    await delay(pollMs);
    run = await bench.http.json<ScoreRun>('GET', `/eval/v1/score-runs/${run.score_run_id}`, 200);
  }
  if (run.run_status !== 'succeeded') throw new Error(`The run ended as ${run.run_status}.`);
  return run;
}

/** Stores the rows of a run without scoring: its targets, and an outcome and a score for each, with the worker's own statements. */
export async function storeDirectly(bench: Bench): Promise<number> {
  const scorerId = await newScorer(bench);
  const runId = newId('run');
  const { orgId, workspaceId } = bench.scope;
  await bench.direct.query(
    `INSERT INTO score_runs (score_run_id, org_id, workspace_id, scorer_id, scorer_version, grain, run_status,
                             concurrency, total, created_at, updated_at, created_by)
     VALUES ($1, $2, $3, $4, 1, 'session', 'running', $5, $6, now(), now(), 'bench')`,
    [runId, orgId, workspaceId, scorerId, CONCURRENCY, SESSIONS],
  );
  const sessionIds = Array.from({ length: SESSIONS }, () => newId('ses'));
  const { database } = bench.direct;
  const outcomes = new RunExecutionRepository(
    database,
    new ScoreTargetRepository(database, noDeletedTraces()),
    new ScoreRepository(database, new Environment()),
  );
  const shared = {
    ...{ trace_id: null, result_experiment_id: null, result_id: null, result_version: null, case_id: null },
  };
  const run = {
    ...{
      score_run_id: runId,
      org_id: orgId,
      workspace_id: workspaceId,
      scorer_id: scorerId,
      scorer_version: 1,
    },
    ...{
      experiment_id: null,
      grain: 'session' as const,
      concurrency: CONCURRENCY,
      total: SESSIONS,
      takeovers: 0,
    },
    ...{ max_cost_usd: null, uses_cache: true, cost_usd: 0, ms_left: 60_000, created_by: 'bench' },
  };
  const startedAt = performance.now();
  await bench.direct.query(
    `INSERT INTO score_targets (score_run_id, ordinal, session_id)
     SELECT $1, place - 1, session_id FROM unnest($2::text[]) WITH ORDINALITY AS s (session_id, place)`,
    [runId, sessionIds],
  );
  const scored = sessionIds.map((session_id, ordinal) => ({
    target: { ...shared, ordinal, session_id },
    scoreId: newId('score'),
    item: { score: 1, elapsed_ms: 0 },
  }));
  for (let at = 0; at < SESSIONS; at += CONCURRENCY)
    await outcomes.store(run, scored.slice(at, at + CONCURRENCY));
  return performance.now() - startedAt;
}

/** Scores 100 sessions with a code scorer that does nothing, in milliseconds (a ratio above 1 is slower). */
export async function noopScorer(bench: Bench): Promise<void> {
  const result = await compare([
    { name: 'direct', measure: () => storeDirectly(bench) },
    {
      name: 'service',
      measure: async () =>
        scoreSessions(bench, await newScorer(bench), await newSessions(bench), CONCURRENCY),
    },
  ]);
  bench.report(`no-op code scorer over ${SESSIONS} sessions, compared with storing the scores`, 'ms', result);
}

const RUNS_AT_ONCE = 10;
const ROUNDS = 8;
/** First rounds, which do not count, because V8 still compiles the service's code. */
const WARM_UPS = 3;
const RUNS_POLL_MS = 250;

/**
 * Scores traces and results with a code scorer that does nothing, ten runs of 100 targets at once. Measures the targets
 * per second until the last run ends, according to the service.
 */
export async function codeTargets(bench: Bench): Promise<void> {
  const scoreAll = async (bodies: object[]): Promise<number> => {
    const scorerId = await newScorer(bench, { grain: 'trace' });
    const startedAt = Date.now();
    const runs = await Promise.all(
      bodies.map((body) => runToEnd(bench, scorerId, { ...body, concurrency: CONCURRENCY }, RUNS_POLL_MS)),
    );
    const endedAt = Math.max(...runs.map(({ finished_at }) => Date.parse(finished_at!)));
    return (bodies.length * SESSIONS) / ((endedAt - startedAt) / 1_000);
  };
  await scoreSessions(bench, await newScorer(bench), await newSessions(bench), CONCURRENCY); // starts the threads
  const ofTraces = await Promise.all(
    Array.from({ length: RUNS_AT_ONCE }, async () => ({ trace_ids: await newTraces(bench) })),
  );
  const ofResults = await Promise.all(
    Array.from({ length: RUNS_AT_ONCE }, async () => {
      const experiment_id = await bench.newExperiment();
      await bench.fillResults(experiment_id, SESSIONS, 0);
      return { experiment_id };
    }),
  );
  const perSecond = async (bodies: object[]): Promise<number> => {
    const rounds: number[] = [];
    for (let round = 0; round < ROUNDS; round++) rounds.push(await scoreAll(bodies));
    return median(rounds.slice(WARM_UPS));
  };
  const traces = await perSecond(ofTraces);
  const results = await perSecond(ofResults);
  bench.line(
    `${RUNS_AT_ONCE} runs of ${SESSIONS} code targets at once: ` +
      `${traces.toFixed(0)} traces/s, ${results.toFixed(0)} results of experiments/s`,
  );
}

const RESULTS = 20_000;
const REQUESTS = 20;

/** Requests runs of 100 unscored results of an experiment with 20,000: right after loading it, and after VACUUM ANALYZE. */
export async function requestRuns(bench: Bench): Promise<void> {
  const experiment_id = await bench.newExperiment();
  await bench.loadResults(experiment_id, RESULTS, 0);
  const scorerId = await newScorer(bench);
  const body = { experiment_id, limit: SESSIONS, unscored_only: true, concurrency: 1 };
  const requestRun = async (): Promise<number> => {
    const startedAt = performance.now();
    const path = `/eval/v1/scorers/${scorerId}/score`;
    const { score_run_id, total } = await bench.http.json<ScoreRun & { total: number }>(
      'POST',
      path,
      202,
      body,
    );
    const ms = performance.now() - startedAt;
    if (total !== SESSIONS) throw new Error(`The run has ${total} targets.`);
    await bench.http.json('POST', `/eval/v1/score-runs/${score_run_id}/cancel`, 200, {});
    return ms;
  };
  const medianMs = async (): Promise<string> => {
    const times: number[] = [];
    for (let n = 0; n < REQUESTS; n++) times.push(await requestRun());
    return median(times).toFixed(0);
  };
  const loaded = await medianMs();
  await bench.direct.query('VACUUM (ANALYZE) results');
  bench.line(
    `request of a run of ${SESSIONS} of ${RESULTS} results: right after loading ${loaded} ms, ` +
      `after VACUUM ANALYZE ${await medianMs()} ms (medians)`,
  );
}

const BATCH_TARGETS = 10_000;

interface ScoreBatch {
  score_batch_id: string;
  batch_status: string;
  completed_count: number;
}

/** Scores targets in a batch, to its end. Returns the milliseconds until the batch was accepted. */
export async function batchToEnd(
  bench: Bench,
  scorerId: string,
  count: number,
  body: object,
): Promise<number> {
  const startedAt = performance.now();
  let batch = await bench.http.json<ScoreBatch>('POST', `/eval/v1/scorers/${scorerId}/batches`, 202, body);
  const acceptedMs = performance.now() - startedAt;
  while (batch.batch_status === 'queued' || batch.batch_status === 'running') {
    await delay(BATCH_POLL_MS);
    batch = await bench.http.json<ScoreBatch>('GET', `/eval/v1/score-batches/${batch.score_batch_id}`, 200);
  }
  if (batch.completed_count !== count) throw new Error(`The batch ended as ${JSON.stringify(batch)}.`);
  return acceptedMs;
}

/** Scores 10,000 traces in one batch with a code scorer that does nothing. Measures targets per second and memory growth. */
export async function scoreBatch(bench: Bench): Promise<void> {
  const root = newId('item');
  for (let sent = 0; sent < BATCH_TARGETS; sent += SESSIONS) await newTraces(bench, root);
  const scorerId = await newScorer(bench, { grain: 'trace' });
  const watch = bench.watchMemory();
  const startedAt = performance.now();
  const acceptedMs = await batchToEnd(bench, scorerId, BATCH_TARGETS, {
    filters: [{ field: 'root_name', op: 'eq', value: root }],
    concurrency: CONCURRENCY,
  });
  const seconds = (performance.now() - startedAt) / 1_000;
  const growth = (await watch.stop()) / 1024 ** 2;
  bench.line(
    `a batch of ${BATCH_TARGETS} code targets: accepted in ${acceptedMs.toFixed(0)} ms, ` +
      `${(BATCH_TARGETS / seconds).toFixed(0)} targets/s, peak memory growth ${growth.toFixed(0)} MiB`,
  );
}
