import { ownApp, newTraceId } from '#testing';
import type { Experiment, Result } from './evaluation.harness';
import {
  type Annotator,
  hold,
  type HumanScore,
  HumanScoresFixture,
  type Scorer,
  SCORES,
  STARS,
  untilWaiting,
} from './human-scores.fixture';

const EXPERIMENTS = '/eval/v1/experiments';
/** How many experiments are scored and finalized at the same time. */
const ROUNDS = 40;

/** People score while results are uploaded and experiments are finalized. */
describe('concurrent human scores', () => {
  const app = ownApp({ env: { DATABASE_POOL_SIZE: '10' } });
  let on: HumanScoresFixture;
  let ann: Annotator;
  let bob: Annotator;

  beforeEach(async () => {
    on = await HumanScoresFixture.open(app);
    ann = on.ann;
    bob = await on.annotator();
  });

  const detailOf = (result: Result, scorer: Scorer) =>
    (result.score_details as Record<string, Record<string, unknown>>)[scorer.name];
  const newResult = (fields?: Record<string, unknown>) => on.newResult(fields);
  const read = async (experimentId: string): Promise<Experiment> =>
    (await on.space.viewer.get<Experiment>(`${EXPERIMENTS}/${experimentId}`)).body;

  it('are all counted, even if many people score at once', async () => {
    const scorer = await on.scorer(STARS);
    const trace_id = newTraceId();
    const results = [await newResult({ trace_id }), await newResult({ trace_id })];
    const people = await Promise.all(Array.from({ length: 20 }, () => on.annotator()));
    await Promise.all(
      people.map((person, index) =>
        on.score(
          scorer,
          {
            score: (index % 5) + 1,
            ...(index % 2 === 0 ? { trace_id } : { result_id: results[0]!.result_id }),
          },
          person,
        ),
      ),
    );
    const [both, one] = [await on.result(results[0]!), await on.result(results[1]!)];
    expect(detailOf(both, scorer)!.metadata).toMatchObject({ annotation_count: 20 });
    expect(both.scores[scorer.name]).toBe(3);
    expect(detailOf(one, scorer)!.metadata).toMatchObject({ annotation_count: 10 });
  });

  it('of an experiment that is being finalized are in its summary, or late', async () => {
    const scorer = await on.scorer(STARS);
    const rounds = await Promise.all(
      Array.from({ length: ROUNDS }, async () => newResult({ trace_id: newTraceId() })),
    );
    const statuses = await Promise.all(
      rounds.map(async (result, index) => {
        const target = index % 2 === 0 ? { trace_id: result.trace_id } : { result_id: result.result_id };
        const score = (value: number, by: Annotator) =>
          on.post({ scorer_id: scorer.scorer_id, ...target, score: value }, by);
        const first = score(1, ann);
        if (index % 10 === 0) await first;
        const finalize = async () => {
          for (let wait = 0; wait < index % 7; wait++) await read(result.experiment_id);
          return on.space.finalize(result.experiment_id);
        };
        const answers = await Promise.all([first, score(3, bob), finalize().then(() => ({ status: 200 }))]);
        return answers.map((answer) => answer.status);
      }),
    );
    for (const outcome of statuses) expect(outcome).toEqual([201, 201, 200]);
    const lateCounts = new Set<number>();
    for (const result of rounds) {
      expect((await on.result(result)).scores).toEqual({ [scorer.name]: 2 });
      const { summary, current_scores, late_count } = await read(result.experiment_id);
      expect(current_scores).toEqual({ [scorer.name]: { mean: 2, count: 1 } });
      const isComplete = JSON.stringify(summary!.scores) === JSON.stringify(current_scores);
      expect([result.result_id, late_count]).toEqual([result.result_id, isComplete ? 0 : 1]);
      lateCounts.add(late_count!);
    }
    expect(lateCounts.size).toBeGreaterThan(0);
    const stored = await on.space.viewer.get<{ items: HumanScore[] }>(`${SCORES}?limit=500`);
    expect(stored.body.items).toHaveLength(2 * ROUNDS);
  });

  describe('during a finalization', () => {
    it('are in the summary if they came first', async () => {
      const scorer = await on.scorer();
      const result = await newResult({ trace_id: newTraceId() });
      await on.score(scorer, { trace_id: result.trace_id, score: true });
      const { summary } = await on.space.finalize(result.experiment_id);
      expect(summary!.scores).toEqual({ [scorer.name]: { mean: 1, count: 1 } });
    });

    it('of a result wait for the finalization, and are late', async () => {
      const scorer = await on.scorer();
      const result = await newResult({ trace_id: newTraceId() });
      const lock = await hold(
        app,
        `UPDATE experiments SET experiment_status = 'completed', summary = '{}' WHERE experiment_id = $1`,
        [result.experiment_id],
      );
      const scored = on.score(scorer, { result_id: result.result_id, score: true });
      await untilWaiting(app, 1);
      await lock.commit();
      await scored;
      expect((await on.result(result)).scores).toEqual({ [scorer.name]: 1 });
      expect(await read(result.experiment_id)).toMatchObject({ late_count: 1 });
    });
  });

  describe('during an upload of results with the same targets', () => {
    it('are not blocked while the upload waits for a finalization', async () => {
      const scorer = await on.scorer(STARS);
      const trace_id = newTraceId();
      await newResult({ trace_id });
      const { experiment_id } = await on.space.experiment();
      const finalizing = await hold(app, 'SELECT 1 FROM experiments WHERE experiment_id = $1 FOR UPDATE', [
        experiment_id,
      ]);
      const uploaded = on.space.result(experiment_id, { trace_id });
      await untilWaiting(app, 1);
      await on.score(scorer, { trace_id, score: 3 });
      await finalizing.rollback();
      expect((await uploaded).scores).toEqual({ [scorer.name]: 3 });
    });

    it('are never lost, whatever the order', async () => {
      const scorer = await on.scorer(STARS);
      const results = await Promise.all(
        Array.from({ length: 60 }, async (_, index) => {
          const named = index % 2 === 0 ? { trace_id: newTraceId() } : { session_id: `talk ${index}` };
          await newResult(named);
          const { experiment_id } = await on.space.experiment();
          const score = async (): Promise<void> => {
            for (let wait = 0; wait < index % 5; wait++) await read(experiment_id);
            await on.score(scorer, { ...named, score: 4 });
          };
          const upload = async (): Promise<Result> => {
            for (let wait = 0; wait < index % 7; wait++) await read(experiment_id);
            return on.space.result(experiment_id, named);
          };
          return (await Promise.all([upload(), score()]))[0];
        }),
      );
      for (const result of results) expect((await on.result(result)).scores).toEqual({ [scorer.name]: 4 });
      const atOnce = results.filter((result) => scorer.name in result.scores).length;
      expect(atOnce).toBeGreaterThan(0);
      expect(atOnce).toBeLessThan(60);
    });
  });
});
