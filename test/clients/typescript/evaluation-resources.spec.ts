import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type Client } from '#client';
import { jsonExport, newSpan, newTraceId, sharedJudge, type TestOrganization } from '#testing';
import { newClient } from './client.fixture';

const NAME = 'capitals of Europe / Asia';

describe("the client's words for evaluation", () => {
  const shared = sharedJudge();
  let client: Client;
  let org: TestOrganization;
  let directory: string;

  beforeEach(async () => {
    shared.judge.reset();
    ({ client, org } = await newClient(shared.app));
    directory = mkdtempSync(path.join(os.tmpdir(), 'resources-'));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  async function newTrace(input: string, output: string): Promise<string> {
    const traceId = newTraceId();
    const attributes = { 'input.value': input, 'output.value': output };
    const span = newSpan({ traceId, attributes, start: BigInt(Date.now()) * 1_000_000n });
    await client.api.ingestTraces({ body: jsonExport([span]) }, { contentType: 'application/json' });
    return traceId;
  }

  it('datasets: imports items and files, makes records of traces, and exports', async () => {
    async function* items() {
      yield { external_id: 'a', input: 'France', expected: 'Paris' };
      yield await Promise.resolve({ external_id: 'b', input: 'Japan', expected: 'Tokyo', tags: ['asia'] });
    }
    expect(await client.datasets.import(NAME, items())).toMatchObject({ created_count: 2 });
    const changed = [{ external_id: 'a', input: 'France', expected: 'Paris!' }];
    expect(await client.datasets.import(NAME, changed)).toMatchObject({ updated_count: 1, created_count: 0 });
    const csv = path.join(directory, 'more.csv');
    writeFileSync(csv, 'input,expected\nItaly,Rome\n');
    expect(await client.datasets.import(NAME, csv)).toMatchObject({ created_count: 1 });
    const jsonl = path.join(directory, 'more.jsonl');
    writeFileSync(jsonl, '{"input": "Spain", "expected": "Madrid"}\n');
    expect(await client.datasets.import(NAME, jsonl)).toMatchObject({ created_count: 1 });
    expect(await client.datasets.get(NAME)).toMatchObject({ name: NAME, record_count: 4 });

    const traces = [await newTrace('Peru', 'Lima'), await newTrace('Chile', 'Santiago')];
    const found = await client.traces.list({ since: new Date(0) });
    const made = await client.datasets.fromTraces('bad answers', found.items, {
      tags: ['bad'],
      expected: 'output',
    });
    expect(made.map(({ trace_id }) => trace_id).sort()).toEqual([...traces].sort());
    expect(await client.datasets.fromTraces('bad answers', traces)).toHaveLength(2);
    const missing = client.datasets.fromTraces('bad answers', [newTraceId()]);
    await expect(missing).rejects.toMatchObject({ status: 404 });
    const exported: unknown[] = [];
    for await (const { input, expected, tags } of client.datasets.export('bad answers'))
      exported.push([input, expected, tags]);
    expect(exported.sort()).toEqual([
      ['Chile', 'Santiago', ['bad']],
      ['Peru', 'Lima', ['bad']],
    ]);

    const { dataset_id } = await client.datasets.upsert('bad answers', { description: 'To look at' });
    expect(await client.datasets.get(dataset_id)).toMatchObject({
      description: 'To look at',
      record_count: 2,
    });
    expect(await client.datasets.records(dataset_id, { sort: '-created_at' }).take(5)).toHaveLength(2);
    expect((await client.datasets.list()).items).toHaveLength(2);
  });

  it('scorers: a function, a source, checks, a prompt and a rubric, tried on a trace', async () => {
    const trace_ids = [await newTrace('2 + 2', '4')];
    const sources = {
      function: ({ output }: { output: string }) => (output === '4' ? 1 : 0),
      method: {
        score({ output }: { output: string }) {
          return output.length;
        },
      }.score,
      source: 'function score({ input }) { return input.length / 10; }',
      judge: { prompt: 'Is {{output}} right?', output: { type: 'boolean' as const } },
      people: { rubric: 'Right?', output: { type: 'boolean' as const } },
    };
    for (const [name, source] of Object.entries(sources)) await client.scorers.upsert(name, source);
    const score = async (name: string) => (await client.scorers.test(name, { trace_ids }))[0]?.score;
    expect(await score('function')).toBe(1);
    expect(await score('method')).toBe(1);
    expect(await score('source')).toBe(0.5);
    expect(await score('judge')).toBe(1);
    const kinds = (await client.scorers.list({ sort: 'created_at' })).items.map(
      (scorer) => scorer.scorer_kind,
    );
    expect(kinds).toEqual(['code', 'code', 'code', 'llm_judge', 'human']);
    await client.scorers.upsert('source', 'function score() { return 0.25; }', { description: 'constant' });
    expect(await client.scorers.get('source')).toMatchObject({ scorer_version: 2, description: 'constant' });
    expect(await score('source')).toBe(0.25);
  });

  it('scores and feedback of a trace, and the traces with the worst', async () => {
    const [good, bad] = [await newTrace('a', 'b'), await newTrace('c', 'd')];
    await client.feedback({ traceId: bad, score: true, author: 'ada' });
    const thumb = await client.feedback({
      traceId: bad,
      score: false,
      author: 'ada',
      comment: 'wrong',
      metadata: { page: 1 },
    });
    expect(thumb).toMatchObject({ score: 0, source: 'end_user', scorer_name: 'feedback', author: 'ada' });
    await client.feedback({ traceId: good, score: true, scorer: 'feedback' });
    const worst = await client.traces.list({ sort: 'score:feedback' }).take(1);
    expect(worst.map(({ trace_id }) => trace_id)).toEqual([bad]);
    await client.scores.create({ trace_id: good, scorer_name: 'latency', score: 0.5 });
    const many = Array.from({ length: 120 }, (_, i) => ({ trace_id: good, scorer_name: `s${i}`, score: i }));
    const broken = { trace_id: good, scorer_name: 's', score: 'x' as unknown as number };
    const bulk = await client.scores.bulk([...many.slice(0, 110), broken, ...many.slice(110)]);
    expect(bulk).toHaveLength(121);
    expect(bulk.filter((item) => 'error' in item)).toEqual([
      expect.objectContaining({ index: 110, status_code: 400 }),
    ]);
    expect(await client.scores.list({ trace_id: good, source: 'client' }).take(200)).toHaveLength(121);
  });

  it('traces: waits for those that go through a collector', async () => {
    const [there, late, never] = [await newTrace('a', 'b'), newTraceId(), newTraceId()];
    const waiting = client.traces.waitFor([there, late, late], { timeoutMs: 30_000 });
    const span = newSpan({ traceId: late });
    await client.api.ingestTraces({ body: jsonExport([span]) }, { contentType: 'application/json' });
    expect(await waiting).toEqual([]);
    expect(await client.traces.waitFor([there, never], { timeoutMs: 1 })).toEqual([never]);
    expect(await client.traces.get(late)).toMatchObject({ trace_id: late });
  });

  it('experiments: promotes a baseline, compares with it, and checks a gate', async () => {
    await client.datasets.import('qa', [{ external_id: 'one', input: 1 }]);
    const { dataset_id } = await client.datasets.get('qa');
    async function run(score: number): Promise<string> {
      const { experiment_id } = await client.api.createExperiment({ body: { name: 'qa', dataset_id } });
      const [one] = await client.api.listExperimentCases({ experiment_id }).take(1);
      const { case_id, dataset_record_id } = one!;
      const body = { case_id, dataset_record_id, output: 'x', scores: { exact: score } };
      await client.api.createResult({ experiment_id, body });
      await client.api.updateExperiment({ experiment_id, body: { experiment_status: 'completed' } });
      return experiment_id;
    }
    const [first, second] = [await run(1), await run(0)];
    expect((await client.experiments.promote(first)).baselines).toEqual({ qa: first });
    expect(await client.experiments.compare(second)).toMatchObject({
      scorers: [{ scorer: 'exact', regressed: 1, difference: -1 }],
    });
    const rules = [{ scorer: 'exact', max_regression: 0 }];
    expect(await client.experiments.gate(second, rules)).toMatchObject({
      passed: false,
      baseline_experiment_id: first,
    });
    const third = await run(0);
    const lower = await client.experiments.gate(third, rules, { baseline: second });
    expect(lower).toMatchObject({ passed: true, baseline_experiment_id: second });
    const { items } = await client.experiments.list({ name: 'qa' });
    expect(items.map((each) => each.experiment_id)).toEqual([third, second, first]);
    expect(await client.experiments.get(first)).toMatchObject({ name: 'qa', experiment_status: 'completed' });
  });

  it('queue: a person answers, skips, and goes on after a break', async () => {
    const { key } = await org.serviceAccount('admin');
    ({ client } = await newClient(shared.app, { apiKey: key, workspaceId: org.workspaceId }));
    const traces = [
      await newTrace('Japan', 'Tokyo'),
      await newTrace('Peru', 'Rome'),
      await newTrace('Chile', '?'),
    ];
    await client.scorers.upsert('right', { rubric: 'Right?', output: { type: 'boolean' } });
    const choices = [
      { value: 'short', score: 1 },
      { value: 'long', score: 0 },
    ];
    await client.scorers.upsert('length', { rubric: 'Length?', output: { type: 'choice', choices } });
    const scorer_ids = await Promise.all(
      ['right', 'length'].map(async (name) => (await client.scorers.get(name)).scorer_id),
    );
    await client.api.createAnnotationQueue({
      body: { name: 'capitals', scorer_ids, source: { trace_ids: traces }, scores_per_item: 1 },
    });

    const seen: unknown[] = [];
    for await (const item of client.queue('capitals', { author: 'ada' })) {
      seen.push(item.item_id);
      expect(item.scorers.map(({ rubric }) => rubric)).toEqual(['Right?', 'Length?']);
      await expect(item.score({ wrong: true })).rejects.toThrow(
        'wrong is not a scorer of this queue. Its scorers are right, length.',
      );
      break;
    }
    const unanswered = client.queue('capitals', { author: 'ada' })[Symbol.asyncIterator]();
    expect((await unanswered.next()).value).toMatchObject({ item_id: seen[0] });
    await expect(unanswered.next()).rejects.toThrow(/has no answer. Call score\(\) or skip\(\)/);

    const queue = client.queue('capitals', { author: 'ada' });
    for await (const item of queue) {
      if (item.output === '?') await item.skip('I cannot tell');
      else await item.score({ right: { score: item.output === 'Tokyo', comment: 'atlas' }, length: 'short' });
    }
    expect(queue.reason).toBe('done');
    const { items } = await client.scores.list({ source: 'human', scorer_name: 'right' });
    expect(items.map(({ score, author }) => [score, author]).sort()).toEqual([
      [0, 'ada'],
      [1, 'ada'],
    ]);
  });
});
