import { type CaseTracer, type EvaluateOptions, hosted } from '#client';
import { sharedApp } from '#testing';
import { cut, Evals, exact, type Interception, isUpload, itemsOf, problemOf } from './evaluate.fixture';

/** Rejects after the time limit. Nothing may report this as an unhandled rejection. */
const hangsAndRejects = (signal: AbortSignal) =>
  new Promise((_, reject) =>
    signal.addEventListener('abort', () => setTimeout(() => reject(new Error('late')), 5)),
  );

/** Nests a value more deeply than the service accepts. */
const deep = () => Array.from({ length: 100 }).reduce<unknown>((inner) => [inner], 1);

describe('evaluate, where something goes wrong', () => {
  const app = sharedApp();
  let evals: Evals;

  beforeAll(async () => {
    evals = await Evals.open(app);
  });
  afterAll(() => evals.close());

  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;

  it('a task that fails makes a result with an error, and the run goes on', async () => {
    const faults: [string, (signal: AbortSignal) => unknown, string][] = [
      ['throws', () => { throw new Error('broken'); }, 'Error: broken'], // prettier-ignore
      ['rejects with a text', () => Promise.reject('no answer'), 'no answer'], // oxlint-disable-line prefer-promise-reject-errors
      [
        'throws nothing that has a message',
        () => {
          throw undefined as unknown; // oxlint-disable-line only-throw-error
        },
        'undefined',
      ], // oxlint-disable-line no-throw-literal
      ['hangs', () => new Promise(() => undefined), 'The task did not end within 0.05 s.'],
      ['rejects when it is too late', hangsAndRejects, 'The task did not end within 0.05 s.'],
      ['returns a function', () => () => 1, 'The output is a function. Return a JSON value.'],
      [
        'returns an object with a function',
        () => ({ call: () => 1 }),
        'The output has a function in its member "call".',
      ],
      ['returns NaN', () => Number.NaN, 'The output is NaN.'],
      ['returns a list with Infinity', () => [1, Infinity], 'The output has Infinity in its member "1".'],
      ['returns a cycle', () => cyclic, 'The output is circular.'],
      ['returns a BigInt', () => 1n, 'The output is a BigInt.'],
      ['returns a Map', () => new Map([[1, 2]]), 'The output is a Map, which JSON cannot hold.'],
      [
        'returns bytes',
        () => ({ file: new Uint8Array(2) }),
        'The output has a Uint8Array, which JSON cannot hold',
      ],
      ['returns an Error', () => new Error('oops'), 'The output is an Error, which JSON cannot hold.'],
      [
        'forgets an await',
        () => ({ answer: Promise.resolve(1) }),
        'The output has a Promise, which JSON cannot hold',
      ],
      [
        'returns 50 MB',
        () => 'x'.repeat(50_000_000),
        'The output has 47.7 MiB as JSON. The service accepts up to 3.8 MiB.',
      ],
      [
        'returns a little more than 4 MiB in UTF-8',
        () => '€'.repeat(1_500_000),
        'The output has 4.3 MiB as JSON.',
      ],
      ['returns what only the service refuses', deep, 'The service refused this result:'],
    ];
    const answers = new Map(faults.map(([id, answer]) => [id, answer]));
    const summary = await evals.run({
      data: ['works', ...answers.keys(), 'works too'].map((id) => ({ id, input: 1, expected: 1 })),
      task: ({ id, signal }) => (answers.has(id) ? answers.get(id)!(signal) : 1),
      timeoutMs: 50,
      scorers: [exact],
    });
    expect(summary.status).toBe('completed');
    expect(summary.cases).toMatchObject({
      done: 2,
      failed: faults.length,
      pending: 0,
      called: faults.length + 2,
    });
    const results = await evals.results(summary.experimentId);
    expect(Object.fromEntries(results.map(({ case_id, error }) => [case_id, error]))).toEqual({
      works: null,
      'works too': null,
      ...Object.fromEntries(faults.map(([id, , error]) => [id, expect.stringContaining(error)])),
    });
    for (const { error, output, scores } of results) {
      expect([output, scores]).toEqual(error === null ? [1, { exact: 1 }] : [null, {}]);
    }
    expect(summary.failures).toHaveLength(faults.length - 1); // two have the same error
    expect(summary.problems).toEqual([expect.stringContaining('there is no gate')]);
    expect(summary.failures[0]).toMatchObject({ caseId: 'hangs', count: 2 });
    expect(String(summary)).toContain('  hangs and 1 more  1  The task did not end within 0.05 s.');
  });

  it('a task without a return gives null', async () => {
    const { experimentId, cases, problems } = await evals.run({ task: () => undefined });
    expect(cases.failed).toBe(0);
    expect(problems).toEqual([expect.stringContaining('Is a return missing?')]);
    expect((await evals.results(experimentId)).map(({ output }) => output)).toEqual([null, null, null]);
  });

  it('a task or scorer that changes what it gets changes no other trial, scorer or output', async () => {
    const { experimentId } = await evals.run({
      data: [{ id: 'a', input: { list: [1] }, expected: [1], metadata: { seen: 0 } }],
      trials: 2,
      task: ({ input, expected, metadata }) => {
        metadata['seen'] = 1;
        return [input.list.push(2), expected.push(2), 1];
      },
      scorers: [
        function sorted({ output, expected }) {
          return output.sort()[0] === expected.push(2) - 1;
        },
        function unchanged({ input, output, expected, metadata }) {
          return [input.list.length, expected.length, metadata['seen']].join() === '1,1,0' && output[0] === 2;
        },
      ],
    });
    const results = await evals.results(experimentId);
    expect(results.map(({ output, scores }) => [output, scores])).toEqual([
      [[2, 2, 1], { sorted: 1, unchanged: 1 }],
      [[2, 2, 1], { sorted: 1, unchanged: 1 }],
    ]);
  });

  it('repeats a failed call at once, as often as asked for', async () => {
    let calls = 0;
    const task = ({ input }: { input: number }) => {
      calls += 1;
      if (calls % 3 !== 0) throw new Error('flaky');
      return input;
    };
    const { cases } = await evals.run({ task, retries: 2 });
    expect([cases.done, calls]).toEqual([3, 9]);
  });

  it('a scorer that fails makes an error, which keeps the output and the other scores', async () => {
    const faults: [string, () => any, string][] = [
      ['throws', () => { throw new Error('broken'); }, 'Scorer faulty: Error: broken'], // prettier-ignore
      ['hangs', () => new Promise(() => undefined), 'Scorer faulty: did not end within 0.05 s'],
      ['returns NaN', () => Number.NaN, 'Scorer faulty: returned NaN.'],
      ['returns nothing', () => undefined, 'Scorer faulty: returned undefined.'],
      ['returns a text', () => 'good', 'Scorer faulty: returned a string.'],
      [
        'returns an object without a score',
        () => ({ value: 1 }),
        'Scorer faulty: returned an object with the score undefined.',
      ],
      [
        'returns a comment that is no text',
        () => ({ score: 1, comment: 2 }),
        'returned a comment that is not a string',
      ],
      [
        'returns metadata that is no JSON',
        () => ({ score: 1, metadata: { n: 1n } }),
        'has a BigInt in its member "n"',
      ],
    ];
    const scores = new Map(faults.map(([id, score]) => [id, score]));
    const faulty = { name: 'faulty', score: ({ id }: { id: string }) => scores.get(id)!() };
    const data = [...scores.keys()].map((id) => ({ id, input: 1, expected: 1 }));
    const summary = await evals.run({ data, scorers: [exact, faulty], task: () => 1, scorerTimeoutMs: 50 });
    expect(summary.cases).toMatchObject({ failed: faults.length, called: faults.length });
    const results = await evals.results(summary.experimentId);
    expect(Object.fromEntries(results.map((one) => [one.case_id, one.error]))).toEqual(
      Object.fromEntries(faults.map(([id, , error]) => [id, expect.stringContaining(error)])),
    );
    for (const one of results) expect([one.output, one.scores]).toEqual([1, { exact: 1 }]);
  });

  it.each([
    ['without a name', [() => 1], 'A scorer needs a name'],
    ['of the same name', [exact, { name: 'exact', score: () => 1 }], 'Two scorers have the name exact'],
  ])('rejects scorers %s', async (_, scorers, message) => {
    await expect(evals.run({ scorers })).rejects.toThrow(message);
  });

  describe('with the service', () => {
    /** Calls an interception for the first uploads of results, and lets all others through. */
    const firstUploads = (count: number, interception: Interception): Interception => {
      let left = count;
      return (sent, send) => (isUpload(sent) && left-- > 0 ? interception(sent, send) : send());
    };

    it.each<[string, number, Interception]>([
      ['429', 2, () => Promise.resolve(problemOf(429, 'rate_limited', { 'retry-after': '0' }))],
      ['503', 2, () => Promise.resolve(problemOf(503, 'service_unavailable'))],
      ['a connection that breaks', 2, () => Promise.resolve().then(cut)],
      ['an answer that is lost', 2, (_, send) => send().then(cut)],
    ])('stores each result once in spite of %s', async (_, count, interception) => {
      const client = evals.intercepted(firstUploads(count, interception));
      const summary = await evals.run({ client, data: itemsOf(5), scorers: [exact] });
      expect(summary).toMatchObject({
        status: 'completed',
        cases: { done: 5, called: 5 },
        uploads: { stored: 5 },
      });
      expect(await evals.results(summary.experimentId)).toHaveLength(5);
    });

    it('sends results again that a bulk call has no room for', async () => {
      const client = evals.intercepted(async (sent, send) => {
        const response = await send();
        if (!isUpload(sent)) return response;
        const { items } = (await response.json()) as { items: { index: number }[] };
        const answers = items.map((item, place) =>
          place < 2 ? item : { index: item.index, status_code: 413, error: { detail: 'Send fewer.' } },
        );
        return Response.json({ items: answers }, { status: 207 });
      });
      const summary = await evals.run({ client, data: itemsOf(9) });
      expect(summary).toMatchObject({ cases: { done: 9, failed: 0 }, uploads: { refused: 0 } });
    });

    it('keeps results that the service could not store for the next run', async () => {
      const client = evals.intercepted(async (sent, send) => {
        if (!isUpload(sent)) return send();
        const items = [0, 1, 2].map((index) => ({
          index,
          status_code: 503,
          error: { detail: 'Try again later.' },
        }));
        return Response.json({ items }, { status: 207 });
      });
      const options = { name: evals.name(), task: ({ input }: { input: number }) => input };
      const first = await evals.run({ ...options, client });
      expect(first).toMatchObject({ status: 'incomplete', uploads: { stored: 0, refused: 0 } });
      const second = await evals.run(options);
      expect(second).toMatchObject({ status: 'completed', cases: { done: 3, failed: 0, called: 0 } });
    });

    it('begins nothing after its signal', async () => {
      const sent: string[] = [];
      const client = evals.intercepted(({ path: target }, send) => (sent.push(target), send()));
      const signal = AbortSignal.abort(new Error('Ctrl-C'));
      await expect(evals.run({ client, signal })).rejects.toThrow('Ctrl-C');
      expect(sent).toEqual([]);
    });

    it.each<[string, (stop: AbortController) => Partial<EvaluateOptions>, string]>([
      ['until its signal', (stop) => ({ signal: stop.signal }), 'Ctrl-C'],
      ['for retryForMs', () => ({ retryForMs: 1 }), 'No answer from'],
    ])('repeats its first requests %s', async (_, optionsOf, message) => {
      const stop = new AbortController();
      let count = 0;
      const client = evals.intercepted(async () => {
        if (++count === 2) stop.abort(new Error('Ctrl-C'));
        await Promise.resolve();
        return cut();
      });
      await expect(evals.run({ client, ...optionsOf(stop) })).rejects.toThrow(message);
      expect(count).toBeLessThan(4);
    });

    it('goes on with a new token when the old one expires', async () => {
      const { key: next } = await evals.organization.serviceAccount('evaluator');
      const keys: string[] = [evals.key, next];
      let isExpired = false;
      const client = evals.intercepted(
        (sent, send) => {
          isExpired ||= isUpload(sent);
          return isExpired && sent.key === evals.key
            ? Promise.resolve(problemOf(401, 'token_expired'))
            : send();
        },
        () => keys.shift()!,
      );
      const summary = await evals.run({ client });
      expect(summary).toMatchObject({ status: 'completed', cases: { done: 3 }, uploads: { stored: 3 } });
      expect(keys).toEqual([]);
    });

    it('keeps what is finished if the service stays away, and continues without repeating a call', async () => {
      let isAway = false;
      const client = evals.intercepted((sent, send) => {
        isAway ||= isUpload(sent);
        return isAway ? Promise.resolve().then(cut) : send();
      });
      const calls: number[] = [];
      let scored = 0;
      const options = {
        name: evals.name(),
        data: itemsOf(7),
        task: ({ input }: { input: number }) => void calls.push(input),
        scorers: [function count() { return ++scored; }], // prettier-ignore
      };
      const first = await evals.run({ ...options, client, retryForMs: 200 });
      expect(first).toMatchObject({ status: 'incomplete', passed: false, uploads: { stored: 0 } });
      expect(first.problems.join()).toContain('No answer from');
      expect(evals.spools(options.name)).toHaveLength(1);

      const second = await evals.run(options);
      expect(second).toMatchObject({
        status: 'completed',
        resumed: true,
        cases: { done: 7 },
        traces: { sent: 7, missing: 0 },
      });
      expect(second.experimentId).toBe(first.experimentId);
      expect(calls.sort()).toEqual([0, 1, 2, 3, 4, 5, 6]);
      expect(scored).toBe(7);
      expect(evals.spools(options.name)).toEqual([]);
    });

    it('sends large results in calls that the service accepts', async () => {
      const sizes: number[] = [];
      const client = evals.intercepted((sent, send) => {
        if (isUpload(sent)) sizes.push(sent.body.length);
        return send();
      });
      const task = ({ input }: { input: number }) => '€'.repeat(input === 0 ? 1_200_000 : 400_000);
      const summary = await evals.run({ client, data: itemsOf(6), task });
      expect(summary.cases).toMatchObject({ done: 6, failed: 0 });
      expect(sizes.length).toBeGreaterThan(2);
    });

    it('sends less at once if the service cannot take as much', async () => {
      const client = evals.intercepted((sent, send) =>
        isUpload(sent) && sent.body.split('case_id').length > 3
          ? Promise.resolve(problemOf(413, 'payload_too_large'))
          : send(),
      );
      const summary = await evals.run({ client, data: itemsOf(9) });
      expect(summary).toMatchObject({
        cases: { done: 9, failed: 0 },
        uploads: { stored: 9, refused: 0 },
        traces: { sent: 9 },
      });
    });

    it('sends fewer traces at once if the service cannot take as many', async () => {
      const client = evals.intercepted((sent, send) =>
        sent.path.startsWith('/telemetry/') && sent.body.split('spanId').length > 3
          ? Promise.resolve(problemOf(413, 'payload_too_large'))
          : send(),
      );
      const { traces, problems } = await evals.run({ client, data: itemsOf(9) });
      expect([traces, problems]).toEqual([{ sent: 9, missing: 0 }, []]);
    });

    it('runs without traces if the key must not send them, and says so', async () => {
      const client = evals.intercepted((sent, send) =>
        sent.path.startsWith('/telemetry/') ? Promise.resolve(problemOf(403, 'access_denied')) : send(),
      );
      const summary = await evals.run({ client });
      expect(summary).toMatchObject({ status: 'completed', traces: { sent: 0, missing: 3 } });
      expect(summary.problems).toEqual(['Missing 3 traces: access_denied of the test']);
      expect((await evals.results(summary.experimentId)).map((one) => one.trace_id)).toEqual([
        null,
        null,
        null,
      ]);
    });

    it('uploads results after the flush of a tracer, and counts the traces that it has lost', async () => {
      const happened: string[] = [];
      let flushes = 0;
      const tracer: CaseTracer = {
        run: async (one, call) => ({
          value: await call(),
          traceId: one.id.replace('c', 'abcdef').padEnd(32, '0'),
        }),
        flush: () => {
          happened.push('flush');
          flushes += 1;
          return flushes === 1 ? Promise.reject(new Error('away')) : Promise.resolve();
        },
        hasLost: true,
      };
      const registry = globalThis as { [key: symbol]: unknown };
      const client = evals.intercepted((sent, send) => {
        if (isUpload(sent)) happened.push('upload');
        return send();
      });
      registry[Symbol.for('agent-registry.tracer')] = tracer;
      try {
        const { traces, experimentId, problems } = await evals.run({ client });
        expect([traces, problems]).toEqual([
          { sent: 0, missing: 3 },
          ['Missing 3 traces: they have not arrived'],
        ]);
        expect((await evals.results(experimentId)).map((one) => one.trace_id!.slice(0, 7))).toEqual([
          'abcdef0',
          'abcdef1',
          'abcdef2',
        ]);
        expect(happened).toEqual(['flush', 'flush', 'upload']);
      } finally {
        delete registry[Symbol.for('agent-registry.tracer')];
      }
    });

    it('says that no judge is configured before it calls the task', async () => {
      const definition = { output: { type: 'boolean' as const }, prompt: 'Is {{output}} right?' };
      await evals.client.api.createScorer({
        body: { name: 'judged', scorer_kind: 'llm_judge', definition },
      });
      const task = jest.fn();
      const run = evals.run({ scorers: [hosted('judged')], task });
      await expect(run).rejects.toThrow('The scorer judged cannot be run. No judge is configured.');
      expect(task).not.toHaveBeenCalled();
    });

    it('rejects a key that is invalid before it calls the task', async () => {
      const task = jest.fn();
      const client = evals.intercepted((_, send) => send(), 'invalid');
      await expect(evals.run({ client, task })).rejects.toMatchObject({ name: 'ServiceError', status: 401 });
      expect(task).not.toHaveBeenCalled();
    });
  });
});
