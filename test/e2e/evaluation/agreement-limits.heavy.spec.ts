import { sharedApp } from '#testing';
import { AgreementFixture } from './agreement.fixture';
import { AnnotationFixture, QUEUES } from './annotation.fixture';
import type { EvaluationWorkspace } from './evaluation.harness';
import { BOOLEAN, type HumanScoresFixture } from './human-scores.fixture';
import { fillResultScores } from './result-scores.fixture';

describe('the scores behind a large agreement', () => {
  const app = sharedApp();
  let fixture: AgreementFixture;
  let on: HumanScoresFixture;
  let space: EvaluationWorkspace;

  beforeEach(async () => {
    fixture = await AgreementFixture.open(app);
    ({ on, space } = fixture);
  });

  const code: AgreementFixture['code'] = (source) => fixture.code(source);
  const agreement: AgreementFixture['agreement'] = (...args) => fixture.agreement(...args);

  it('include the newest 10,000 units; a larger number is reported as truncated', async () => {
    const [a, b] = [await code(), await code()];
    const { experiment_id: id } = await space.experiment();
    const fill = async (from: number, to: number) => {
      await app.database.query(
        `INSERT INTO results (experiment_id, result_id, workspace_id, case_id, created_at, updated_at, created_by)
         SELECT $1, 'res_' || lpad(n::text, 16, '0') || right($1, 10), $2, 'case ' || n, now(), now(), 'test'
         FROM generate_series($3::int, $4::int) n`,
        [id, space.id, from, to],
      );
      await fillResultScores(app.database, id, {
        scores: `jsonb_build_object('a', n % 2, 'b', CASE WHEN n <= 1 THEN 1 - n % 2 ELSE n % 2 END)`,
        details: detailsOf({ a, b }),
      });
    };
    await fill(1, 10_000);
    const all = await agreement(a, b);
    expect([all.units, all.is_truncated, all.observed_agreement!.value]).toEqual([10_000, false, 0.9999]);
    await fill(10_001, 10_001);
    for (const query of [{}, { experiment_id: id }] as Record<string, string>[]) {
      const truncated = await agreement(a, b, query);
      // The oldest unit, on which the scorers disagree, is left out.
      expect([truncated.units, truncated.is_truncated, truncated.observed_agreement!.value]).toEqual([
        10_000,
        true,
        1,
      ]);
    }
  });

  describe('with many annotators', () => {
    /** Inserts results, each with one score by the judge and one by each person. */
    const insertScores = async (units: number, people: number) => {
      const [judge, person] = [await code(), await on.scorer(BOOLEAN)];
      const { experiment_id } = await space.experiment();
      await app.database.query(
        `INSERT INTO results (experiment_id, result_id, workspace_id, case_id, created_at, updated_at, created_by)
         SELECT $1, 'res_' || lpad(n::text, 16, '0') || right($1, 10), $2, 'case ' || n, now(), now(), 'test'
         FROM generate_series(1, $3::int) n`,
        [experiment_id, space.id, units],
      );
      await fillResultScores(app.database, experiment_id, {
        scores: `'{"j": 1, "p": 0}'`,
        details: detailsOf({ j: judge, p: person }),
      });
      await app.database.query(
        `INSERT INTO scores (score_id, workspace_id, scorer_id, scorer_version, scorer_kind, scorer_name, source,
                             target_kind, experiment_id, result_id, result_version, score, output_sha256, created_at,
                             created_by)
         SELECT 'score_' || $5 || lpad((n * 100 + p)::text, 22, '0'), $1, $2, 1, 'human', 'p', 'human', 'result', $3,
                'res_' || lpad(n::text, 16, '0') || right($3, 10), 1, (p <> 1)::int, 'o', now(), 'person ' || p
         FROM generate_series(1, $4::int) n CROSS JOIN generate_series(1, $5::text::int) p`,
        [space.id, person.scorer_id, experiment_id, units, `${people}`],
      );
      return { judge, person, experiment_id };
    };

    it('are counted by unit', async () => {
      const { judge, person } = await insertScores(5_500, 3);
      for (const pair of [[judge, person], [person, judge]] as const) {
        const body = await agreement(...pair);
        expect([body.units, body.is_truncated]).toEqual([5_500, false]);
        // Two of three people agree with the judge.
        expect(body.observed_agreement!.value).toBe(1);
        expect(body.mean_absolute_error!.value).toBeCloseTo(1 / 3, 12);
      }
    }, 180_000); // oxfmt-ignore

    it('are reported as truncated', async () => {
      const { judge, person, experiment_id } = await insertScores(1_900, 53);
      for (const query of [{}, { experiment_id }] as Record<string, string>[]) {
        const body = await agreement(judge, person, query);
        expect([body.units, body.is_truncated]).toEqual([1_900, true]);
      }
    }, 180_000);
  });

  it('include the few units that a scorer with many scores shares with the reference', async () => {
    const [many, few] = [await code(), await on.scorer(BOOLEAN)];
    const { experiment_id: id } = await space.experiment();
    await app.database.query(
      `INSERT INTO results (experiment_id, result_id, workspace_id, case_id, created_at, updated_at, created_by)
       SELECT $1, 'res_' || lpad(n::text, 16, '0') || right($1, 10), $2, 'case ' || n, now(), now(), 'test'
       FROM generate_series(1, 10500) n`,
      [id, space.id],
    );
    await fillResultScores(app.database, id, { scores: `'{"many": 1}'`, details: detailsOf({ many }) });
    await on.score(few, { result_id: `res_${'7'.padStart(16, '0')}${id.slice(-10)}`, score: true });
    const body = await agreement(many, few);
    expect([body.units, body.is_truncated]).toEqual([1, false]);
    expect((await agreement(few, many)).units).toBe(1);
  });
});

describe('the agreement of an annotation queue', () => {
  const app = sharedApp();

  it('is truncated when there are more than 100,000 scores', async () => {
    const on = await AnnotationFixture.open(app);
    const scorers = await Promise.all(Array.from({ length: 10 }, () => on.scorer()));
    const scorer_ids = scorers.map(({ scorer_id }) => scorer_id);
    const queue = await on.queue(scorers[0]!, { trace_ids: await on.traces(1) }, { scorer_ids });
    const answer = (from: number, to: number) =>
      app.database.query(
        `INSERT INTO annotation_answers (item_id, principal_id, author, workspace_id, queue_id, outcome, score_ids, created_at)
         SELECT item_id, 'usr_x', n::text, workspace_id, queue_id, 'scored', array_fill('score_x'::text, ARRAY[10]), now()
         FROM annotation_items, generate_series($2::integer, $3::integer) n WHERE queue_id = $1`,
        [queue.queue_id, from, to],
      );
    const isTruncated = async () =>
      (await on.space.viewer.get(`${QUEUES}/${queue.queue_id}/agreement`)).body.is_truncated;
    await answer(1, 10_000);
    expect(await isTruncated()).toBe(false);
    await answer(10_001, 10_001);
    expect(await isTruncated()).toBe(true);
  });
});

/** Returns the SQL of the details that name the scorers of scores. */
function detailsOf(scorers: Record<string, { scorer_id: string }>): string {
  const details = Object.entries(scorers).map(([name, { scorer_id }]) => [name, { scorer_id }]);
  return `'${JSON.stringify(Object.fromEntries(details))}'::jsonb`;
}
