import { randomBytes } from 'node:crypto';
import { createTestApp, createTestWorker, type TestApp, type TestWorker } from '#testing';
import type { AgreementDto } from '../../../src/evaluation/agreement/agreement.dto';
import { experimentOf } from './comparison.fixture';
import {
  type EvaluationWorkspace,
  outcome,
  type Page,
  places,
  type Result,
  UNKNOWN_IDS,
} from './evaluation.harness';
import { BOOLEAN, HumanScoresFixture, type Scorer, STARS, TONE } from './human-scores.fixture';

type Fields = Record<string, unknown>;

const times = <Value>(count: number, value: Value): Value[] => new Array<Value>(count).fill(value);
const newTraceId = (): string => randomBytes(16).toString('hex');

describe('the agreement of two scorers', () => {
  let app: TestApp;
  let worker: TestWorker;
  let on: HumanScoresFixture;
  let space: EvaluationWorkspace;

  beforeAll(async () => {
    app = await createTestApp();
    worker = await createTestWorker(app);
  });
  beforeEach(async () => {
    on = await HumanScoresFixture.open(app);
    space = on.space;
  });
  afterAll(async () => {
    await worker.close();
    await app.close();
  });

  const code = async (
    source = 'function score({ output }) { return output === "yes"; }',
  ): Promise<Scorer> => {
    const body = {
      name: `code ${Math.random()}`,
      scorer_kind: 'code',
      definition: { language: 'javascript', source },
    };
    return (await space.post<Scorer>('/eval/v1/scorers', body)).body;
  };
  const ask = (scorer: Scorer, query: Record<string, string>) =>
    space.viewer.get<AgreementDto>(
      `/eval/v1/scorers/${scorer.scorer_id}/agreement?${new URLSearchParams(query).toString()}`,
    );
  const agreement = async (scorer: Scorer, reference: Scorer, query: Record<string, string> = {}) => {
    const answer = await ask(scorer, { reference_scorer_id: reference.scorer_id, ...query });
    expect(answer.status).toBe(200);
    return answer.body;
  };
  /** Scores that a client wrote into a result itself. */
  const by = (scorer: Scorer, score: unknown, more: Fields = {}) => ({
    score,
    scorer_id: scorer.scorer_id,
    scorer_version: 1,
    ...more,
  });
  /** Results that both scored, as the client says. */
  const both = (a: Scorer, b: Scorer, pairs: [unknown, unknown][]): Fields[] =>
    pairs.map(([x, y], i) => ({ case_id: `${i}`, scores: { a: by(a, x), b: by(b, y) } }));
  const resultsOf = async (experimentId: string): Promise<Result[]> =>
    (
      await space.viewer.get<Page<Result>>(
        `/eval/v1/experiments/${experimentId}/results?limit=500&sort=created_at`,
      )
    ).body.items;

  it('of a run of the service and of people is worked out trace by trace', async () => {
    // the service says yes, and people too, of 20; only the service of 5, only people of 10; neither of 15
    const said = [...times(25, 'yes'), ...times(25, 'no')];
    const people = [...times(20, true), ...times(5, false), ...times(10, true), ...times(15, false)];
    const id = await experimentOf(
      space,
      said.map((output, i) => ({ case_id: `${i}`, output, trace_id: newTraceId() })),
    );
    const results = await resultsOf(id);
    await space.finalize(id);
    const judge = await code();
    const person = await on.scorer(BOOLEAN);
    for (const [i, { result_id, trace_id }] of results.entries()) {
      // a score of a result is one of its trace
      const target = i % 2 === 0 ? { result_id } : { trace_id };
      await on.score(person, { ...target, value: people[i] });
    }
    const run = await space.evaluator.post(`/eval/v1/scorers/${judge.scorer_id}/score`, {
      experiment_id: id,
    });
    expect(run.status).toBe(202);
    const path = run.headers.get('location')!;
    while (!['succeeded', 'failed'].includes((await space.viewer.get(path)).body.run_status as string)) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const body = await agreement(judge, person);
    expect(body).toMatchObject({
      scorer: { scorer_id: judge.scorer_id, scorer_kind: 'code' },
      reference: { scorer_id: person.scorer_id, name: person.name, scorer_kind: 'human' },
      experiment_id: null,
      units: 50,
      is_truncated: false,
      // rows are what the scorer said: no, then yes
      confusion: { basis: 'score', categories: [0, 1], counts: [[15, 10], [5, 20]], units: 50 },
      mean_absolute_error: { units: 50, value: 0.3 },
    }); // prettier-ignore
    // (0.7 - 0.5) / (1 - 0.5); and alpha: 1 - 99 * 30 / (100^2 - 55^2 - 45^2)
    expect(body.observed_agreement!.value).toBeCloseTo(0.7, 12);
    expect(body.cohens_kappa!.value).toBeCloseTo(0.4, 12);
    expect(body.weighted_kappa!.value).toBeCloseTo(0.4, 12);
    expect(body.krippendorffs_alpha_nominal!.value).toBeCloseTo(0.4, 12);
    expect(body.krippendorffs_alpha_interval!.value).toBeCloseTo(0.4, 12);
    // the ends are those of scipy
    expect(Math.abs(body.cohens_kappa!.confidence_interval!.lower - 0.1334)).toBeLessThan(0.02);
    expect(Math.abs(body.cohens_kappa!.confidence_interval!.upper - 0.6377)).toBeLessThan(0.02);

    expect(await agreement(judge, person)).toEqual(body);
    const swapped = await agreement(person, judge);
    expect(swapped.confusion!.counts).toEqual([[15, 5], [10, 20]]); // prettier-ignore
    expect(swapped.cohens_kappa!.value).toBeCloseTo(0.4, 12);
    // the same, looked for within the experiment; nothing within another
    expect(await agreement(judge, person, { experiment_id: id })).toEqual({ ...body, experiment_id: id });
    const { experiment_id: other } = await space.experiment();
    expect((await agreement(judge, person, { experiment_id: other })).units).toBe(0);
    // people correct themselves
    await on.score(person, { result_id: results[0]!.result_id, value: false });
    expect((await agreement(judge, person)).confusion!.counts).toEqual([[15, 10], [6, 19]]); // prettier-ignore
  });

  it('by labels has a table of them', async () => {
    const [a, b] = [await code(), await on.scorer(TONE)];
    const counts = [[11, 3, 1], [2, 7, 4], [0, 1, 9]]; // prettier-ignore
    const labels = ['curt', 'kind', 'rude'];
    const pairs = counts.flatMap((row, i) => row.flatMap((count, j) => times(count, [labels[i], labels[j]])));
    await experimentOf(
      space,
      pairs.map(([x, y], i) => ({
        case_id: `${i}`,
        // a label alone is a score too
        scores: { a: by(a, null, { label: x }), b: by(b, 0.5, { label: y }) },
      })),
    );
    const body = await agreement(a, b);
    expect(body.confusion).toEqual({ basis: 'label', categories: labels, counts, units: 38 });
    expect(body.cohens_kappa!.value).toBeCloseTo(274 / 483, 12);
    expect(body.observed_agreement!.value).toBeCloseTo(27 / 38, 12);
    expect([body.weighted_kappa, body.krippendorffs_alpha_interval, body.mean_absolute_error]).toEqual([
      null,
      null,
      null,
    ]);
  });

  it('on a continuous scale has no table, but a distance', async () => {
    const [a, b] = [await code(), await on.scorer(STARS)];
    // 0 and 0.5, 1 and 1.5, ... 10 and 10.5: 22 values
    await experimentOf(
      space,
      both(
        a,
        b,
        Array.from({ length: 11 }, (_, i) => [i, i + 0.5]),
      ),
    );
    const body = await agreement(a, b);
    expect([body.units, body.confusion, body.cohens_kappa, body.krippendorffs_alpha_nominal]).toEqual([
      11,
      null,
      null,
      null,
    ]);
    expect(body.mean_absolute_error).toEqual({
      units: 11,
      value: 0.5,
      confidence_interval: { lower: 0.5, upper: 0.5 },
    });
    // the squares of 22 even steps of 0.5 sum up to 221.375 around their mean
    expect(body.krippendorffs_alpha_interval!.value).toBeCloseTo(1 - (21 * 5.5) / (2 * 22 * 221.375), 12);
  });

  it('takes the mean of several people, and for a category what most of them say', async () => {
    const [judge, person] = [await code(), await on.scorer(STARS)];
    const id = await experimentOf(space, [{ case_id: '1', scores: { judge: by(judge, 4) } }, { case_id: '2', scores: { judge: by(judge, 2) } }]);
    const [first, second] = await resultsOf(id);
    const annotators = [on.ann, await on.annotator(), await on.annotator()];
    for (const [i, stars] of [5, 4, 4].entries()) await on.score(person, { result_id: first!.result_id, value: stars }, annotators[i]);
    // said equally often, the newest
    for (const [i, stars] of [1, 3].entries()) await on.score(person, { result_id: second!.result_id, value: stars }, annotators[i]);
    const body = await agreement(judge, person);
    expect(body.mean_absolute_error!.value).toBeCloseTo((1 / 3 + 0) / 2, 12);
    expect(body.confusion).toMatchObject({ categories: [2, 3, 4], counts: [[0, 1, 0], [0, 0, 0], [0, 0, 1]] });
  }); // prettier-ignore

  it('takes of several scores of a unit the newest, and of people those on the present scale', async () => {
    const [judge, person] = [await code(), await on.scorer(STARS)];
    const trace_id = newTraceId();
    const first = await experimentOf(space, [{ case_id: '1', trace_id, scores: { j: by(judge, 0) } }]);
    await experimentOf(space, [{ case_id: '1', trace_id, scores: { j: by(judge, 3) } }]);
    await on.score(person, { trace_id, value: 5 });
    expect((await agreement(judge, person)).mean_absolute_error).toMatchObject({ units: 1, value: 2 });
    expect((await agreement(judge, person, { experiment_id: first })).mean_absolute_error!.value).toBe(5);
    // on another scale the earlier score would be far off
    const changed = await space.editor.patch(`/eval/v1/scorers/${person.scorer_id}`, {
      definition: { rubric: 'Is it good?', output: { type: 'numeric', min: 0, max: 100 } },
    });
    expect(changed.status).toBe(200);
    const other = await experimentOf(space, [{ case_id: '2', scores: { j: by(judge, 60) } }]);
    await on.score(person, { result_id: (await resultsOf(other))[0]!.result_id, value: 90 });
    const body = await agreement(judge, person);
    expect(body.mean_absolute_error).toMatchObject({ value: 30, units: 1 });
  });

  it('can be asked of one version of the scorer', async () => {
    const [judge, person] = [await code(), await on.scorer(BOOLEAN)];
    await experimentOf(space, [
      { case_id: '1', scores: { j: by(judge, 0), p: by(person, 1) } },
      { case_id: '2', scores: { j: by(judge, 1, { scorer_version: 2 }), p: by(person, 1) } },
    ]);
    expect((await agreement(judge, person)).units).toBe(2);
    const second = await agreement(judge, person, { scorer_version: '2' });
    expect([second.units, second.observed_agreement!.value]).toEqual([1, 1]);
  });

  it('pairs sessions with sessions and results with results, and a session never with a trace of its name', async () => {
    const [a, b] = [await code(), await code()];
    const name = newTraceId();
    await experimentOf(space, [{ case_id: '1', session_id: name, scores: { a: by(a, 1) } }]);
    await experimentOf(space, [{ case_id: '1', trace_id: name, scores: { b: by(b, 1) } }]);
    expect((await agreement(a, b)).units).toBe(0);
    await experimentOf(space, [{ case_id: '1', session_id: name, scores: { b: by(b, 0.5) } }]);
    expect((await agreement(a, b)).mean_absolute_error).toMatchObject({ units: 1, value: 0.5 });
  });

  it('has no kappa where nothing varies, and nothing where nothing is shared', async () => {
    const [a, b, c] = [await code(), await on.scorer(BOOLEAN), await on.scorer(BOOLEAN)];
    await experimentOf(space, both(a, b, times(5, [1, 1])));
    const same = await agreement(a, b);
    const none = { units: 5, value: null, confidence_interval: null };
    expect(same).toMatchObject({ cohens_kappa: none, krippendorffs_alpha_nominal: none });
    expect(same.observed_agreement).toEqual({
      units: 5,
      value: 1,
      confidence_interval: { lower: 1, upper: 1 },
    });
    const nothing = await agreement(a, c);
    expect(nothing).toMatchObject({
      units: 0,
      confusion: null,
      mean_absolute_error: null,
      cohens_kappa: null,
    });
  });

  it('looks at the newest 10,000 units, and tells that there are more', async () => {
    const [a, b] = [await code(), await code()];
    const { experiment_id: id } = await space.experiment();
    const fill = (from: number, to: number) =>
      app.database.query(
        `INSERT INTO results (experiment_id, result_id, workspace_id, case_id, scores, score_details, created_at,
                              updated_at, created_by)
         SELECT $1, 'res_' || lpad(n::text, 26, '0'), $2, 'case ' || n,
                jsonb_build_object('a', n % 2, 'b', CASE WHEN n <= 1 THEN 1 - n % 2 ELSE n % 2 END),
                json_build_object('a', json_build_object('scorer_id', $3::text), 'b', json_build_object('scorer_id', $4::text)),
                now(), now(), 'test'
         FROM generate_series($5::int, $6::int) n`,
        [id, space.id, a.scorer_id, b.scorer_id, from, to],
      );
    await fill(1, 10_000);
    const all = await agreement(a, b);
    expect([all.units, all.is_truncated, all.observed_agreement!.value]).toEqual([10_000, false, 0.9999]);
    await fill(10_001, 10_001);
    for (const query of [{}, { experiment_id: id }] as Record<string, string>[]) {
      const most = await agreement(a, b, query);
      // the oldest, of which they disagree, is not among them
      expect([most.units, most.is_truncated, most.observed_agreement!.value]).toEqual([10_000, true, 1]);
    }
  });

  it('finds the few units that a small reference shares with a scorer of many scores', async () => {
    const [many, few] = [await code(), await on.scorer(BOOLEAN)];
    const { experiment_id: id } = await space.experiment();
    await app.database.query(
      `INSERT INTO results (experiment_id, result_id, workspace_id, case_id, scores, score_details, created_at,
                            updated_at, created_by)
       SELECT $1, 'res_' || lpad(n::text, 26, '0'), $2, 'case ' || n, '{"many": 1}',
              json_build_object('many', json_build_object('scorer_id', $3::text)), now(), now(), 'test'
       FROM generate_series(1, 10500) n`,
      [id, space.id, many.scorer_id],
    );
    await on.score(few, { result_id: `res_${'7'.padStart(26, '0')}`, value: true });
    const body = await agreement(many, few);
    expect([body.units, body.is_truncated]).toEqual([1, false]);
    expect((await agreement(few, many)).units).toBe(1);
  });

  describe('refuses', () => {
    it('scorers and experiments that are unknown, or are in another workspace', async () => {
      const [a, b] = [await code(), await on.scorer(BOOLEAN)];
      for (const id of UNKNOWN_IDS) {
        const path = `/eval/v1/scorers/${encodeURIComponent(id)}/agreement?reference_scorer_id=${b.scorer_id}`;
        expect(outcome(await space.viewer.get(path))).toEqual([404, 'not_found']);
        const named = await ask(a, { reference_scorer_id: id });
        expect(outcome(named)).toEqual([404, 'not_found']);
        expect((named.body as unknown as { detail: string }).detail).toContain('reference_scorer_id');
        const query = { reference_scorer_id: b.scorer_id, experiment_id: id };
        expect(outcome(await ask(a, query))).toEqual([404, 'not_found']);
      }
      const foreign = await HumanScoresFixture.open(app);
      const theirs = await foreign.scorer(BOOLEAN);
      expect(outcome(await ask(a, { reference_scorer_id: theirs.scorer_id }))).toEqual([404, 'not_found']);
      expect(outcome(await ask(theirs, { reference_scorer_id: a.scorer_id }))).toEqual([404, 'not_found']);
      const path = `/eval/v1/scorers/${a.scorer_id}/agreement?reference_scorer_id=${b.scorer_id}`;
      expect(outcome(await (await space.sibling()).get(path))).toEqual([404, 'not_found']);
    });

    it('a query without a reference, with itself as one, or with what it does not take', async () => {
      const [a, b] = [await code(), await on.scorer(BOOLEAN)];
      const reference = { reference_scorer_id: b.scorer_id };
      const refusals: [Record<string, string>, string][] = [
        [{}, 'reference_scorer_id'],
        [{ reference_scorer_id: a.scorer_id }, 'reference_scorer_id'],
        [{ ...reference, scorer_version: '0' }, 'scorer_version'],
        [{ ...reference, scorer_version: 'x' }, 'scorer_version'],
        [{ ...reference, since: '2026-01-01' }, 'since'],
      ];
      for (const [query, parameter] of refusals) {
        const answer = await ask(a, query);
        expect([...outcome(answer), ...places(answer)]).toEqual([400, 'invalid_query', parameter]);
      }
      const runtime = await space.organization.as('runtime');
      const path = `/eval/v1/scorers/${a.scorer_id}/agreement?reference_scorer_id=${b.scorer_id}`;
      expect(outcome(await runtime.get(path))).toEqual([403, 'access_denied']);
    });
  });
});
