import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { EvaluateOptions } from '#client';
import { sharedApp } from '#testing';
import { cut, Evals, exact, isUpload, itemsOf } from './evaluate.fixture';

describe('evaluate, when it is started again', () => {
  const app = sharedApp();
  let evals: Evals;

  beforeAll(async () => {
    evals = await Evals.open(app);
  });
  afterAll(() => evals.close());

  /** Returns a task that returns its input, notes its calls, and aborts the run in the call for an input. */
  const taskThatStops = (stopAt: number) => {
    const calls: number[] = [];
    const stop = new AbortController();
    const task = async ({ input, signal }: { input: number; signal: AbortSignal }) => {
      if (input === stopAt && !stop.signal.aborted) {
        stop.abort(new Error('Ctrl-C'));
        await new Promise((_, reject) =>
          signal.addEventListener('abort', () => reject(new Error('aborted'))),
        );
      }
      calls.push(input);
      return input;
    };
    return { calls, task, signal: stop.signal };
  };

  it('continues a run that was aborted, and calls only what is left', async () => {
    const { calls, task, signal } = taskThatStops(3);
    const options = { name: evals.name(), data: itemsOf(6), task, scorers: [exact] };
    const first = await evals.run({ ...options, signal });
    expect(first).toMatchObject({
      status: 'incomplete',
      cases: { total: 6, done: 3, pending: 3, called: 3 },
    });
    expect(first.problems).toEqual(['The run ended early: Error: Ctrl-C. Start the run again to continue.']);
    expect(await evals.results(first.experimentId)).toHaveLength(3);

    const second = await evals.run(options);
    expect(second).toMatchObject({ status: 'completed', resumed: true, cases: { done: 6, called: 3 } });
    expect(second.experimentId).toBe(first.experimentId);
    expect(second.problems[1]).toMatch(/^Results from before this start: 3. .* start a new run with --fresh/);
    expect(calls).toEqual([0, 1, 2, 3, 4, 5]);
    const { summary } = await evals.client.api.getExperiment({ experiment_id: second.experimentId });
    expect(summary!.metrics).toEqual({ cases: 6, successful_cases: 6, failed_cases: 0 });

    // the run has ended, so the next one is new
    const third = await evals.run(options);
    expect(third).toMatchObject({ resumed: false, cases: { called: 6 } });
  });

  it('does not call the task again where only the scores were missing', async () => {
    const calls: number[] = [];
    const stop = new AbortController();
    const options = {
      name: evals.name(),
      data: itemsOf(2),
      task: ({ input }: { input: number }) => (calls.push(input), { input, at: new Date(0) }),
    };
    const late = ({ output }: { output: { at: string } }) => {
      if (stop.signal.aborted) return output.at === '1970-01-01T00:00:00.000Z';
      stop.abort(new Error('Ctrl-C'));
      return new Promise<never>(() => undefined);
    };
    await evals.run({ ...options, signal: stop.signal, scorers: [late] });
    const second = await evals.run({ ...options, scorers: [late] });
    expect(second.scores['late']).toMatchObject({ mean: 1, count: 2 });
    expect(second.problems.join()).toContain('Took over 1 finished call of an earlier process.');
    expect(calls).toEqual([0, 1]);
  });

  it.each<[string, Partial<EvaluateOptions>]>([
    ['the task', { task: () => 'broken' }],
    ['a scorer', { scorers: [{ name: 'exact', score: () => 0 }] }],
  ])('starts a new run if %s has changed', async (_, changed) => {
    const { task, signal } = taskThatStops(1);
    const options = { name: evals.name(), data: itemsOf(2), task, scorers: [exact] };
    await evals.run({ ...options, signal });
    const second = await evals.run({ ...options, ...changed });
    expect(second).toMatchObject({ resumed: false, cases: { called: 2 } });
  });

  it('counts cases, and not results, when it is interrupted', async () => {
    const { task, signal } = taskThatStops(1);
    const { cases } = await evals.run({ data: itemsOf(3), trials: 2, task, signal });
    expect(cases).toEqual({ total: 3, done: 1, failed: 0, pending: 2, called: 2 });
  });

  it('starts a new run with `resume: false`', async () => {
    const { task, signal } = taskThatStops(1);
    const options = { name: evals.name(), data: itemsOf(2), task };
    const first = await evals.run({ ...options, signal });
    const second = await evals.run({ ...options, resume: false });
    expect(second).toMatchObject({ status: 'completed', resumed: false, cases: { called: 2 } });
    expect(second.experimentId).not.toBe(first.experimentId);
    expect(evals.spools(options.name)).toEqual([]);
  });

  describe('with a run key', () => {
    it('goes straight to the gate once the run was completed', async () => {
      const options = {
        name: evals.name(),
        runKey: 'commit-1',
        scorers: [exact],
        gate: [{ scorer: 'exact', min_mean: 1 }],
      };
      const first = await evals.run(options);
      const task = jest.fn();
      const second = await evals.run({ ...options, task });
      expect(second).toMatchObject({ status: 'passed', resumed: true, cases: { done: 3, called: 0 } });
      expect(second.experimentId).toBe(first.experimentId);
      expect(second.problems[0]).toContain('was completed before, so no task was called');
      expect(task).not.toHaveBeenCalled();
    });

    it('calls failed cases again, and completes the run when they succeed', async () => {
      const options = {
        name: evals.name(),
        runKey: 'commit-1',
        scorers: [exact],
        gate: [{ max_error_rate: 0 }],
      };
      const calls: number[] = [];
      const taskOf = (fails: boolean) => (one: { input: number }) => {
        calls.push(one.input);
        if (fails && one.input === 1) throw new Error('The model is down.');
        return one.input;
      };
      const first = await evals.run({ ...options, task: taskOf(true) });
      expect(first).toMatchObject({ status: 'failed', cases: { failed: 1 } });
      expect(first.problems[0]).toContain(
        'The experiment stays open. Start the run again to repeat its failed cases (1).',
      );
      const second = await evals.run({ ...options, task: taskOf(false) });
      expect(second).toMatchObject({ status: 'passed', cases: { done: 3, failed: 0, called: 1 } });
      expect(calls).toEqual([0, 1, 2, 1]);
      const results = await evals.results(second.experimentId);
      expect(results.map(({ output, error, scores }) => [output, error, scores])).toEqual([
        [0, null, { exact: 1 }],
        [1, null, { exact: 1 }],
        [2, null, { exact: 1 }],
      ]);
    });

    it('scores the stored output where only a scorer failed', async () => {
      const options = { name: evals.name(), runKey: 'commit-1', gate: [{ max_error_rate: 0 }] };
      const scorerOf = (fails: boolean) => ({
        name: 'exact',
        score: (one: { output: unknown; expected: unknown }) => {
          if (fails && one.output === 1) throw new Error('A typo.');
          return one.output === one.expected;
        },
      });
      const first = await evals.run({ ...options, scorers: [scorerOf(true)] });
      expect(first).toMatchObject({ status: 'failed', cases: { failed: 1, called: 3 } });
      const [, before] = await evals.results(first.experimentId);
      const task = jest.fn();
      const second = await evals.run({ ...options, task, scorers: [scorerOf(false)] });
      expect(second).toMatchObject({ status: 'passed', cases: { done: 3, failed: 0, called: 0 } });
      expect(task).not.toHaveBeenCalled();
      const [, after] = await evals.results(second.experimentId);
      expect(before).toMatchObject({ output: 1, error: 'Scorer exact: Error: A typo.', scores: {} });
      const { trace_id } = before!;
      expect(after).toMatchObject({ output: 1, error: null, scores: { exact: 1 }, trace_id });
    });

    it('counts the cases that still fail when it is interrupted', async () => {
      const options = { name: evals.name(), runKey: 'commit-1', data: itemsOf(6) };
      const gate = [{ max_error_rate: 0 }];
      const fail = ({ input }: { input: number }) =>
        input < 2 ? input : Promise.reject(new Error('The model is down.'));
      await evals.run({ ...options, gate, task: fail });
      const { task, signal } = taskThatStops(4);
      const seen: number[] = [];
      const onProgress = ({ finished }: { finished: number }) => seen.push(finished);
      const second = await evals.run({ ...options, gate, task, signal, onProgress });
      expect(second.cases).toEqual({ total: 6, done: 4, failed: 2, pending: 0, called: 2 });
      expect(seen).toEqual([3, 4]);
    });

    it('never replaces a success of another job by a failure', async () => {
      const options = { name: evals.name(), runKey: 'commit-1', gate: [{ max_error_rate: 0 }] };
      const fail = () => {
        throw new Error('down');
      };
      const { experimentId: experiment_id } = await evals.run({ ...options, task: fail });
      const [, stored] = await evals.results(experiment_id);
      const second = await evals.run({
        ...options,
        task: async ({ id }) => {
          const item = {
            case_id: id,
            dataset_record_id: stored!.dataset_record_id,
            output: 'of the other job',
          };
          if (id === 'c1') {
            const body = { on_conflict: 'replace' as const, items: [item] };
            await evals.client.api.createResultsBulk({ experiment_id, body });
          }
          fail();
        },
      });
      expect(second.cases).toMatchObject({ done: 1, failed: 2 });
      expect((await evals.results(experiment_id))[1]).toMatchObject({
        output: 'of the other job',
        error: null,
      });
    });

    it('stores each case once if two jobs run at the same time', async () => {
      const options = {
        name: evals.name(),
        runKey: 'commit-1',
        data: itemsOf(150),
        concurrency: 5,
        scorers: [exact],
      };
      const calls: number[][] = [[], []];
      const run = (job: number) =>
        evals.run({
          ...options,
          task: async ({ input }: { input: number }) => {
            calls[job]!.push(input);
            await new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
            return input;
          },
        });
      const [one, other] = await Promise.all([run(0), run(1)]);
      expect(one.experimentId).toBe(other.experimentId);
      expect([one.status, other.status]).toEqual(['completed', 'completed']);
      expect([one.cases.done, other.cases.done]).toEqual([150, 150]);
      expect(one.uploads.stored + other.uploads.stored).toBe(150);
      expect(new Set(calls.flat()).size).toBe(150);
      for (const own of calls) expect(new Set(own).size).toBe(own.length);
      expect(await evals.results(one.experimentId)).toHaveLength(150);
    });

    it.each<['completed' | 'failed', string, string]>([
      ['completed', 'completed the experiment', 'although 50 of 50 cases lack a result'],
      ['failed', 'marked the experiment as failed', 'Start it again for a new run.'],
    ])('is incomplete if another job ends the experiment as %s', async (experiment_status, what, advice) => {
      const runKey = `ended as ${experiment_status}`;
      const seen: number[] = [];
      const name = evals.name();
      const summary = await evals.run({
        name,
        data: itemsOf(50),
        runKey,
        task: async ({ input, signal }) => {
          seen.push(input);
          if (input !== 3) return input;
          const { items } = await evals.client.api.listExperiments({
            run_key: runKey,
            experiment_status: 'running',
          });
          for (const { experiment_id } of items) {
            await evals.client.api.updateExperiment({
              experiment_id,
              body: { experiment_status },
            });
          }
          await new Promise((_, reject) =>
            signal.addEventListener('abort', () => reject(new Error('not needed'))),
          );
        },
      });
      expect(seen).toEqual([0, 1, 2, 3]);
      expect(summary).toMatchObject({
        status: 'incomplete',
        passed: false,
        cases: { pending: 50 },
        uploads: { stored: 0, discarded: 3 },
      });
      expect(summary.problems[0]).toBe(`Another job ${what}. Discarded 3 results.`);
      expect(summary.problems[1]).toContain(advice);
      expect(evals.spools(name)).toEqual([]);
    });

    it.each([
      ['items', (text: string) => [{ id: 'q1', input: text }]],
      ['a CSV file', (text: string) => file(`id,input\nq1,${text}\n`)],
    ])('refuses %s that changed since the run began, and says what to do', async (_, dataOf) => {
      const { task, signal } = taskThatStops(Number.NaN);
      const options = { name: evals.name(), runKey: 'commit-1', gate: [{ max_error_rate: 0 }], signal };
      await evals.run({ ...options, data: dataOf('first'), task: () => Promise.reject(new Error('down')) });
      await expect(evals.run({ ...options, data: dataOf('second'), task })).rejects.toThrow(
        /The experiment exp_.*(has other cases than your data has now|cannot be resumed with a different dataset_version)/,
      );
    });

    it('starts over with the same key, and keeps the earlier run as archived or failed', async () => {
      const options = { name: evals.name(), runKey: 'commit-1' };
      const first = await evals.run(options);
      const { task, signal } = taskThatStops(1);
      const second = await evals.run({ ...options, resume: false, task, signal });
      expect(second).toMatchObject({ status: 'incomplete', resumed: false });
      const third = await evals.run({ ...options, resume: false });
      expect(third).toMatchObject({ status: 'completed', runKey: 'commit-1', cases: { called: 3 } });
      const states = await Promise.all(
        [first, second, third].map(({ experimentId: experiment_id }) =>
          evals.client.api.getExperiment({ experiment_id }),
        ),
      );
      expect(states.map((one) => [one.experiment_status, one.archived_at !== null])).toEqual([
        ['completed', true],
        ['failed', false],
        ['completed', false],
      ]);
    });

    it('never replaces a baseline', async () => {
      const options = { name: evals.name(), runKey: 'commit-1' };
      const { experimentId } = await evals.run(options);
      const body = { baselines: { [options.name]: experimentId } };
      await evals.client.api.updateDataset({ dataset_id: `name:${options.name}`, body });
      await expect(evals.run({ ...options, resume: false })).rejects.toThrow('is a baseline');
    });

    it.each<[string, Partial<EvaluateOptions>, Partial<EvaluateOptions>, string]>([
      ['another config', { config: { model: 'small' } }, { config: { model: 'large' } }, 'config'],
      ['no config', { config: { model: 'small' } }, {}, 'config'],
      ['no subject', { subject: { kind: 'agent', id: 'support' } }, {}, 'subject_kind'],
    ])('refuses to continue with %s', async (_, began, now, member) => {
      const options = { name: evals.name(), runKey: 'commit-1' };
      await evals.run({ ...options, ...began });
      await expect(evals.run({ ...options, ...now })).rejects.toMatchObject({
        status: 409,
        detail: expect.stringContaining(`cannot be resumed with a different ${member}`),
      });
    });
  });

  it('evaluates records as they were when the run began, although somebody edits them', async () => {
    const name = evals.name();
    await evals.run({ name, data: itemsOf(3), dataset: name });
    const { task, signal } = taskThatStops(1);
    const options = { data: { dataset: name }, name: evals.name(), task };
    const { experimentId } = await evals.run({ ...options, signal });
    const { items } = await evals.client.api.listRecords({ dataset_id: `name:${name}` });
    for (const { dataset_record_id } of items) {
      const request = { dataset_id: `name:${name}`, dataset_record_id, body: { input: 'edited' } };
      await evals.client.api.updateRecord(request);
    }
    const second = await evals.run(options);
    expect(second.experimentId).toBe(experimentId);
    expect((await evals.results(experimentId)).map(({ input, output }) => [input, output])).toEqual([
      [0, 0],
      [1, 1],
      [2, 2],
    ]);
  });

  it('leaves edits of records alone while a run continues', async () => {
    const { task, signal } = taskThatStops(1);
    const options = { name: evals.name(), data: itemsOf(2), task };
    await evals.run({ ...options, signal });
    const records = await evals.client.api.listRecords({
      dataset_id: `name:${options.name}`,
      external_id: 'c1',
    });
    const { dataset_id, dataset_record_id } = records.items[0]!;
    await evals.client.api.updateRecord({ dataset_id, dataset_record_id, body: { input: 'edited' } });
    const second = await evals.run(options);
    expect(second).toMatchObject({ status: 'completed', resumed: true });
    expect(await evals.client.api.getRecord({ dataset_id, dataset_record_id })).toMatchObject({
      input: 'edited',
    });
  });

  it('never mixes its cases with those of another run that starts at the same time', async () => {
    const name = evals.name();
    await evals.run({ name, data: ['a', 'b', 'c'].map((id) => ({ id, input: 'before' })) });
    let interferes = true;
    const client = evals.intercepted(async (sent, send) => {
      if (interferes && sent.method === 'POST' && sent.path === '/eval/v1/experiments') {
        interferes = false;
        const { items } = await evals.client.api.listRecords({
          dataset_id: `name:${name}`,
          external_id: 'c',
        });
        const { dataset_id, dataset_record_id } = items[0]!;
        const body = { input: 'of the other' };
        await evals.client.api.updateRecord({ dataset_id, dataset_record_id, body });
      }
      return send();
    });
    const data = ['a', 'b', 'c'].map((id) => ({ id, input: 'mine' }));
    const task = jest.fn(({ input }: { input: string }) => input);
    const { experimentId, cases } = await evals.run({ name, runKey: 'commit-1', data, task, client });
    expect(cases).toMatchObject({ done: 3, called: 3 });
    expect(task).toHaveBeenCalledTimes(3);
    for (const result of await evals.results(experimentId))
      expect(result).toMatchObject({ input: 'mine', output: 'mine' });
  });

  it('drops calls that belong to an experiment that is gone', async () => {
    let isAway = false;
    const client = evals.intercepted((sent, send) => {
      isAway ||= isUpload(sent);
      return isAway ? Promise.resolve().then(cut) : send();
    });
    const options = { name: evals.name(), runKey: 'commit-1' };
    const { experimentId: experiment_id } = await evals.run({ ...options, client, retryForMs: 1 });
    await evals.client.api.updateExperiment({ experiment_id, body: { experiment_status: 'failed' } });
    const second = await evals.run(options);
    expect(second).toMatchObject({ status: 'completed', resumed: false, cases: { called: 3 } });
    expect(second.problems).toEqual(['Dropped 3 finished calls of another experiment.']);
  });

  const file = (text: string): string => {
    const where = path.join(evals.dir, 'cases.csv');
    writeFileSync(where, text);
    return where;
  };
});
