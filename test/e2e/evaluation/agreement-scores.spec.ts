import { sharedApp } from '#testing';
import { AgreementFixture, newTraceId, scoreBy } from './agreement.fixture';
import { experimentOf } from './comparison.fixture';
import { type EvaluationWorkspace, outcome, places, type Result, UNKNOWN_IDS } from './evaluation.harness';
import { BOOLEAN, HumanScoresFixture, STARS, TONE } from './human-scores.fixture';

/** Tests which scores an agreement is computed from. */
describe('the scores behind an agreement', () => {
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
  const resultsOf = (experimentId: string): Promise<Result[]> => fixture.resultsOf(experimentId);
  /** Makes a new version of a scorer, with the same output. */
  const newVersion = async ({ scorer_id }: { scorer_id: string }): Promise<void> => {
    const { status } = await space.editor.patch(`/eval/v1/scorers/${scorer_id}`, { grain: 'session' });
    expect(status).toBe(200);
  };
  const ask: AgreementFixture['ask'] = (...args) => fixture.ask(...args);

  it('include the score of the newest result of each trace, and human scores on the current scale', async () => {
    const [judge, person] = [await code(), await on.scorer(STARS)];
    const trace_id = newTraceId();
    const first = await experimentOf(space, [{ case_id: '1', trace_id, scores: { j: scoreBy(judge, 0) } }]);
    const second = await experimentOf(space, [{ case_id: '1', trace_id, scores: { j: scoreBy(judge, 3) } }]);
    for (const id of [second, first]) {
      await on.score(person, { result_id: (await resultsOf(id))[0]!.result_id, score: 5 });
    }
    expect((await agreement(judge, person)).mean_absolute_error).toMatchObject({ units: 1, value: 2 });
    expect((await agreement(judge, person, { experiment_id: first })).mean_absolute_error!.value).toBe(5);
    // The earlier human score used another scale, so it must not count.
    const changed = await space.editor.patch(`/eval/v1/scorers/${person.scorer_id}`, {
      definition: { rubric: 'Is it good?', output: { type: 'numeric', min: 0, max: 100 } },
    });
    expect(changed.status).toBe(200);
    const other = await experimentOf(space, [{ case_id: '2', scores: { j: scoreBy(judge, 60) } }]);
    await on.score(person, { result_id: (await resultsOf(other))[0]!.result_id, score: 90 });
    const body = await agreement(judge, person);
    expect(body.mean_absolute_error).toMatchObject({ value: 30, units: 1 });
  });

  it('can be limited to one version of the scorer', async () => {
    const [judge, person] = [await code(), await on.scorer(BOOLEAN)];
    await newVersion(judge);
    await experimentOf(space, [
      { case_id: '1', scores: { j: scoreBy(judge, 0), p: scoreBy(person, 1) } },
      { case_id: '2', scores: { j: scoreBy(judge, 1, { scorer_version: 2 }), p: scoreBy(person, 1) } },
    ]);
    expect((await agreement(judge, person)).units).toBe(2);
    const second = await agreement(judge, person, { scorer_version: '2' });
    expect([second.units, second.observed_agreement!.value]).toEqual([1, 1]);
    expect([second.scorer_version, second.reference_scorer_version]).toEqual([2, null]);
  });

  it('can be limited to one version of the reference', async () => {
    const [judge, person] = [await code(), await on.scorer(BOOLEAN)];
    const id = await experimentOf(space, [
      { case_id: '1', scores: { j: scoreBy(judge, 1), p: scoreBy(person, 1) } },
      { case_id: '2', scores: { j: scoreBy(judge, 1) } },
      { case_id: '3', scores: { j: scoreBy(judge, 1) } },
      { case_id: '4', scores: { j: scoreBy(judge, 1) } },
    ]);
    const [, second, third, fourth] = await resultsOf(id);
    await on.score(person, { result_id: third!.result_id, score: true });
    await space.editor.patch(`/eval/v1/scorers/${person.scorer_id}`, {
      definition: { rubric: 'Is it good?', output: TONE },
    });
    await on.score(person, { result_id: fourth!.result_id, label: 'rude' });
    await newVersion(person);
    const patched = await space.editor.patch(`/eval/v1/experiments/${id}/results/${second!.result_id}`, {
      scores: { p: scoreBy(person, 0, { scorer_version: 3 }) },
    });
    expect(patched.status).toBe(200);
    const agreementOf = async (version?: number) => {
      const query: Record<string, string> =
        version === undefined ? {} : { reference_scorer_version: `${version}` };
      const body = await agreement(judge, person, query);
      const { scorer_version, reference_scorer_version } = body;
      return [scorer_version, reference_scorer_version, body.units, body.mean_absolute_error?.value];
    };
    // Without a version, only human scores on the current scale count.
    expect(await agreementOf()).toEqual([null, null, 3, (0 + 1 + 2) / 3]);
    expect(await agreementOf(1)).toEqual([null, 1, 2, 0]);
    expect(await agreementOf(2)).toEqual([null, 2, 1, 2]);
    expect(await agreementOf(3)).toEqual([null, 3, 1, 1]);
    expect(await agreementOf(4)).toEqual([null, 4, 0, undefined]);
  });

  it('are paired only if their targets are the same, of the same kind', async () => {
    const [a, b] = [await code(), await code()];
    const name = newTraceId();
    await experimentOf(space, [{ case_id: '1', session_id: name, scores: { a: scoreBy(a, 1) } }]);
    await experimentOf(space, [{ case_id: '1', trace_id: name, scores: { b: scoreBy(b, 1) } }]);
    expect((await agreement(a, b)).units).toBe(0);
    await experimentOf(space, [{ case_id: '1', session_id: name, scores: { b: scoreBy(b, 0) } }]);
    expect((await agreement(a, b)).units).toBe(0);
    const both = { a: scoreBy(a, 1), b: scoreBy(b, 0.5) };
    await experimentOf(space, [{ case_id: '1', session_id: name, scores: both }]);
    expect((await agreement(a, b)).mean_absolute_error).toMatchObject({ units: 1, value: 0.5 });
  });

  it('include the score sent last when a result has several scores by one scorer', async () => {
    const [judge, person] = [await code(), await on.scorer(BOOLEAN)];
    const scores = {
      b: scoreBy(judge, 0),
      a: scoreBy(judge, 1),
      c: scoreBy(judge, 0),
      p: scoreBy(person, 1),
    };
    await experimentOf(space, [{ case_id: '1', scores }]);
    expect((await agreement(judge, person)).mean_absolute_error).toMatchObject({ units: 1, value: 1 });
  });

  describe('with an invalid request', () => {
    it('return 404 for unknown scorers and experiments, and for scorers of other workspaces', async () => {
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

    it('return 400 without a reference, with the scorer as its own reference, and with invalid values', async () => {
      const [a, b] = [await code(), await on.scorer(BOOLEAN)];
      const reference = { reference_scorer_id: b.scorer_id };
      const cases: [Record<string, string>, string][] = [
        [{}, 'reference_scorer_id'],
        [{ reference_scorer_id: a.scorer_id }, 'reference_scorer_id'],
        [{ ...reference, scorer_version: '0' }, 'scorer_version'],
        [{ ...reference, scorer_version: 'x' }, 'scorer_version'],
        [{ ...reference, reference_scorer_version: '1.5' }, 'reference_scorer_version'],
        [{ ...reference, since: '2026-01-01' }, 'since'],
      ];
      for (const [query, parameter] of cases) {
        const answer = await ask(a, query);
        expect([...outcome(answer), ...places(answer)]).toEqual([400, 'invalid_query', parameter]);
      }
      const runtime = await space.organization.as('runtime');
      const path = `/eval/v1/scorers/${a.scorer_id}/agreement?reference_scorer_id=${b.scorer_id}`;
      expect(outcome(await runtime.get(path))).toEqual([403, 'access_denied']);
    });
  });
});
