import { type JudgedService, JudgeFixture, withJudge } from './judge.fixture';
import { script } from '../e2e/evaluation/scoring.fixture';

const MIB = 1024 * 1024;
/** A text whose bad part is in the middle, where a cut would remove it. */
const LARGE = `${'fine. '.repeat(MIB / 12)}TERRIBLE${' fine.'.repeat(MIB / 12)}`;

/** Each test is named after the wrong conclusion that it prevents. */
describe('a scorer that cannot be shown all of a target', () => {
  let judge: JudgedService['judge'];
  let fixture: JudgeFixture;
  withJudge((service) => ({ judge, fixture } = service));

  const TOO_LARGE = {
    error: expect.stringMatching(
      /^The (input|output|expected value) has \d+ bytes, but the judge can be shown/,
    ),
    is_truncated: true,
  };

  it.each([
    ['an output', '{{output}}', { input: 'in', output: LARGE }],
    ['an expected value', '{{output}} or {{expected}}', { input: 'in', output: 'out', expected: { text: LARGE } }],
    ['an input', '{{#input.messages}}{{text}}{{/input.messages}}', { input: { messages: [{ text: LARGE }] }, output: 1 }],
  ])('does not give a score to %s that it has not seen', async (_, prompt, result) => {
    const scorer = await fixture.scorer({ prompt });
    const experiment = await fixture.experiment(result, { input: { messages: [] }, output: 'out', expected: 'out' });
    for (const mode of ['preview', 'test'] as const) {
      const [, item] = await fixture.scoreInMode(mode, scorer, experiment);
      expect(item).toMatchObject(TOO_LARGE);
      expect(item).not.toHaveProperty('score');
      expect(item).not.toHaveProperty('preview_request');
    }
    const asked = judge.requests.length;
    const { run, results } = await fixture.completeRun(scorer, experiment);
    expect(results.filter((one) => one.error !== undefined)).toMatchObject([TOO_LARGE]);
    expect(run).toMatchObject({ completed_count: 1, failed_count: 1, too_large_count: 1, truncated_count: 0 });
    expect(judge.requests).toHaveLength(asked + 1);
    const { body } = await fixture.scoring.evaluator.get(`/eval/v1/scores?score_run_id=${run.score_run_id}`);
    expect(body.items).toMatchObject([{ score: 1, is_truncated: false }]);
  }); // oxfmt-ignore

  it('marks scores on a part of a transcript, in previews, tests, runs, batches and the list of scores', async () => {
    const { scoring } = fixture;
    const traceId = await scoring.trace({ input: LARGE, output: 'out', sessionId: 'large' });
    const whole = await scoring.trace({ input: 'in', output: 'out' });
    const scorer = await fixture.scorer({ prompt: '{{output}} in {{trace}}' });
    const items = async (mode: string) =>
      (await scoring.score(scorer, { mode, trace_ids: [traceId, whole] })).body.results;
    for (const mode of ['preview', 'test']) {
      const [one, other] = await items(mode);
      expect([mode, one.is_truncated, other.is_truncated].sort()).toEqual([mode, true, undefined].sort());
    }
    const { body: batch } = await scoring.batch(scorer, { trace_ids: [traceId, whole] });
    expect(await scoring.finishedBatch(batch)).toMatchObject({
      batch_status: 'succeeded',
      truncated_count: 1,
      too_large_count: 0,
    });
    const scores = await scoring.evaluator.get(`/eval/v1/scores?scorer_id=${scorer.scorer_id}`);
    expect(scores.body.items.map((one: any) => [one.trace_id, one.is_truncated]).sort()).toEqual(
      [
        [traceId, true],
        [whole, false],
      ].sort(),
    );
  });

  it('marks scores of sessions with a long message in the middle, but not with a long answer', async () => {
    const { scoring } = fixture;
    const startedAt = Date.now() - 10_000;
    await scoring.traces([
      { sessionId: 'middle', input: 'hi', output: LARGE, startedAt },
      { sessionId: 'middle', input: 'and?', output: 'out', startedAt: startedAt + 1_000 },
      { sessionId: 'answer', input: 'hi', output: LARGE, startedAt },
    ]);
    const scorer = await fixture.scorer({ prompt: '{{output}} in {{session}}' }, { grain: 'session' });
    const answer = await scoring.score(scorer, { mode: 'test', session_ids: ['middle', 'answer'] });
    const items = Object.fromEntries(answer.body.results.map((one: any) => [one.session_id, one]));
    expect(items.middle).toMatchObject({ score: 1, is_truncated: true });
    expect(items.answer).toMatchObject(TOO_LARGE);
  });

  it('marks scores of scripts for a trace with more spans than shown, and of checks that read them', async () => {
    const { scoring } = fixture;
    const trace_ids = [await scoring.trace({ input: 'in', output: 'out', spans: 1_200 })];
    const tested = async (definition: object) => {
      const scorer = await scoring.scorer(definition);
      return (await scoring.score(scorer, { mode: 'test', trace_ids })).body.results[0];
    };
    const counted = await tested(script('function score({ trace }) { return trace.spans.length / 1000; }'));
    expect(counted).toMatchObject({ score: 1, is_truncated: true });
    // A script may read the trace by any name.
    const indirect = await tested(
      script('function score(all) { return all["tr" + "ace"].spans.length / 1000; }'),
    );
    expect(indirect).toMatchObject({ score: 1, is_truncated: true });
    const checks = [{ type: 'contains', values: ['out', 'trace'], match: 'any' }];
    const compared = await tested({ scorer_kind: 'code', definition: { checks } });
    expect(compared).toMatchObject({ score: 1 });
    expect(compared).not.toHaveProperty('is_truncated');
  });

  it('does not let a classifier judge a part of an output', async () => {
    const { scoring } = fixture;
    const classifier = { backend: 'classifier', prompt: null };
    const scorer = await fixture.scorer(classifier);
    const experiment = await fixture.experiment({ input: 'in', output: LARGE });
    const { body } = await scoring.score(scorer, {
      mode: 'preview',
      experiment_id: experiment.experiment_id,
    });
    expect(body.results).toMatchObject([TOO_LARGE]);
  });
});
