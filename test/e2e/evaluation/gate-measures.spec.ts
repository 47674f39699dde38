import { newSpan, sharedApp, type TestAttributes } from '#testing';
import type { GateResultDto, KeptGateDto } from '../../../src/evaluation/experiments/gate/gate.dto';
import { RawExporter } from '../telemetry/otlp.harness';
import { byScorer, compare, compared, completed, experimentOf, EXPERIMENTS } from './comparison.fixture';
import { EvaluationWorkspace, outcome } from './evaluation.harness';

type Fields = Record<string, unknown>;

const usage = (input: number, output: number, more: TestAttributes = {}): TestAttributes => ({
  'gen_ai.operation.name': 'chat',
  'gen_ai.response.model': 'm',
  'gen_ai.usage.input_tokens': input,
  'gen_ai.usage.output_tokens': output,
  ...more,
});

/** Errors, durations, tokens, costs and reasons in comparisons and gates. */
describe('what an evaluation shows besides scores', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;
  let exporter: RawExporter;

  beforeEach(async () => {
    space = await EvaluationWorkspace.open(app);
    exporter = new RawExporter(app.url, await space.organization.token('editor'), space.id);
  });

  const gate = async (id: string, body: Fields): Promise<GateResultDto> => {
    const answer = await space.viewer.post<GateResultDto>(`${EXPERIMENTS}/${id}/gate`, body);
    expect(answer.status).toBe(200);
    return answer.body;
  };
  const check = async (id: string, rule: Fields) => (await gate(id, { rules: [rule] })).checks[0]!;
  const tracesOf = async (costs: (number | null)[]): Promise<string[]> => {
    const spans = costs.map((cost, i) =>
      newSpan({ attributes: usage(10 * (i + 1), 1, cost === null ? {} : { 'gen_ai.usage.cost': cost }) }),
    );
    expect((await exporter.protobuf(spans)).status).toBe(200);
    return spans.map(({ traceId }) => traceId);
  };

  it('fails a gate for its error rate without any scorer', async () => {
    const results = Array.from({ length: 10 }, (_, i) => ({
      case_id: `c${i}`,
      ...(i < 2 && { error: 'timeout' }),
    }));
    const id = await experimentOf(space, results);
    expect(await check(id, { max_error_rate: 0.2 })).toMatchObject({
      scorer: null,
      kind: 'max_error_rate',
      status: 'passed',
      actual: 0.2,
      unit: 'cases',
    });
    expect(await check(id, { max_error_rate: 0.19 })).toMatchObject({
      status: 'failed',
      reason: 'The error rate of 10 cases is 0.2; at most 0.19 is allowed.',
    });
    const { dataset_id } = await space.dataset();
    const records = [await space.record(dataset_id), await space.record(dataset_id)];
    const result = { case_id: 'c', dataset_record_id: records[0]!.dataset_record_id };
    const stopped = await experimentOf(space, [result], { dataset_id });
    expect(await check(stopped, { max_error_rate: 0.4 })).toMatchObject({ status: 'failed', actual: 0.5 });
    expect(await check(await experimentOf(space, []), { max_error_rate: 1 })).toMatchObject({
      status: 'failed',
      actual: null,
    });
  });

  it('fails a gate for slow cases, and for cases whose duration nobody knows', async () => {
    const results = (count: number) =>
      Array.from({ length: count }, (_, i) => ({ case_id: `c${i}`, duration_ms: 10 * i }));
    const id = await experimentOf(space, results(21));
    expect(await check(id, { max_p95_duration_ms: 190 })).toMatchObject({ status: 'passed', actual: 190 });
    expect(await check(id, { max_p95_duration_ms: 189 })).toMatchObject({ status: 'failed' });
    const partly = await experimentOf(space, [...results(3), { case_id: 'other' }]);
    expect(await check(partly, { max_p95_duration_ms: 1e9 })).toMatchObject({
      status: 'failed',
      actual: null,
      reason: 'The duration of 1 of 4 cases is unknown. Set `duration_ms` in each result.',
    });
  });

  it('fails a gate for its cost, and does not take an unknown cost for nothing', async () => {
    const [cheap, dear, unpriced] = await tracesOf([0.01, 0.03, null]);
    const of = (...traces: (string | undefined)[]) =>
      experimentOf(
        space,
        traces.map((trace_id, i) => ({ case_id: `c${i}`, ...(trace_id !== undefined && { trace_id }) })),
      );
    expect(await check(await of(cheap, dear), { max_mean_cost_usd: 0.02 })).toMatchObject({
      status: 'passed',
      actual: 0.02,
    });
    for (const other of [unpriced, undefined, 'f'.repeat(32)]) {
      expect(await check(await of(cheap, other), { max_mean_cost_usd: 1 })).toMatchObject({
        status: 'failed',
        actual: null,
        reason: expect.stringMatching(/^The cost of 1 of 2 cases is unknown/) as string,
      });
    }
  });

  it('shows durations, tokens and costs of both sides, also of traces that arrive later', async () => {
    const late = newSpan({ attributes: usage(30, 2, { 'gen_ai.usage.cost': 0.05 }) });
    const [before] = await tracesOf([0.01]);
    const result = (fields: Fields): Fields => ({ case_id: 'c', scores: { s: 1 }, ...fields });
    const baseline = await completed(space, [result({ trace_id: before, duration_ms: 100 })]);
    const candidate = await completed(space, [result({ trace_id: late.traceId, duration_ms: 150 })]);
    const first = await compared(space, candidate, baseline);
    expect(first.measures).toMatchObject({
      duration_ms: { unit: 'cases', candidate: { mean: 150, count: 1 }, difference: 50, cases: 1 },
      cost_usd: { candidate: { mean: null, count: 0 }, baseline: { mean: 0.01 }, difference: null },
    });
    expect(first.cases.items[0]!.candidate[0]).toMatchObject({ cost_usd: null, input_tokens: null });
    expect((await exporter.protobuf([late])).status).toBe(200);
    const second = await compared(space, candidate, baseline);
    expect(second.measures).toMatchObject({
      input_tokens: { candidate: { mean: 30 }, baseline: { mean: 10 }, difference: 20 },
      output_tokens: { difference: 1 },
      cost_usd: { candidate: { mean: 0.05 }, cases: 1, confidence_interval: null },
    });
    expect(second.cases.items[0]).toMatchObject({
      candidate: [{ cost_usd: 0.05, input_tokens: 30, output_tokens: 2, duration_ms: 150 }],
      baseline: [{ cost_usd: 0.01, input_tokens: 10, duration_ms: 100 }],
    });
    const further = await compared(space, candidate, baseline, { offset: '1' });
    expect(further.measures).toBeNull();
  });

  it('says why both sides have their scores', async () => {
    const result = (exact: object, fields: Fields = {}): Fields[] => [
      { case_id: 'c', scores: { exact, plain: 1 }, ...fields },
    ];
    const baseline = await completed(space, result({ score: 1, label: 'good', comment: 'polite' }));
    const candidate = await completed(
      space,
      result({ score: 0, metadata: { reasoning: 'too short' } }, { error: 'crashed', output: 'no' }),
    );
    const { cases } = await compared(space, candidate, baseline);
    expect(cases.items[0]).toMatchObject({
      candidate: [{ output: 'no', error: 'crashed', score_details: { exact: { comment: 'too short' } } }],
      baseline: [{ score_details: { exact: { label: 'good', comment: 'polite' } } }],
    });
    expect(Object.keys(cases.items[0]!.candidate[0]!.score_details)).toEqual(['exact']);
  });

  it('ends a page of long comments early, and loses none', async () => {
    const comment = 'é'.repeat(2_000);
    const scores = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`s${i}`, { score: 1, comment }]));
    const filled = async (): Promise<string> => {
      const { experiment_id } = await space.experiment();
      for (let i = 0; i < 40; i++) await space.result(experiment_id, { case_id: `c${i}`, scores });
      await space.finalize(experiment_id);
      return experiment_id;
    };
    const [candidate, baseline] = [await filled(), await filled()];
    const answer = await compare(space, candidate, { baseline_experiment_id: baseline, limit: '40' });
    const { items, page } = answer.body.cases;
    expect(items.length).toBeLessThan(40);
    expect(page.next_cursor).not.toBeNull();
    const size = JSON.stringify(answer.body.cases).length;
    expect(size).toBeLessThan(8 * 1024 * 1024);
  });

  it('counts the late scores that a gate and a comparison use', async () => {
    const result = (score: number): Fields[] => [{ case_id: 'c', scores: { exact: score } }];
    const [candidate, baseline] = [await completed(space, result(0)), await completed(space, result(0))];
    const { body } = await space.editor.get<{ items: { result_id: string }[] }>(
      `${EXPERIMENTS}/${candidate}/results`,
    );
    const late = { result_id: body.items[0]!.result_id, scorer_name: 'exact', score: 1 };
    const recorded = await space.evaluator.post('/eval/v1/scores', { workspace_id: space.id, ...late });
    expect(recorded.status).toBe(201);
    const rules = [{ scorer: 'exact', min_mean: 1, max_regression: 0 }];
    const { passed, checks } = await gate(candidate, { baseline_experiment_id: baseline, rules });
    expect([passed, checks[0], checks[1]]).toMatchObject([
      true,
      { late_count: 1, baseline_late_count: 0 },
      { late_count: 1, baseline_late_count: 0 },
    ]);
    const comparison = byScorer(await compared(space, candidate, baseline), 'exact');
    expect(comparison).toMatchObject({ candidate: { late_count: 1, mean: 1 }, baseline: { late_count: 0 } });
    const shown = await space.viewer.get<Fields>(`${EXPERIMENTS}/${candidate}`);
    expect(shown.body).toMatchObject({ late_count: 1, current_scores: { exact: { mean: 1 } } });
  });

  describe('in the kept checks of a gate', () => {
    const list = (id: string, query = '') =>
      space.viewer.get<{ items: KeptGateDto[]; page: { total: number } }>(
        `${EXPERIMENTS}/${id}/gates${query}`,
      );

    it('is kept with its rules, newest first, for viewers', async () => {
      const id = await experimentOf(space, [{ case_id: 'c', scores: { exact: 1 } }]);
      const rules = [{ scorer: 'exact', min_mean: 2 }];
      const results = [await gate(id, { rules }), await gate(id, { rules: [{ max_error_rate: 0 }] })];
      const { status, body } = await list(id);
      expect([status, body.page.total]).toEqual([200, 2]);
      expect(body.items.map((one) => one.result)).toEqual(results.toReversed());
      expect(body.items[1]).toMatchObject({
        gate_check_id: expect.stringMatching(/^gate_/) as string,
        experiment_id: id,
        workspace_id: space.id,
        passed: false,
        request: { rules },
        created_by: expect.any(String) as string,
      });
      expect((await list(id, '?sort=created_at&limit=1')).body.items[0]!.passed).toBe(false);
      expect((await list(id, `?since=${encodeURIComponent('2999-01-01T00:00:00Z')}`)).body.items).toEqual([]);
      expect(outcome(await list('exp_unknown'))).toEqual([404, 'not_found']);
      const sibling = await space.sibling();
      expect(outcome(await sibling.get(`${EXPERIMENTS}/${id}/gates`))).toEqual([404, 'not_found']);
    });

    it('keeps the newest 1,000', async () => {
      const id = await experimentOf(space, [{ case_id: 'c' }]);
      await app.database.query(
        `INSERT INTO gate_checks (experiment_id, gate_check_id, workspace_id, passed, request, result, created_at, created_by)
         SELECT $1, 'gate_0000000000000000000000' || lpad(n::text, 4, '0'), $2, true, '{}', '{}', now(), 'test'
         FROM generate_series(1, 1001) n`,
        [id, space.id],
      );
      await gate(id, { rules: [{ max_error_rate: 0 }] });
      const rows = await app.database.query(
        'SELECT count(*)::int AS count, min(gate_check_id) AS oldest FROM gate_checks WHERE experiment_id = $1',
        [id],
      );
      expect(rows).toEqual([{ count: 1_000, oldest: 'gate_00000000000000000000000003' }]);
    });
  });
});
