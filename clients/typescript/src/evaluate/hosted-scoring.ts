import type { ScoreBatch } from '../api/types.cjs';
import type { Client } from '../client.js';
import { ServiceError } from '../core/errors.js';
import { sleep } from '../core/retry.js';
import type { RequestOptions } from '../api/calls.cjs';
import { sameName, type SplitScorers } from './scoring.js';
import { plural } from './summary.js';

const ROUNDS = 2;
const WAIT_S = 30;
const PAGE_SIZE = 500;

/** Checks that the hosted scorers exist and can be run, before the task is called. Errors: 404 and `TypeError`. */
export async function checkHosted(
  client: Client,
  { local, hosted }: SplitScorers,
  options: RequestOptions,
): Promise<void> {
  for (const scorer of hosted) {
    const scorer_id = /^scr_[0-9a-z]{26}$/.test(scorer) ? scorer : `name:${scorer}`;
    const { name, scorer_kind } = await client.api.getScorer({ scorer_id }, options);
    if (local.has(name)) throw sameName(name);
    if (scorer_kind === 'human')
      throw new TypeError(
        `scorers: ${scorer} is of kind human. Scorers of kind human cannot be run; leave it out.`,
      );
    if (scorer_kind === 'llm_judge') await checkJudge(client, scorer, scorer_id, options);
  }
}

/** Has a judge's scorer score nothing, which fails if its judge is not configured. */
async function checkJudge(
  client: Client,
  scorer: string,
  scorer_id: string,
  { signal }: RequestOptions,
): Promise<void> {
  const [since, until] = ['1970-01-01T00:00:00Z', '1970-01-01T00:00:01Z']; // no trace is as old
  try {
    await client.api.runScorer(
      { scorer_id, body: { mode: 'test', since, until } },
      { maxRetries: 2, ...(signal && { signal }) },
    );
  } catch (error) {
    if (!(error instanceof ServiceError) || error.status !== 503) throw error;
    throw new Error(`The scorer ${scorer} cannot be run. ${error.detail}`, { cause: error });
  }
}

/**
 * Has the service score the results of an experiment, and waits. What could not be scored is tried once more. Returns why
 * results are left without a score; nothing if none is. A result with an error needs no score, because it may have no output.
 */
export async function scoreHosted(
  client: Client,
  experimentId: string,
  scorers: readonly string[],
  options: RequestOptions,
): Promise<string[]> {
  if (scorers.length === 0) return [];
  const names = new Map<string, string>();
  for (let round = 1; ; round += 1) {
    const body = { scorers: [...scorers], unscored_only: true };
    const ordered = await client.api.scoreExperiment({ experiment_id: experimentId, body }, options);
    ordered.score_batches.forEach(({ scorer_id }, index) =>
      names.set(scorer_id, scorers[index] ?? scorer_id),
    );
    const unscored: ScoreBatch[] = [];
    for (const started of ordered.score_batches) {
      const batch = await ended(client, started, options);
      const failed_count = await countUnscored(client, experimentId, batch, options);
      if (batch.batch_status === 'failed' || failed_count > 0) unscored.push({ ...batch, failed_count });
    }
    const others = await waitForOthers(client, experimentId, options);
    // another job may have ordered the scores that this round left out, and failed
    if (unscored.length === 0 && (!others || round >= ROUNDS)) return [];
    if (round >= ROUNDS) {
      return unscored.map(
        ({ scorer_id, failed_count, failure_detail }) =>
          `${names.get(scorer_id)}: ${failure_detail ?? `${plural(failed_count, 'result')} without a score.`}`,
      );
    }
  }
}

/** Counts the results without an error that a batch could not score. */
async function countUnscored(
  client: Client,
  experiment_id: string,
  { score_batch_id, failed_count }: ScoreBatch,
  options: RequestOptions,
): Promise<number> {
  if (failed_count === 0) return 0;
  const failed = new Set<string | undefined>();
  const results = client.api.listResults(
    { experiment_id, has_error: true, limit: PAGE_SIZE, total: false },
    options,
  );
  for await (const { result_id } of results) failed.add(result_id);
  if (failed.size === 0) return failed_count;
  let count = failed_count;
  for await (const { score_run_id } of client.api.listScoreRuns({ score_batch_id }, options)) {
    const scored = client.api.listScoreRunResults({ score_run_id, limit: PAGE_SIZE, total: false }, options);
    for await (const { error, result_id } of scored)
      if (error !== undefined && failed.has(result_id)) count -= 1;
  }
  return count;
}

/** Waits for the batches of other jobs over the same experiment. Returns whether there were any. */
async function waitForOthers(
  client: Client,
  experimentId: string,
  options: RequestOptions,
): Promise<boolean> {
  let found = false;
  for (const batch_status of ['queued', 'running'] as const) {
    const list = client.api.listScoreBatches({ experiment_id: experimentId, batch_status }, options);
    for await (const batch of list) {
      found = true;
      await ended(client, batch, options);
    }
  }
  return found;
}

async function ended(client: Client, batch: ScoreBatch, options: RequestOptions): Promise<ScoreBatch> {
  let state = batch;
  while (state.finished_at === null) {
    const asked = Date.now();
    state = await client.api.getScoreBatch({ score_batch_id: batch.score_batch_id, wait_s: WAIT_S }, options);
    // the service answers at once if too many wait
    if (state.finished_at === null && Date.now() - asked < 1000) await sleep(1000, options.signal);
  }
  return state;
}
