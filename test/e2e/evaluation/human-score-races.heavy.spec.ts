import { ownApp, newTraceId } from '#testing';
import type { Experiment, Result } from './evaluation.harness';
import {
  type Annotator,
  hold,
  type HumanScore,
  HumanScoresFixture,
  type OpenTransaction,
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

  it('are in both the result and the summary of an experiment that is being finalized, or in neither', async () => {
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
    const means = new Set<number | undefined>();
    for (const result of rounds) {
      const written = (await on.result(result)).scores[scorer.name] ?? undefined;
      const { summary } = await read(result.experiment_id);
      const expected = written === undefined ? {} : { [scorer.name]: { mean: written, count: 1 } };
      expect(summary!.scores).toEqual(expected);
      means.add(written);
    }
    expect(means.has(1) || means.has(2)).toBe(true);
    const stored = await on.space.viewer.get<{ items: HumanScore[] }>(`${SCORES}?limit=500`);
    expect(stored.body.items).toHaveLength(2 * ROUNDS);
  });

  describe('during a finalization', () => {
    it('are in the summary if they came first', async () => {
      const scorer = await on.scorer();
      const result = await newResult({ trace_id: newTraceId() });
      const lock = await hold(app, 'SELECT 1 FROM results WHERE experiment_id = $1 FOR UPDATE', [
        result.experiment_id,
      ]);
      const scored = on.score(scorer, { trace_id: result.trace_id, score: true });
      await untilWaiting(app, 1);
      const finalized = on.space.finalize(result.experiment_id);
      await untilWaiting(app, 2);
      await lock.commit();
      await scored;
      expect((await finalized).summary!.scores).toEqual({ [scorer.name]: { mean: 1, count: 1 } });
      expect((await on.result(result)).scores).toEqual({ [scorer.name]: 1 });
    });

    it('are not in the result if they came later', async () => {
      const scorer = await on.scorer();
      const result = await newResult({ trace_id: newTraceId() });
      const lock = await hold(
        app,
        `UPDATE experiments SET experiment_status = 'completed', summary = '{}' WHERE experiment_id = $1`,
        [result.experiment_id],
      );
      const scored = on.score(scorer, { trace_id: result.trace_id, score: true });
      await untilWaiting(app, 1);
      await lock.commit();
      await scored;
      expect(await on.result(result)).toEqual(result);
    });
  });

  describe('during an upload of results with the same targets', () => {
    /** Delays uploads to an experiment after they have read the scores: their rows wait for a lock. */
    const holdWriteBack = async (experimentId: string): Promise<OpenTransaction> => {
      const name = `wait_in_${experimentId}`;
      await app.database.query(`
        CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN PERFORM pg_advisory_xact_lock(hashtext('${name}')); RETURN NEW; END $$;
        CREATE TRIGGER ${name} BEFORE INSERT ON result_scores FOR EACH ROW
          WHEN (NEW.experiment_id = '${experimentId}') EXECUTE FUNCTION ${name}()`);
      return hold(app, `SELECT pg_advisory_xact_lock(hashtext('${name}'))`, []);
    };

    it('are added to the results if the upload came first', async () => {
      const scorer = await on.scorer(STARS);
      const trace_id = newTraceId();
      const session_id = 'talk';
      await newResult({ trace_id, session_id });
      const earlier = await on.score(scorer, { session_id, score: 1 });
      const { experiment_id } = await on.space.experiment();
      const lock = await holdWriteBack(experiment_id);
      const uploaded = on.space.result(experiment_id, { trace_id, session_id });
      await untilWaiting(app, 1);
      const scored = on.score(scorer, { trace_id, score: 3 }, bob);
      await untilWaiting(app, 2);
      await lock.rollback();
      expect((await uploaded).scores).toEqual({ [scorer.name]: 1 });
      const { score_id } = await scored;
      const result = await on.result(await uploaded);
      expect(result.scores).toEqual({ [scorer.name]: 2 });
      expect(await on.listIds('source=human')).toEqual([score_id, earlier.score_id]);
    });

    it('are in the uploaded results if they came first', async () => {
      const scorer = await on.scorer(STARS);
      const trace_id = newTraceId();
      const earlier = await newResult({ trace_id });
      const { experiment_id } = await on.space.experiment();
      const lock = await hold(app, 'SELECT 1 FROM results WHERE result_id = $1 FOR UPDATE', [
        earlier.result_id,
      ]);
      const scored = on.score(scorer, { trace_id, score: 3 });
      await untilWaiting(app, 1);
      const uploaded = on.space.result(experiment_id, { trace_id });
      await untilWaiting(app, 2);
      await lock.rollback();
      const { score_id } = await scored;
      const result = await uploaded;
      expect(result.scores).toEqual({ [scorer.name]: 3 });
      expect(await on.result(result)).toEqual(result);
      expect(await on.listIds(`trace_id=${trace_id}`)).toEqual([score_id]);
    });

    it('do not make the upload wait for other uploads or for scores that wait for a finalization', async () => {
      const scorer = await on.scorer(STARS);
      const trace_id = newTraceId();
      const session_id = 'talk';
      const earlier = await newResult({ trace_id, session_id });
      await on.score(scorer, { session_id, score: 1 });
      const [slow, quick] = [await on.space.experiment(), await on.space.experiment()];
      const finalizing = await hold(app, 'SELECT 1 FROM experiments WHERE experiment_id = $1 FOR UPDATE', [
        earlier.experiment_id,
      ]);
      const scored = on.score(scorer, { trace_id, score: 3 }, bob);
      await untilWaiting(app, 1);
      const lock = await holdWriteBack(slow.experiment_id);
      const first = on.space.result(slow.experiment_id, { trace_id, session_id });
      await untilWaiting(app, 2);
      const second = await on.space.result(quick.experiment_id, { trace_id, session_id });
      await lock.rollback();
      expect([(await first).scores, second.scores]).toEqual([{ [scorer.name]: 1 }, { [scorer.name]: 1 }]);
      await finalizing.rollback();
      await scored;
      for (const result of [earlier, await first, second]) {
        expect((await on.result(result)).scores).toEqual({ [scorer.name]: 2 });
      }
    });

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
