/** Scoring that never ends: runs and batches that hold the slots of workers and the threads of scorers. */
import { setTimeout as delay } from 'node:timers/promises';
import { attack } from './attack';
import type { Attacker } from './attacker';
import { newExperiment, newScorer } from './prepared';

const LOOP = 'function score() { for (;;); }';
const ONE = 'function score() { return 1; }';
/** Maximum number of results in a request. */
const BULK = 100;
/** Targets of the other organization's run. */
const OTHER_TARGETS = 10;
/** Time in which the other organization's run must end. Shorter than the attack in its full size. */
const OTHER_MS = 7_000;
const POLL_MS = 100;

/** Creates an experiment with this many results, and returns its id. */
async function filledExperiment(attacker: Attacker, results: number): Promise<string> {
  const experiment = await newExperiment(attacker);
  const { workspaceId: workspace_id } = attacker.target;
  for (let sent = 0; sent < results; sent += BULK) {
    const count = Math.min(BULK, results - sent);
    const items = Array.from({ length: count }, (_, n) => ({ case_id: `${sent + n}`, output: n }));
    const path = `/eval/v1/experiments/${experiment}/results/bulk`;
    await attacker.prepare('POST', path, { workspace_id, items });
  }
  return experiment;
}

/** Orders `times` runs or batches over an experiment, a few at a time. */
async function order(attacker: Attacker, path: string, body: object, times: number): Promise<void> {
  let left = times;
  const send = async (): Promise<void> => {
    while (left-- > 0) await attacker.send('POST', path, { body: JSON.stringify(body) });
  };
  await Promise.all(Array.from({ length: 4 }, send));
}

/** Cancels all open runs or batches of the attacker, so that they do not outlast the attack. */
async function cancelAll(attacker: Attacker, kind: 'run' | 'batch'): Promise<void> {
  for (const status of ['queued', 'running']) {
    const path = `/eval/v1/score-${kind === 'run' ? 'runs' : 'batches'}`;
    const { items } = await attacker.prepare('GET', `${path}?${kind}_status=${status}&limit=500`);
    for (const item of items) await attacker.prepare('POST', `${path}/${item[`score_${kind}_id`]}/cancel`);
  }
}

/** Scores ten results in a run. Throws unless it succeeds in time. */
async function scoreTen(other: Attacker): Promise<void> {
  const experiment_id = await filledExperiment(other, OTHER_TARGETS);
  const scorer = await newScorer(other, ONE, 1_000);
  const path = `/eval/v1/scorers/${scorer}/score`;
  const { score_run_id } = await other.prepare('POST', path, { experiment_id });
  for (const end = Date.now() + OTHER_MS; ;) {
    const run = await other.prepare('GET', `/eval/v1/score-runs/${score_run_id}`);
    if (run.run_status === 'succeeded') return;
    if (run.run_status === 'failed') throw new Error(`The run failed: ${run.failure_code}.`);
    if (Date.now() > end)
      throw new Error(`The run of ${OTHER_TARGETS} is ${run.run_status} after ${OTHER_MS} ms.`);
    await delay(POLL_MS);
  }
}

export const endlessRuns = attack({
  name: 'endless-runs',
  title: 'scoring runs and batches whose scorer never ends',
  sizes: {
    test: { runs: 60, batches: 20, targets: 500, loopMs: 2_000, holdMs: 9_000 },
    bench: { runs: 120, batches: 40, targets: 1_000, loopMs: 2_000, holdMs: 25_000 },
  },
  async run(attacker, { runs, batches, targets, loopMs, holdMs }) {
    const [few, many] = await Promise.all([BULK, targets].map((count) => filledExperiment(attacker, count)));
    const scorer = await newScorer(attacker, LOOP, loopMs);
    const path = `/eval/v1/scorers/${scorer}`;
    await Promise.all([
      order(attacker, `${path}/score`, { experiment_id: few }, runs),
      order(attacker, `${path}/batches`, { experiment_id: many }, batches),
    ]);
    await delay(holdMs);
    await cancelAll(attacker, 'batch');
    await cancelAll(attacker, 'run');
  },
  other: scoreTen,
});
