import { jsonExport, newSpan, sharedJudge, until } from '#testing';
import { isSampled } from '../../src/evaluation/scoring/rules/scoring-rule.runner';
import { script } from '../e2e/evaluation/scoring.fixture';
import { pathOf, RulesFixture, skipQuietSecond } from './scoring-rules.fixture';

const DAY = 86_400;

describe('a scoring rule', () => {
  const service = sharedJudge();
  let rules: RulesFixture;

  beforeAll(() => void skipQuietSecond(service.worker));
  afterAll(() => jest.restoreAllMocks());
  beforeEach(async () => {
    rules = await RulesFixture.create(service.app, () => [service.worker]);
  });

  it('starts runs by itself', async () => {
    const rule = await rules.rule();
    const traceId = await rules.on.trace();
    await until(async () => (await rules.runs(rule)).length > 0);
    expect(await rules.scored(rule)).toEqual([traceId]);
  });

  it('scores a trace after its quiet time, and not before', async () => {
    await rules.on.trace(); // before the rule
    const rule = await rules.rule({ quiet_seconds: DAY });
    const traceId = await rules.on.trace({ input: 'question', sessionId: 'talk' });
    await rules.runDue();
    expect(await rules.runs(rule)).toEqual([]);
    expect(await rules.read(rule)).toMatchObject({ seen_count: 0, last_seen_at: null });

    await rules.patch(rule, { quiet_seconds: 1 });
    const seen = await rules.seen(rule, 1);
    const [run, ...others] = await rules.runs(rule);
    expect(others).toEqual([]);
    expect(run).toMatchObject({
      scorer_id: rule.scorer_id,
      scorer_version: 1,
      rule_id: rule.rule_id,
      experiment_id: null,
      grain: 'trace',
      total: 1,
      concurrency: 4,
      created_by: rule.created_by,
    });
    expect(seen).toMatchObject({
      seen_count: 1,
      chosen_count: 1,
      ordered_count: 1,
      last_run_at: expect.any(String),
      last_seen_at: expect.any(String),
      last_score_run_id: run.score_run_id,
      last_error: null,
    });
    expect(await rules.on.finished(run.score_run_id)).toMatchObject({ run_status: 'succeeded' });
    const [result] = await rules.results(rule);
    expect(result).toMatchObject({ trace_id: traceId, session_id: 'talk', score: 1 });
  });

  it('scores a trace by its own output, although a result names it', async () => {
    const source =
      'function score({ output, expected }) { return output === "traced" && expected === null; }';
    const scorer = await rules.on.scorer(script(source));
    const rule = await rules.rule({ quiet_seconds: DAY }, scorer);
    const traceId = await rules.on.trace({ output: 'traced' });
    const experiment = await rules.on.experiment();
    await rules.on.result(experiment, { trace_id: traceId, output: 'a', expected: 'a' });
    await rules.patch(rule, { quiet_seconds: 1 });
    await rules.seen(rule, 1);
    expect(await rules.results(rule)).toMatchObject([{ trace_id: traceId, score: 1 }]);
    // The score belongs to the trace, so the result does not show it.
    const { body } = await rules.on.evaluator.get(`/eval/v1/experiments/${experiment.experiment_id}/results`);
    expect(body.items[0].scores).toEqual({});
  });

  it('scores a session once, when all of its traces are quiet', async () => {
    const rule = await rules.rule({ grain: 'session', quiet_seconds: DAY });
    await rules.traces(2, { sessionId: 'one' });
    await rules.on.trace();
    await rules.on.trace({ sessionId: 'two' });
    await rules.on.trace({ sessionId: 'one' });
    await rules.patch(rule, { quiet_seconds: 1 });
    expect(await rules.seen(rule, 2)).toMatchObject({ seen_count: 2, chosen_count: 2 });
    expect(await rules.scored(rule, 'session_id')).toEqual(['one', 'two']);
    for (const { grain } of await rules.runs(rule)) expect(grain).toBe('session');
  });

  it('samples traces by their ids', async () => {
    const scorers = [await rules.on.scorer(), await rules.on.scorer()];
    const half = await rules.rule({ sample_rate: 0.5 }, scorers[0]);
    const alike = await rules.rule({ sample_rate: 0.5 }, scorers[1]);
    const [none, all] = [await rules.rule({ sample_rate: 0 }), await rules.rule()];
    const traceIds = (await rules.traces(30)).sort();
    for (const rule of [half, alike, none, all]) await rules.seen(rule, 30);
    const sampled = traceIds.filter((id) => isSampled(id, 0.5));
    expect(await rules.scored(half)).toEqual(sampled);
    expect(await rules.scored(alike)).toEqual(sampled);
    expect(await rules.runs(none)).toEqual([]);
    expect(await rules.scored(all)).toEqual(traceIds);
    expect(await rules.read(half)).toMatchObject({ seen_count: 30, chosen_count: sampled.length });
  });

  it('samples sessions by their ids', async () => {
    const rule = await rules.rule({ grain: 'session', sample_rate: 0.5 });
    const sessions = Array.from({ length: 12 }, (_, n) => `ses_${n}`).sort();
    for (const sessionId of sessions) await rules.on.trace({ sessionId });
    await rules.seen(rule, sessions.length);
    expect(await rules.scored(rule, 'session_id')).toEqual(sessions.filter((id) => isSampled(id, 0.5)));
  });

  it('scores traces that match all filters, and sessions with such a trace', async () => {
    const filters = [
      { field: 'model', op: 'in', value: ['gpt', 'claude'] },
      { field: 'input_tokens', op: 'gte', value: 10 },
      { field: 'service_name', op: 'eq', value: 'shop' },
      { field: 'status', op: 'eq', value: 'ok' },
    ];
    const [traces, sessions] = [
      await rules.rule({ filters }),
      await rules.rule({ filters, grain: 'session' }),
    ];
    const chat = (model: string, tokens: number, session: string) =>
      newSpan({
        attributes: {
          'gen_ai.operation.name': 'chat',
          'gen_ai.request.model': model,
          'gen_ai.usage.input_tokens': tokens,
          'session.id': session,
        },
      });
    const spans = [
      chat('gpt', 10, 'a'),
      chat('gpt', 9, 'a'),
      chat('claude', 11, 'b'),
      chat('other', 99, 'c'),
    ];
    const failed = { ...chat('gpt', 10, 'd'), isError: true };
    expect(
      (await rules.on.evaluator.post('/telemetry/v1/traces', jsonExport([...spans, failed]))).status,
    ).toBe(200);
    expect(await rules.seen(traces, 5)).toMatchObject({ seen_count: 5, chosen_count: 2 });
    expect(await rules.scored(traces)).toEqual([spans[0]!.traceId, spans[2]!.traceId].sort());
    expect(await rules.seen(sessions, 4)).toMatchObject({ seen_count: 4, chosen_count: 2 });
    expect(await rules.scored(sessions, 'session_id')).toEqual(['a', 'b']);
  });

  it('never scores what arrived while it was disabled', async () => {
    const scorer = await rules.on.scorer();
    const rule = await rules.rule({ enabled: false }, scorer);
    const [archived, sentinel] = [await rules.rule(), await rules.rule()];
    await rules.on.evaluator.post(`${pathOf(archived)}/archive`);
    await rules.on.trace();
    await rules.seen(sentinel, 1);
    expect(await rules.read(rule)).toMatchObject({ seen_count: 0 });
    await rules.patch(rule, { enabled: true });
    const later = await rules.on.trace();
    await rules.seen(rule, 1);
    expect(await rules.scored(rule)).toEqual([later]);
    expect(await rules.read(archived)).toMatchObject({ seen_count: 0 });
  });

  it('applies its current filters to earlier arrivals', async () => {
    const rule = await rules.rule({ quiet_seconds: DAY, sample_rate: 0 });
    const [first, second] = [
      await rules.on.trace({ sessionId: 'x' }),
      await rules.on.trace({ sessionId: 'y' }),
    ];
    const filters = [{ field: 'session_id', op: 'eq', value: 'y' }];
    await rules.patch(rule, { quiet_seconds: 1, sample_rate: 1, filters });
    await rules.seen(rule, 2);
    expect(await rules.scored(rule)).toEqual([second]);
    await rules.patch(rule, { filters: [] });
    await rules.runDue();
    expect(await rules.scored(rule)).not.toContain(first); // processed before the change
  });

  it('does not score traces of other workspaces or organizations', async () => {
    const elsewhere = await RulesFixture.create(service.app, () => [service.worker]);
    const [rule, other] = [await rules.rule(), await elsewhere.rule()];
    const sibling = rules.on.evaluator.in(await rules.on.organization.newWorkspace());
    expect((await sibling.post('/telemetry/v1/traces', jsonExport([newSpan()]))).status).toBe(200);
    const theirs = await elsewhere.on.trace();
    const own = await rules.on.trace();
    await elsewhere.seen(other, 1);
    await rules.seen(rule, 1);
    expect(await rules.scored(rule)).toEqual([own]);
    expect(await elsewhere.scored(other)).toEqual([theirs]);
    const strange = await elsewhere.on.evaluator.get(`/eval/v1/score-runs?rule_id=${rule.rule_id}`);
    expect(strange.body.items).toEqual([]);
  });

  it('scores a trace once for each scorer version, even if more spans arrive or a request selects it', async () => {
    const scorer = await rules.on.scorer();
    const rule = await rules.rule({}, scorer);
    const second = await rules.rule({}, scorer);
    const late = newSpan();
    const send = (span: object) =>
      rules.on.evaluator.post('/telemetry/v1/traces', jsonExport([span as never]));
    await send(late);
    await rules.seen(rule, 1);
    await rules.seen(second, 1);
    expect([...(await rules.scored(rule)), ...(await rules.scored(second))]).toEqual([late.traceId]);
    await rules.runDue();
    await send(newSpan({ traceId: late.traceId, parentSpanId: late.spanId }));
    const again = await rules.seen(rule, 2);
    expect(again).toMatchObject({ seen_count: 2, chosen_count: 2 });
    await rules.seen(second, 2);
    expect([...(await rules.scored(rule)), ...(await rules.scored(second))]).toEqual([late.traceId]);

    for (const each of [rule, second]) await rules.patch(each, { quiet_seconds: DAY });
    const traceId = await rules.on.trace();
    await rules.on.score(scorer, { trace_ids: [traceId] });
    for (const each of [rule, second]) await rules.patch(each, { quiet_seconds: 1 });
    await rules.seen(rule, 3);
    await rules.seen(second, 3);
    expect(await rules.scored(rule)).not.toContain(traceId);
    expect(await rules.scored(second)).not.toContain(traceId);
  });

  it('uses the current scorer version', async () => {
    const scorer = await rules.on.scorer();
    const rule = await rules.rule({}, scorer);
    const root = newSpan();
    const send = (span: object) =>
      rules.on.evaluator.post('/telemetry/v1/traces', jsonExport([span as never]));
    await send(root);
    await rules.seen(rule, 1);
    const definition = { language: 'javascript', source: 'function score() { return 0.5; }' };
    await rules.on.evaluator.patch(`/eval/v1/scorers/${scorer.scorer_id}`, { definition });
    await send(newSpan({ traceId: root.traceId, parentSpanId: root.spanId }));
    await rules.seen(rule, 2);
    const versions = (await rules.results(rule)).map(({ trace_id, scorer_version }) => [
      trace_id,
      scorer_version,
    ]);
    expect(versions.sort()).toEqual([
      [root.traceId, 1],
      [root.traceId, 2],
    ]);
  });
});
