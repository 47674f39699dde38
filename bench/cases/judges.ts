import type { Bench } from '../bench';
import { compare } from '../measure';
import { newScorer, newSessions, scoreSessions, SESSIONS, storeDirectly } from './scoring';

const JUDGE_MS = 200;
const RUNS = 20;

const JUDGE = {
  scorer_kind: 'llm_judge',
  definition: { prompt: 'Is {{output}} right for {{input}}?\n{{session}}', output: { type: 'boolean' } },
};
const CHOICES = [
  { value: 'yes', score: 1 },
  { value: 'no', score: 0 },
];
const CLASSIFIER = {
  scorer_kind: 'llm_judge',
  definition: { backend: 'classifier', output: { type: 'choice', choices: CHOICES } },
};

/** Scores 100 sessions in one run. Returns milliseconds. */
async function judgeSessions(bench: Bench, scorer: object, concurrency: number): Promise<number> {
  const scorerId = await newScorer(bench, scorer);
  return scoreSessions(bench, scorerId, await newSessions(bench), concurrency);
}

/** Scores 100 sessions with a judge that takes 200 ms. The baseline is the time of the judge's responses alone. */
export async function judgedRuns(bench: Bench): Promise<void> {
  bench.judge.delayMs = JUDGE_MS;
  for (const concurrency of [1, 4, 32]) {
    const ideal = Math.ceil(SESSIONS / concurrency) * JUDGE_MS;
    const result = await compare([
      { name: 'ideal', measure: () => Promise.resolve(ideal) },
      { name: 'service', measure: () => judgeSessions(bench, JUDGE, concurrency) },
    ]);
    bench.report(
      `${SESSIONS} sessions scored by a judge of ${JUDGE_MS} ms, ${concurrency} at a time`,
      'ms',
      result,
      ['ideal', 'service'],
    );
  }
}

/** Runs 20 such score runs at once, 4 targets at a time each, on two workers, each with 8 runs at a time. */
export async function judgedRunsAtOnce(bench: Bench): Promise<void> {
  bench.judge.delayMs = JUDGE_MS;
  const worker = await bench.addWorker();
  const concurrentCalls = 2 * Math.min(32, 8 * 4);
  const ideal = (RUNS * SESSIONS * JUDGE_MS) / concurrentCalls;
  const runs = async (): Promise<number> => {
    const prepared = await Promise.all(
      Array.from(
        { length: RUNS },
        async () => [await newScorer(bench, JUDGE), await newSessions(bench)] as const,
      ),
    );
    const startedAt = performance.now();
    await Promise.all(prepared.map(([scorerId, sessions]) => scoreSessions(bench, scorerId, sessions, 4)));
    return performance.now() - startedAt;
  };
  try {
    const result = await compare([
      { name: 'ideal', measure: () => Promise.resolve(ideal) },
      { name: 'service', measure: runs },
    ]);
    bench.report(`${RUNS} such score runs at once, 4 at a time each, on two workers`, 'ms', result, [
      'ideal',
      'service',
    ]);
  } finally {
    await worker.stop();
  }
}

/** Measures the targets per second with scorers that take no time. The baseline only stores the scores. */
export async function scoredPerSecond(bench: Bench): Promise<void> {
  bench.judge.delayMs = 0;
  const perSecond = (ms: number): number => (SESSIONS / ms) * 1000;
  const result = await compare([
    { name: 'direct', measure: async () => perSecond(await storeDirectly(bench)) },
    { name: 'code', measure: async () => perSecond(await judgeSessions(bench, {}, 32)) },
    { name: 'classifier', measure: async () => perSecond(await judgeSessions(bench, CLASSIFIER, 32)) },
    { name: 'judge', measure: async () => perSecond(await judgeSessions(bench, JUDGE, 32)) },
  ]);
  const names = ['storing', 'code', 'classifier', 'judge'];
  bench.report('targets scored, by scorers that take no time', 'per second', result, names);
}
