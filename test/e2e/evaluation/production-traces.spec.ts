import { sharedApp } from '#testing';
import { AnnotationFixture } from './annotation.fixture';
import { script, ScoringFixture } from './scoring.fixture';

/** A scorer that returns what it sees. */
const SEES = script(
  'function score({ input, output, expected }) { return { score: 1, answers: { input, output, expected } }; }',
);

describe('a production trace that a result of an experiment names', () => {
  const app = sharedApp();
  const OWN = { input: 'asked', output: 'answered', expected: null };
  const OF_RESULT = { input: 'case', output: 'of the result', expected: 'right' };

  it('is judged by its own content, however it is selected, unless the experiment is', async () => {
    const on = await ScoringFixture.create(app);
    const sessionId = 'session-1';
    const traceId = await on.trace({ input: OWN.input, output: OWN.output, sessionId });
    const experiment = await on.experiment();
    await on.result(experiment, { ...OF_RESULT, trace_id: traceId, session_id: sessionId });
    const scorer = await on.scorer(SEES);
    const seen = async (selection: object): Promise<unknown> => {
      const { body } = await on.score(scorer, { mode: 'test', ...selection });
      return body.results.map((one: any) => one.answers);
    };
    const since = new Date(Date.now() - 60_000).toISOString();
    const filters = [{ field: 'root_name', op: 'eq', value: 'root' }];
    for (const selection of [
      { trace_ids: [traceId] },
      { session_ids: [sessionId] },
      { since },
      { since, grain: 'session' },
      { filters },
    ]) {
      expect([selection, await seen(selection)]).toEqual([selection, [OWN]]);
    }
    for (const selection of [{}, { trace_ids: [traceId] }, { session_ids: [sessionId] }, { filters }]) {
      const narrowed = { ...selection, experiment_id: experiment.experiment_id };
      const [one] = (await seen(narrowed)) as [object];
      expect([narrowed, one]).toEqual([narrowed, expect.objectContaining({ expected: 'right' })]);
    }
  });

  it('is shown to annotators and becomes a record by its own content', async () => {
    const on = await AnnotationFixture.open(app);
    const [traceId] = await on.traces(1);
    const { experiment_id } = await on.space.experiment();
    await on.space.result(experiment_id, { ...OF_RESULT, case_id: 'a', trace_id: traceId });
    const scorer = await on.scorer();
    const own = { input: 'question 0', output: 'answer 0', expected: null };
    for (const source of [{ trace_ids: [traceId] }, { filters: [], since: '2020-01-01T00:00:00Z' }]) {
      const queue = await on.queue(scorer, source);
      expect((await on.next(queue)).item).toMatchObject({ trace_id: traceId, ...own });
    }
    const ofExperiment = await on.queue(scorer, { experiment_id });
    expect((await on.next(ofExperiment)).item).toMatchObject(OF_RESULT);
    const { dataset_id } = await on.space.dataset();
    const path = `/eval/v1/datasets/${dataset_id}/records`;
    const made = await on.space.post(`${path}/from-traces`, { trace_ids: [traceId], expected: 'output' });
    expect(made.status).toBe(207);
    expect(await on.space.list(path)).toMatchObject([{ input: own.input, expected: own.output }]);
  });
});
