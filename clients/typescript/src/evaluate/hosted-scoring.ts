import type { ScoreBatch } from '../api/types.cjs';
import type { Client } from '../client.js';
import { sleep } from '../core/retry.js';
import type { RequestOptions } from '../api/calls.cjs';
import { sameName, type SplitScorers } from './scoring.js';
import { plural } from './summary.js';

const ROUNDS = 2;
const WAIT_S = 30;

/** Checks that the hosted scorers exist and can be run, before the task is called. Errors: 404 and `TypeError`. */
export async function checkHosted(client: Client, { local, hosted }: SplitScorers): Promise<void> {
  for (const scorer of hosted) {
    const scorer_id = /^scr_[0-9a-z]{26}$/.test(scorer) ? scorer : `name:${scorer}`;
    const { name, scorer_kind } = await client.api.getScorer({ scorer_id });
    if (local.has(name)) throw sameName(name);
    if (scorer_kind === 'human')
      throw new TypeError(
        `scorers: ${scorer} is of kind human. Scorers of kind human cannot be run; leave it out.`,
      );
  }
}

/**
 * Has the service score the results of an experiment, and waits. What could not be scored is tried once more. Returns why
 * results are left without a score; nothing if none is.
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
    const batches: ScoreBatch[] = [];
    for (const batch of ordered.score_batches) batches.push(await ended(client, batch, options));
    const others = await waitForOthers(client, experimentId, options);
    const unscored = batches.filter(
      ({ batch_status, failed_count }) => batch_status === 'failed' || failed_count > 0,
    );
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
