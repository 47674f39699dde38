import { sharedApp } from '#testing';
import { AgreementFixture, scoreBy } from './agreement.fixture';
import { experimentOf } from './comparison.fixture';
import type { Result } from './evaluation.harness';
import {
  type Annotator,
  BOOLEAN,
  type HumanScoresFixture,
  type Scorer,
  STARS,
  TONE,
} from './human-scores.fixture';

describe('the agreement of a judge with people', () => {
  const app = sharedApp();
  let fixture: AgreementFixture;
  let on: HumanScoresFixture;
  let people: Annotator[];

  beforeEach(async () => {
    fixture = await AgreementFixture.open(app);
    ({ on } = fixture);
    people = [on.ann, await on.annotator(), await on.annotator(), await on.annotator()];
  });

  /** Stores results with the judge's scores. */
  const judged = async (judge: Scorer, scores: unknown[], more: (i: number) => object = () => ({})) =>
    fixture.resultsOf(
      await experimentOf(
        fixture.space,
        scores.map((score, i) => ({
          case_id: `${i}`,
          scores: { judge: scoreBy(judge, score, { ...more(i) }) },
        })),
      ),
    );
  /** Stores one person's answers. @param member the member that answers the output */
  const answer = async (
    scorer: Scorer,
    results: Result[],
    by: Annotator,
    answers: unknown[],
    member = 'score',
  ) => {
    for (const [i, value] of answers.entries()) {
      if (value !== null) await on.score(scorer, { result_id: results[i]!.result_id, [member]: value }, by);
    }
  };
  const valuesOf = ({ confusion, cohens_kappa, tie_count, mean_kappa, people: each, ...rest }: any) => ({
    ...{ tie_count, mean_kappa, confusion, people: each, kappa: cohens_kappa?.value },
    alpha: rest.krippendorffs_alpha_interval?.value,
    error: rest.mean_absolute_error?.value,
  });

  it('does not depend on who answered last: with two people, each disagreement is a tie', async () => {
    const given = [[1, 1, 0, 0], [1, 0, 0, 1]];
    const measured = [];
    for (const order of [[0, 1], [1, 0]]) {
      const [judge, person] = [await fixture.code(), await on.scorer(BOOLEAN)];
      const results = await judged(judge, [1, 1, 0, 0]);
      for (const one of order) await answer(person, results, people[one]!, given[one]!);
      const body = await fixture.agreement(judge, person);
      const swapped = await fixture.agreement(person, judge);
      expect(valuesOf(swapped)).toEqual(valuesOf(body));
      measured.push(valuesOf(body));
    }
    expect(measured[0]).toEqual(measured[1]);
    const personOf = (index: number, cohens_kappa: number) => ({ created_by: people[index]!.id, author: null, units: 4, cohens_kappa });
    expect(measured[0]).toMatchObject({
      ...{ tie_count: 2, kappa: 1, mean_kappa: 0.5, error: 0.25 },
      confusion: { units: 2, categories: [0, 1], counts: [[1, 0], [0, 1]] },
      people: expect.arrayContaining([personOf(0, 1), personOf(1, 0)]),
    });
  }); // oxfmt-ignore

  it('needs more than half of the people: three different answers, or two of four, are a tie', async () => {
    const [judge, person] = [await fixture.judge(TONE), await on.scorer(TONE)];
    const results = await judged(judge, [1, 1, 1, 1], () => ({ label: 'kind' }));
    const answers = [
      ['kind', 'kind', 'kind', 'rude'],
      ['kind', 'curt', 'kind', 'rude'],
      ['curt', 'rude', 'curt', 'rude'],
      [null, null, 'rude', 'kind'],
    ];
    for (const [i, labels] of answers.entries()) await answer(person, results, people[i]!, labels, 'label');
    const body = await fixture.agreement(judge, person);
    expect(body).toMatchObject({ units: 4, tie_count: 2, people_count: 4 });
    expect(body.confusion).toMatchObject({ basis: 'label', categories: ['kind', 'rude'], counts: [[1, 1], [0, 0]] });
    expect(body.observed_agreement).toMatchObject({ units: 2, value: 0.5 });
    expect(body.mean_absolute_error!.units).toBe(4);
    // The label of a result follows the same rule. Its number is the mean over people.
    const labels = [];
    for (const [i, one] of results.entries()) {
      const { score_details, scores } = await on.result(one);
      labels.push((score_details as any)[person.name].label ?? null);
      const numbers = answers.flatMap((by) => (by[i] === null ? [] : [{ kind: 1, curt: 0.25, rude: -1 }[by[i]!]!]));
      expect(scores[person.name]).toBeCloseTo(numbers.reduce((sum, number) => sum + number, 0) / numbers.length, 12);
    }
    expect(labels).toEqual(['kind', null, null, 'rude']);
  }); // oxfmt-ignore

  it('averages numbers without categories, which have no ties and no kappa', async () => {
    const [judge, person] = [await fixture.code(), await on.scorer({ type: 'numeric', min: 0, max: 100 })];
    const scores = Array.from({ length: 15 }, (_, i) => 3 * i);
    const results = await judged(judge, scores);
    await answer(person, results, people[0]!, scores.map((score) => score + 1));
    await answer(person, results, people[1]!, scores.map((score) => score + 2));
    expect(await fixture.agreement(judge, person)).toMatchObject({
      ...{ units: 15, tie_count: 0, confusion: null, cohens_kappa: null, mean_kappa: null, people: [], people_count: 0 },
      mean_absolute_error: { value: 1.5, units: 15 },
    });
  }); // oxfmt-ignore

  it('has no measures of categories if people agree on nothing, but shows each person', async () => {
    const [judge, person] = [await fixture.code(), await on.scorer(STARS)];
    const results = await judged(judge, [1, 5, 3]);
    await answer(person, results, people[0]!, [1, 5, 3]);
    await answer(person, results, people[1]!, [5, 1, 4]);
    const body = await fixture.agreement(judge, person);
    expect(body).toMatchObject({ units: 3, tie_count: 3, confusion: null, cohens_kappa: null, krippendorffs_alpha_nominal: null });
    expect(body.people.map(({ cohens_kappa }) => cohens_kappa!.toFixed(12)).sort()).toEqual([(-2 / 7).toFixed(12), '1.000000000000']);
    expect(body.mean_absolute_error!.value).toBeCloseTo((2 + 2 + 0.5) / 3, 12);
  }); // oxfmt-ignore

  it('counts each author behind an account as a person, once per unit, and skips undefined kappas', async () => {
    const [judge, person] = [await fixture.code(), await on.scorer(BOOLEAN)];
    const [first, second] = await judged(judge, [1, 0]);
    const score = (result: Result, author: string, value: boolean) =>
      on.score(person, { result_id: result.result_id, author, score: value });
    await score(first!, 'ada', false);
    for (const author of ['ada', 'ben']) await score(first!, author, true);
    await score(second!, 'ada', false);
    const body = await fixture.agreement(judge, person);
    expect(body.people).toEqual([
      { created_by: on.ann.id, author: 'ada', units: 2, cohens_kappa: 1 },
      { created_by: on.ann.id, author: 'ben', units: 1, cohens_kappa: null },
    ]);
    expect(body).toMatchObject({ tie_count: 0, mean_kappa: 1, people_count: 2 });
  });

  it('uses the scale of the highest version, whichever version was answered last', async () => {
    const [judge, person] = [await fixture.code(), await on.scorer(BOOLEAN)];
    const results = await judged(judge, [4, 2]);
    const definition = { rubric: 'How many stars?', output: STARS };
    await fixture.space.editor.patch(`/eval/v1/scorers/${person.scorer_id}`, { definition });
    for (const [i, stars] of [4, 2].entries()) {
      const target = { result_id: results[i]!.result_id };
      await on.score(person, { ...target, scorer_version: 2, score: stars }, people[0]!);
      await on.score(person, { ...target, scorer_version: 1, score: true }, people[1]!);
    }
    const body = await fixture.agreement(judge, person);
    expect(body).toMatchObject({ units: 2, tie_count: 0, cohens_kappa: { value: 1 }, mean_absolute_error: { value: 0 } });
    const old = await fixture.agreement(judge, person, { reference_scorer_version: '1' });
    expect(old.mean_absolute_error!.value).toBe(2);
  }); // oxfmt-ignore

  it('takes the score by the highest version of a judge, as results do, even if an older one scored last', async () => {
    const judge = await fixture.code('function score() { return 0 }');
    const person = await on.scorer(BOOLEAN);
    const { experiment_id } = await fixture.space.experiment();
    const { result_id } = await fixture.space.result(experiment_id, { output: 'x' });
    await on.score(person, { result_id, score: true });
    const insert = (version: number, score: number) =>
      app.database.query(
        `INSERT INTO scores (score_id, workspace_id, scorer_id, scorer_version, scorer_kind, scorer_name, source, target_kind,
                             experiment_id, result_id, result_version, score, created_at, created_by)
         VALUES ('score_' || $1::text || right($2, 20), $3, $4, $5::int, 'code', $6, 'hosted', 'result', $7, $2, 1, $8::float8, now(), 'test')`,
        [`z${3 - version}`, result_id, fixture.space.id, judge.scorer_id, version, judge.name, experiment_id, score],
      );
    await insert(2, 1);
    await insert(1, 0);
    const measured = async (query = {}) => (await fixture.agreement(judge, person, query)).observed_agreement!.value;
    expect(await measured()).toBe(1);
    expect(await measured({ scorer_version: '1' })).toBe(0);
  }); // oxfmt-ignore
});
