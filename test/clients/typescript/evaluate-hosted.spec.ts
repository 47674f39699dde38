import { hosted } from '#client';
import { type JudgeReply, sharedJudge } from '#testing';
import { resetJudge } from '../../worker/judge.fixture';
import { Evals, exact, itemsOf } from './evaluate.fixture';

const right: JudgeReply = { content: '{"reasoning":"so it is","value":true}' };

describe('evaluate with scorers of the service', () => {
  const service = sharedJudge();
  let evals: Evals;

  beforeEach(async () => {
    await resetJudge(service);
    evals = await Evals.open(service.app);
    const judge = { prompt: 'Is {{output}} right?', output: { type: 'boolean' as const } };
    const script = {
      language: 'javascript' as const,
      source: 'function score({ output }) { return output >= 0 }',
    };
    const { api } = evals.client;
    await api.createScorer({
      body: { name: 'judged', scorer_kind: 'llm_judge', definition: { backend: 'llm', ...judge } },
    });
    await api.createScorer({ body: { name: 'positive', scorer_kind: 'code', definition: script } });
    await api.createScorer({
      body: {
        name: 'people',
        scorer_kind: 'human',
        definition: { rubric: 'Is it right?', output: judge.output },
      },
    });
  });
  afterEach(() => evals.close());

  const gate = [
    { scorer: 'judged', min_mean: 1 },
    { scorer: 'positive', min_mean: 1 },
    { scorer: 'exact', min_mean: 1 },
  ];
  const scorers = [exact, hosted('judged'), hosted('positive')];

  it('waits for their scores before it checks the gate', async () => {
    service.judge.reply = () => right;
    const summary = await evals.run({ scorers, gate });
    expect(summary).toMatchObject({ status: 'passed', problems: [] });
    expect(
      Object.entries(summary.scores)
        .map(([name, { mean, count }]) => [name, mean, count])
        .sort(),
    ).toEqual([
      ['exact', 1, 3],
      ['judged', 1, 3],
      ['positive', 1, 3],
    ]);
  });

  it('has what could not be scored tried once more', async () => {
    let faults = 1;
    service.judge.reply = () => (faults-- > 0 ? { status: 400, body: 'no' } : right);
    const summary = await evals.run({ scorers: [hosted('judged')], gate: gate.slice(0, 1) });
    expect(summary).toMatchObject({ status: 'passed', scores: { judged: { mean: 1, count: 3 } } });
  });

  it('is incomplete while results have no score, and scores only these when it is started again', async () => {
    let isDown = true;
    service.judge.reply = ({ prompt }) =>
      isDown && prompt.includes('\n1\n') ? { status: 400, body: 'no' } : right;
    const task = jest.fn(({ input }: { input: number }) => input);
    const options = {
      name: evals.name(),
      data: itemsOf(2),
      task,
      scorers: [hosted('judged')],
      gate: gate.slice(0, 1),
    };
    const first = await evals.run(options);
    expect(first).toMatchObject({ status: 'incomplete', gate: null, cases: { done: 2, pending: 0 } });
    expect(first.problems[0]).toMatch(/^judged: .*Start the run again to score them.$/);

    isDown = false;
    service.judge.requests.length = 0;
    const second = await evals.run(options);
    expect(second).toMatchObject({ status: 'passed', resumed: true, experimentId: first.experimentId });
    expect(task).toHaveBeenCalledTimes(2);
    expect(service.judge.requests).toHaveLength(1);
  });

  it('needs no scores of failed cases', async () => {
    const source = 'function score({ output }) { return output.length > 0 }';
    const definition = { language: 'javascript' as const, source };
    await evals.client.api.createScorer({ body: { name: 'long', scorer_kind: 'code', definition } });
    const fails = new Set([1]);
    const summary = await evals.run({
      task: ({ input }) => (fails.has(input) ? Promise.reject(new Error('down')) : `answer ${input}`),
      scorers: [hosted('long')],
      gate: [{ max_error_rate: 0.5 }],
    });
    expect(summary).toMatchObject({
      status: 'passed',
      cases: { done: 2, failed: 1 },
      scores: { long: { mean: 1, count: 2 } },
      problems: [],
    });
  });

  it('completes only after the scores that another job has ordered', async () => {
    service.judge.reply = async () => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      return right;
    };
    const options = {
      name: evals.name(),
      runKey: 'commit-1',
      scorers: [hosted('judged')],
      gate: gate.slice(0, 1),
    };
    const summaries = await Promise.all([evals.run(options), evals.run(options)]);
    expect(summaries.map(({ status }) => status)).toEqual(['passed', 'passed']);
    const experiment = await evals.client.api.getExperiment({ experiment_id: summaries[0].experimentId });
    expect(experiment).toMatchObject({
      late_count: 0,
      summary: { scores: { judged: { mean: 1, count: 3 } } },
    });
  });

  it.each([
    ['does not exist', 'unknown', 'name:unknown does not exist'],
    ['people score by', 'people', 'Scorers of kind human cannot be run'],
  ])('rejects a scorer that %s before it calls the task', async (_, name, message) => {
    const task = jest.fn();
    await expect(evals.run({ scorers: [hosted(name)], task })).rejects.toThrow(message);
    expect(task).not.toHaveBeenCalled();
  });

  it('rejects a hosted scorer with the name of a local one, because its scores would hide the others', async () => {
    const { scorer_id } = await evals.client.api.getScorer({ scorer_id: 'name:judged' });
    for (const scorer of ['judged', scorer_id])
      await expect(
        evals.run({ scorers: [{ name: 'judged', score: () => 1 }, hosted(scorer)] }),
      ).rejects.toThrow('Two scorers have the name judged');
  });
});
