import { sharedApp } from '#testing';
import { AgreementFixture } from './agreement.fixture';
import { byScorer, compared, completed, experimentOf, EXPERIMENTS } from './comparison.fixture';
import type { Result } from './evaluation.harness';
import { SCORES } from './human-scores.fixture';

const { MAX_VALUE: MAX, MIN_VALUE: MIN } = Number;

/** Scores, and their exact mean. */
const SETS: [string, number[], number][] = [
  ['the least', [MIN], MIN],
  ['the least and others', [MIN, 0, 0], 0],
  ['the least, twice', [MIN, MIN], MIN],
  ['subnormal', [1e-310, 3e-310], 2e-310],
  ['the greatest, whose sum overflows', [MAX, MAX, MAX], MAX],
  ['the greatest of both signs', [MAX, -MAX, 3], 1],
  ['the most negative', [-1.79e308, -1.79e308, -1.79e308], -1.79e308],
  ['huge and tiny', [-1.79e308, MIN, 1.79e308, 5e-320], 1.25e-320],
  ['negative zero', [-0, 0], 0],
];

describe('statistics of extreme scores', () => {
  const app = sharedApp();
  let fixture: AgreementFixture;
  beforeEach(async () => {
    fixture = await AgreementFixture.open(app);
  });

  const isFinite = (body: unknown): void => expect(JSON.stringify(body)).not.toMatch(/Infinity|NaN/);
  const resultsOf = (scorer: string, scores: readonly number[], extra = {}) =>
    scores.map((score, i) => ({ case_id: `case ${i}`, scores: { [scorer]: { score, ...extra } } }));

  it.each(SETS)('are right for %s', async (_, scores, mean) => {
    const { space } = fixture;
    const trace_id = await fixture.on.exportTrace();
    for (const [i, score] of scores.entries()) {
      const body = { workspace_id: space.id, scorer_name: 's', trace_id, score, author: `${i}` };
      const answer = await space.evaluator.post(SCORES, body);
      expect([answer.status, answer.body.score]).toEqual([201, score + 0]);
    }
    const sorted = [...scores].sort((a, b) => a - b);
    const stats = await space.viewer.post(`${SCORES}/stats/query`, { group_by: ['scorer'] });
    expect([stats.status, stats.body.rows[0]?.values.mean]).toEqual([200, mean]);
    const { values } = stats.body.rows[0];
    expect(values).toMatchObject({ count: scores.length, min: sorted[0]! + 0, max: sorted.at(-1)! + 0 });
    for (const name of ['p10', 'p25', 'p50', 'p75', 'p90', 'p95', 'p99']) {
      expect(values[name]).toBeGreaterThanOrEqual(values.min);
      expect(values[name]).toBeLessThanOrEqual(values.max);
    }
    for (const [sort, expected] of [['score', sorted], ['-score', [...sorted].reverse()]] as const) {
      const listed = await space.list<{ score: number }>(`${SCORES}?sort=${sort}`);
      expect(listed.map(({ score }) => score)).toEqual(expected.map((one) => one + 0));
    }
    for (const bound of new Set(scores.map((one) => one + 0))) {
      const countOf = async (query: string) => (await space.list(`${SCORES}?${query}`)).length;
      expect(await countOf(`min_score=${encodeURIComponent(bound)}`)).toBe(scores.filter((one) => one >= bound).length);
      expect(await countOf(`max_score=${encodeURIComponent(bound)}`)).toBe(scores.filter((one) => one <= bound).length);
      expect((await space.list(`/telemetry/v1/traces?score=s:eq:${encodeURIComponent(bound)}`)).length).toBe(1);
    }

    const id = await experimentOf(space, resultsOf('s', scores));
    const casesOf = async (query: string) =>
      (await space.list<Result>(`${EXPERIMENTS}/${id}/results?${query}`)).map(({ scores: own }) => own.s);
    for (const bound of new Set(scores.map((one) => one + 0))) {
      expect((await casesOf(`score=s:gte:${encodeURIComponent(bound)}`)).length).toBe(scores.filter((one) => one >= bound).length);
      expect((await casesOf(`score=s:lte:${encodeURIComponent(bound)}`)).length).toBe(scores.filter((one) => one <= bound).length);
      expect((await casesOf(`score=s:eq:${encodeURIComponent(bound)}`)).length).toBe(scores.filter((one) => one === bound).length);
    }
    expect((await casesOf('sort=score:s')).map((one) => one! + 0)).toEqual(sorted.map((one) => one + 0));
    const { summary } = await space.finalize(id);
    expect(summary!.scores).toEqual({ s: { mean, count: scores.length } });
    const { body } = await space.viewer.get(`${EXPERIMENTS}/${id}`);
    expect(body.current_scores).toEqual({ s: { mean, count: scores.length } });
    for (const format of ['csv', 'jsonl']) {
      const exported = await space.viewer.get<unknown>(`${EXPERIMENTS}/${id}/results/export?format=${format}`);
      const text = typeof exported.body === 'string' ? exported.body : JSON.stringify(exported.body);
      const found = [...text.matchAll(/"+s"+ ?: ?(-?[\d.e+-]+)/g)].map(([, number]) => Number(number) + 0);
      expect(found).toEqual(scores.map((one) => one + 0));
    }
    const searched = await space.viewer.post(`${EXPERIMENTS}/search`, {
      workspace_id: space.id,
      score: { scorer: 's', gte: mean, lte: mean },
    });
    expect(searched.body.items.map((one: any) => one.experiment_id)).toEqual([id]);

    const baseline = await completed(space, resultsOf('s', scores.map(() => 0)));
    const comparison = await compared(space, id, baseline);
    isFinite(comparison);
    expect(byScorer(comparison, 's')).toMatchObject({ candidate: { mean }, baseline: { mean: 0 } });
    const gate = await space.viewer.post(`${EXPERIMENTS}/${id}/gate`, {
      baseline_experiment_id: baseline,
      rules: [
        { scorer: 's', min_mean: mean },
        { scorer: 's', max_regression: 0 },
        { scorer: 's', min_mean: 0, confident: true },
      ],
    });
    expect(gate.status).toBe(200);
    expect(gate.body.checks[0]).toMatchObject({ status: 'passed', actual: mean });
    isFinite(gate.body);
  }); // oxfmt-ignore

  it.each(SETS)('of agreement exist for %s', async (_, scores) => {
    const { space } = fixture;
    const [a, b] = [await fixture.code(), await fixture.code()];
    const of = (scorer: { scorer_id: string }) => ({ scorer_id: scorer.scorer_id, scorer_version: 1 });
    await experimentOf(
      space,
      scores.map((score, i) => ({
        case_id: `${i}`,
        scores: { a: { score, ...of(a) }, b: { score: scores[(i + 1) % scores.length]!, ...of(b) } },
      })),
    );
    const body = await fixture.agreement(a, b);
    expect(body.units).toBe(scores.length);
    isFinite(body);
  });
});
