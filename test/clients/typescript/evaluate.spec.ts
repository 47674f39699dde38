import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { EvalProgress, EvaluateOptions } from '#client';
import { sharedApp } from '#testing';
import { Evals, exact, itemsOf } from './evaluate.fixture';

describe('evaluate', () => {
  const app = sharedApp();
  let evals: Evals;

  beforeAll(async () => {
    evals = await Evals.open(app);
  });
  afterAll(() => evals.close());

  const file = (name: string, text: string): string => {
    const where = path.join(evals.dir, name);
    writeFileSync(where, text);
    return where;
  };

  describe('data', () => {
    it('items become records, by their ids or by what their input is', async () => {
      const name = evals.name();
      const data = [
        { id: 'one', input: { q: 1 }, expected: 1, metadata: { level: 'easy' }, tags: ['a'] },
        { input: 'two' },
        { input: 'two' },
      ];
      const seen: any[] = [];
      const task = (one: any) => void seen.push({ ...one, signal: undefined });
      const { experimentId } = await evals.run({ name, data, task });
      expect(seen[0]).toMatchObject({
        id: 'one',
        input: { q: 1 },
        expected: 1,
        metadata: { level: 'easy' },
        tags: ['a'],
        trial: 1,
      });
      const [first, second, third] = await evals.results(experimentId);
      expect([first!.input, second!.input, third!.case_id]).toEqual(['two', 'two', 'one']);
      expect(second!.case_id).toBe(`${first!.case_id}-2`);

      // in another order, without one and with a new one: the same cases are the same records
      const again = await evals.run({ name, data: [{ input: 'new' }, ...data.slice(0, 2).reverse()] });
      const records = new Map(
        (await evals.results(experimentId)).map((one) => [one.case_id, one.dataset_record_id]),
      );
      const later = await evals.results(again.experimentId);
      expect(later).toHaveLength(3);
      expect(later.filter((one) => records.get(one.case_id) === one.dataset_record_id)).toHaveLength(2);
    });

    it('a CSV file becomes a version, the same bytes the same version', async () => {
      const name = evals.name();
      const data = file('questions.csv', 'id,question,answer\nq1,1 + 1,2\nq2,2 + 2,4\n');
      const mapping = { input: 'question' as const, expected: 'answer' };
      const run = (from: string | URL, more = {}) =>
        evals.run({ name, data: from, mapping, scorers: [exact], ...more });
      const first = await run(data, { task: ({ input }: any) => (input === '1 + 1' ? '2' : '4') });
      const second = await run(pathToFileURL(data));
      expect(first.scores['exact']).toMatchObject({ mean: 1, count: 2 });
      expect(second.scores['exact']).toMatchObject({ mean: 0, count: 2 });
      const versions = await evals.client.api.listDatasetVersions({ dataset_id: `name:${name}` });
      expect(versions.items).toHaveLength(1);
      expect((await evals.results(second.experimentId)).map((one) => [one.case_id, one.input])).toEqual([
        ['q1', '1 + 1'],
        ['q2', '2 + 2'],
      ]);
    });

    it.each([
      [
        'JSON Lines',
        () => file('lines.jsonl', '{"id": "a", "input": 1}\n\n{"external_id": "b", "input": 2}'),
      ],
      [
        'a function',
        () => () =>
          Promise.resolve([
            { id: 'a', input: 1 },
            { id: 'b', input: 2 },
          ]),
      ],
      ['an async iterable', () => asyncItems()],
    ])('can be %s', async (_, dataOf) => {
      const { experimentId, status } = await evals.run({ data: dataOf() });
      expect(status).toBe('completed');
      expect((await evals.results(experimentId)).map((one) => [one.case_id, one.output])).toEqual([
        ['a', 1],
        ['b', 2],
      ]);
    });

    it('can be a dataset of the workspace, or a part of it', async () => {
      const name = evals.name();
      await evals.run({
        name,
        data: [
          { id: 'a', input: 1, tags: ['x'] },
          { id: 'b', input: 2 },
        ],
      });
      const all = await evals.run({ data: { dataset: name } });
      const part = await evals.run({ data: { dataset: name, filter: { tags: ['x'] } } });
      expect([all.cases.total, part.cases.total]).toEqual([2, 1]);
    });

    it.each([
      ['an item without an input', [{ id: 'a' } as any], 'data: item 1 has no input'],
      [
        'two items with an id',
        [
          { id: 'a', input: 1 },
          { id: 'a', input: 2 },
        ],
        'data: item 2 has the id a',
      ],
      [
        'an input that is no JSON',
        [{ input: { f: () => 1 } }],
        'data: item 1 has a function in its member "f"',
      ],
      ['no items', [], 'data has no items'],
      ['no data', null, 'evaluate needs data'],
      ['data of another type', 1, 'data must be a path, a URL, items'],
      ['a file of another kind', 'questions.xlsx', 'must end in .csv, .jsonl or .ndjson'],
    ])('rejects %s, and says where', async (_, data: any, message) => {
      await expect(evals.run({ data })).rejects.toThrow(message);
    });
  });

  it.each<[string, object, string]>([
    ['a misspelt option', { gates: [] }, 'evaluate has no option gates (did you mean gate?)'],
    ['a part of a name', { timeout: 3 }, 'evaluate has no option timeout (did you mean timeoutMs?)'],
    ['an unknown option', { verbosity: 1 }, 'evaluate has no option verbosity.'],
    ['a time that is a text', { timeoutMs: '5' }, 'timeoutMs must be a positive number of milliseconds.'],
    ['a time of 0', { scorerTimeoutMs: 0 }, 'scorerTimeoutMs must be a positive number'],
    ['half a trial', { trials: 1.5 }, 'trials must be a whole number of at least 1.'],
    ['scorers that are no list', { scorers: exact }, 'scorers must be a list.'],
    ['a config that is no JSON', { config: { n: 1n } }, 'config has a BigInt in its member "n".'],
    ['a gate without rules', { gate: { scorer: 'exact', min_mean: 1 } }, 'gate has no rules.'],
    [
      'an unknown rule',
      { gate: [{ max_error_rate: 0 }, { scorer: 'exact', minMean: 1 }] },
      'gate is invalid in rule 2: it has no member minMean (did you mean min_mean?).',
    ],
    [
      'a bound that is a text',
      { gate: { rules: [{ scorer: 'exact', min_mean: '0.9' }] } },
      'gate is invalid in rule 1: min_mean must be a number.',
    ],
  ])('rejects %s before it sends anything', async (_, options, message) => {
    const send = jest.fn();
    await expect(evals.run({ client: evals.intercepted(send), ...options })).rejects.toThrow(
      expect.objectContaining({ name: 'TypeError', message: expect.stringContaining(message) }),
    );
    expect(send).not.toHaveBeenCalled();
  });

  it('runs each case several times', async () => {
    const data = file('trials.csv', 'id,input\nq1,a\nq2,b\n');
    const trials: number[] = [];
    const task = ({ id, trial }: any) => {
      trials.push(trial);
      if (id === 'q2' && trial === 2) throw new Error('sometimes');
      return trial;
    };
    const first = await evals.run({ data, trials: 3, task, runKey: 'trials' });
    expect(first.cases).toEqual({ total: 2, done: 1, failed: 1, pending: 0, called: 6 });
    expect(trials.sort()).toEqual([1, 1, 2, 2, 3, 3]);
    expect((await evals.results(first.experimentId)).map(({ case_id, output }) => [case_id, output])).toEqual(
      [
        ['q1#1', 1],
        ['q1#2', 2],
        ['q1#3', 3],
        ['q2#1', 1],
        ['q2#2', null],
        ['q2#3', 3],
      ],
    );
  });

  it('keeps what the experiment is about, and the scores with what explains them', async () => {
    const name = evals.name();
    const summary = await evals.run({
      name,
      experimentName: 'small',
      subject: { kind: 'agent', id: 'support' },
      config: { model: 'small' },
      metadata: { branch: 'main' },
      tags: ['ci'],
      scorers: [
        exact,
        { name: 'graded', score: () => ({ score: 0.5, label: 'half', comment: 'because' }) },
        async function abstains() {
          await Promise.resolve();
          return null;
        },
      ],
    });
    const { experimentId: experiment_id } = summary;
    const experiment = await evals.client.api.getExperiment({ experiment_id });
    expect(experiment).toMatchObject({
      name,
      experiment_name: 'small',
      experiment_status: 'completed',
      subject_kind: 'agent',
      subject_id: 'support',
      config: { model: 'small' },
      metadata: { branch: 'main' },
      tags: ['ci'],
      summary: { metrics: { cases: 3, successful_cases: 3, failed_cases: 0 } },
    });
    const { items } = await evals.client.api.listResults({ experiment_id });
    expect(items[0]!.scores).toEqual({ exact: 1, graded: 0.5, abstains: null });
    expect(items[0]!.score_details['graded']).toMatchObject({ label: 'half', comment: 'because' });
    expect(summary).toMatchObject({ status: 'completed', passed: true, problems: [] });
    expect(evals.spools()).toEqual([]);
  });

  it('stores a trace for each call, which can be read with its result', async () => {
    const { experimentId: experiment_id, traces } = await evals.run({
      data: [
        { id: 'ok', input: { q: 1 } },
        { id: 'bad', input: 'x' },
      ],
      task: ({ id }) => {
        if (id === 'bad') throw new Error('broken');
        return { answer: 1 };
      },
    });
    expect(traces).toEqual({ sent: 2, missing: 0 });
    const { items } = await evals.client.api.listExperimentTraces({ experiment_id });
    expect(items.map(({ case_id, error_count }) => [case_id, error_count]).sort()).toEqual([
      ['bad', 1],
      ['ok', 0],
    ]);
    const { trace_id } = items.find(({ case_id }) => case_id === 'ok')!;
    expect(await evals.client.api.getTrace({ trace_id })).toMatchObject({
      input: { q: 1 },
      output: { answer: 1 },
    });
  });

  it('compares with the baseline, and shows regressions first', async () => {
    const name = evals.name();
    const gate = [{ scorer: 'exact', min_mean: 0.5, max_regressed_cases: 0, confident: true }];
    const first = await evals.run({ name, data: itemsOf(4), scorers: [exact], gate });
    expect(first).toMatchObject({ status: 'passed', regressions: [] });
    expect(first.scores['exact']!.interval).toMatchObject({ upper: 1 });

    const task = ({ input }: any) => (input === 2 ? 'wrong' : input);
    const second = await evals.run({
      name,
      data: itemsOf(4),
      task,
      scorers: [exact],
      gate,
      baseline: first.experimentId,
    });
    expect(second).toMatchObject({ status: 'failed', passed: false });
    expect(second.regressions).toEqual([
      {
        scorer: 'exact',
        caseId: 'c2',
        difference: -1,
        input: 2,
        expected: 2,
        output: 'wrong',
        baselineOutput: 2,
      },
    ]);
    expect(second.scores['exact']!.change).toMatchObject({ baselineMean: 1, difference: -0.25 });
    const lines = String(second).split('\n');
    expect(lines.slice(0, 3)).toEqual([`${name}: failed`, 'Regressions:', '  c2  exact -1  "wrong"']);
    expect(String(second)).toMatch(/failed\s+exact max_regressed_cases 0:/);
  });

  it.each([
    ['whose check failed', [{ scorer: 'exact', min_mean: 1 }], ['exact']],
    ['that are not perfect, without a gate', undefined, ['exact', 'half']],
    ['of none if the gate passed', [{ scorer: 'exact', min_mean: 0 }], []],
  ])('shows the lowest scores %s', async (_, gate, scorers) => {
    const summary = await evals.run({
      task: ({ input }) => (input === 1 ? 'wrong' : input),
      scorers: [exact, function half() { return 0.5; }, function good() { return 1; }],
      ...(gate && { gate }),
    }); // oxfmt-ignore
    const { lowest } = summary;
    expect([...new Set(lowest.map(({ scorer }) => scorer))].sort()).toEqual(scorers);
    const wrong = lowest.filter(({ scorer }) => scorer === 'exact');
    const expected = { scorer: 'exact', caseId: 'c1', score: 0, input: 1, expected: 1, output: 'wrong' };
    expect(wrong).toEqual(scorers.length > 0 ? [expected] : []);
    const text = String(summary);
    expect(text.includes('  c1  exact 0  1 -> "wrong", expected 1')).toBe(scorers.length > 0);
  });

  it('shows the inputs of failed cases, because ids may be hashes', async () => {
    const summary = await evals.run({
      data: [{ input: { question: 'Why?\nAnd how?' } }],
      task: () => Promise.reject(new Error('no answer')),
    });
    expect(summary.failures).toEqual([
      {
        caseId: expect.any(String),
        input: { question: 'Why?\nAnd how?' },
        error: 'Error: no answer',
        count: 1,
      },
    ]);
    expect(String(summary)).toContain(
      `${summary.failures[0]!.caseId}  {"question":"Why?\\nAnd how?"}  Error: no answer\n`,
    );
    expect(String(summary)).toContain('\n1 case: 0 done, 1 failed');
  });

  it.each<[string, Partial<EvaluateOptions>, string]>([
    ['a gate without rules', { gate: [] }, 'rules'],
    ['a rule without a bound', { gate: [{ scorer: 'exact' }] }, 'at least one of'],
    ['a baseline that does not exist', { baseline: `exp_${'1'.repeat(26)}` }, 'exp_1'],
  ])('refuses %s before it calls the task', async (_, options, message) => {
    const task = jest.fn();
    await expect(evals.run({ task, ...options })).rejects.toThrow(message);
    expect(task).not.toHaveBeenCalled();
  });

  it('refuses a baseline that is running before it calls the task', async () => {
    const { experiment_id: baseline } = await evals.client.api.createExperiment({ body: { name: 'open' } });
    const task = jest.fn();
    await expect(evals.run({ task, baseline })).rejects.toThrow('is running. Use one that is completed.');
    expect(task).not.toHaveBeenCalled();
  });

  it('reports its progress', async () => {
    const seen: EvalProgress[] = [];
    const { experimentId } = await evals.run({
      onProgress: (progress) => seen.push(progress),
      concurrency: 2,
    });
    expect(seen.map(({ finished }) => finished)).toEqual([1, 2, 3]);
    expect(seen[0]).toMatchObject({ experimentId, total: 3, failed: 0 });
  });

  it('warns of no listeners when many cases run at a time', async () => {
    const warn = jest.fn();
    process.on('warning', warn);
    try {
      const task = ({ input }: any) => new Promise((resolve) => setTimeout(() => resolve(input), 5));
      await evals.run({ data: itemsOf(40), task, scorers: [exact], concurrency: 16 });
      await new Promise(setImmediate);
      expect(warn).not.toHaveBeenCalled();
    } finally {
      process.off('warning', warn);
    }
  });

  it('never runs more calls at a time than asked for', async () => {
    let running = 0;
    let peak = 0;
    const task = async () => {
      peak = Math.max(peak, ++running);
      await new Promise((resolve) => setTimeout(resolve, 2));
      running -= 1;
    };
    await evals.run({ data: itemsOf(20), task, concurrency: 4 });
    expect(peak).toBe(4);
  });
});

async function* asyncItems() {
  yield { id: 'a', input: 1 };
  await Promise.resolve();
  yield { id: 'b', input: 2 };
}
