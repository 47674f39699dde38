import {
  type Answer,
  type ApiClient,
  jsonExport,
  newOrganization,
  newSpan,
  newTraceId,
  sharedJudge,
  until,
} from '#testing';
import { occurrencesOf, receiptOf } from './erasure.fixture';

const MARKER = 'zqxjkvbwmarker';
const USER = 'zqxjkvbw@users.example';

describe('the erasure of an end user', () => {
  const judged = sharedJudge();
  let admin: ApiClient;
  let workspace_id: string;

  beforeAll(async () => {
    const org = await newOrganization(judged.app);
    workspace_id = org.workspaceId;
    admin = await org.as('owner');
  });

  const ok = ({ status, body }: Answer): any => {
    if (status >= 300) throw new Error(`${status}: ${JSON.stringify(body)}`);
    return body;
  };
  let keys = 0;
  /** Creates with an Idempotency-Key, so that the response is kept. */
  const create = async (path: string, body: object): Promise<any> =>
    ok(await admin.post(path, body, { 'idempotency-key': `key-${(keys += 1)}` }));
  const exported = (...spans: Parameters<typeof newSpan>[0][]) =>
    jsonExport(spans.map((one) => newSpan(one)));
  const log = (record: object) => ({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] });

  it('leaves nothing that only the erased data contained', async () => {
    const agent = await create('/agent/v1/agents', { workspace_id, name: 'support' });
    const session = await create(`/agent/v1/agents/${agent.agent_id}/sessions`, {
      prompt: `${MARKER} prompt`,
    });
    const [trace_id, other] = [newTraceId(), newTraceId()];
    const message = { role: 'user', content: MARKER, trace_id };
    await create(`/agent/v1/sessions/${session.session_id}/messages`, message);
    const part = (role: string) => JSON.stringify([{ role, parts: [{ type: 'text', content: MARKER }] }]);
    const attributes = {
      'user.id': USER,
      'session.id': session.session_id,
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'gpt-test',
      'gen_ai.input.messages': part('user'),
      'gen_ai.output.messages': part('assistant'),
    };
    const spans = exported(
      { traceId: trace_id, name: 'answer', attributes },
      { traceId: trace_id, name: MARKER },
    );
    ok(await admin.post('/telemetry/v1/traces', spans));
    ok(
      await admin.post(
        '/telemetry/v1/traces',
        exported({ traceId: other, attributes: { 'user.id': 'kept' } }),
      ),
    );
    ok(await admin.post('/telemetry/v1/logs', log({ traceId: trace_id, body: { stringValue: MARKER } })));
    const named = [{ key: 'user.id', value: { stringValue: USER } }];
    const timeUnixNano = `${Date.now() - 1000}000000`;
    ok(
      await admin.post(
        '/telemetry/v1/logs',
        log({ attributes: named, timeUnixNano, body: { stringValue: MARKER } }),
      ),
    );
    // from a client whose clock is ahead
    const ahead = `${Date.now() + 600_000}000000`;
    ok(
      await admin.post(
        '/telemetry/v1/logs',
        log({ attributes: named, timeUnixNano: ahead, body: { stringValue: MARKER } }),
      ),
    );
    const point = {
      asInt: '1',
      timeUnixNano,
      exemplars: [{ asInt: '1', timeUnixNano, filteredAttributes: named }],
    };
    const points = {
      resourceMetrics: [{ scopeMetrics: [{ metrics: [{ name: 'calls', gauge: { dataPoints: [point] } }] }] }],
    };
    ok(await admin.post('/telemetry/v1/metrics', points));
    const ofDevice = log({ body: { stringValue: 'started' } });
    Object.assign(ofDevice.resourceLogs[0]!, { resource: { attributes: named } });
    ok(await admin.post('/telemetry/v1/logs', ofDevice));
    const feedback = {
      workspace_id,
      scorer_name: 'thumbs',
      source: 'end_user',
      author: USER,
      score: 1,
      comment: MARKER,
    };
    await create('/eval/v1/scores', { ...feedback, trace_id });

    const dataset = await create('/eval/v1/datasets', { workspace_id, name: 'from traces' });
    const records = `/eval/v1/datasets/${dataset.dataset_id}/records/from-traces`;
    const { items } = await create(records, { workspace_id, trace_ids: [trace_id], expected: 'output' });
    const { dataset_record_id } = items[0].record;
    const experiment = await create('/eval/v1/experiments', {
      workspace_id,
      name: 'x',
      dataset_id: dataset.dataset_id,
    });
    const results = `/eval/v1/experiments/${experiment.experiment_id}/results`;
    const result = await create(results, {
      case_id: 'one',
      workspace_id,
      dataset_record_id,
      output: MARKER,
      scores: { good: 1 },
    });
    const source = 'function score({ input }) { return { score: 1, reasoning: JSON.stringify(input) }; }';
    const code = {
      workspace_id,
      name: 'code',
      scorer_kind: 'code',
      definition: { language: 'javascript', source },
    };
    const { scorer_id } = await create('/eval/v1/scorers', code);
    const run = await create(`/eval/v1/scorers/${scorer_id}/score`, { mode: 'score', trace_ids: [trace_id] });
    await until(
      async () =>
        (await admin.get(`/eval/v1/score-runs/${run.score_run_id}`)).body.run_status === 'succeeded',
    );
    ok(
      await admin.patch(`/eval/v1/experiments/${experiment.experiment_id}`, {
        experiment_status: 'completed',
      }),
    );

    const subject = { kind: 'end_user', id: USER };
    const erasures = '/registry/v1/erasures';
    const preview = await receiptOf(
      admin,
      (await create(erasures, { subject, workspace_id, dry_run: true })).erasure_id,
    );
    const searched = [MARKER, USER, trace_id, session.session_id];
    expect((await occurrencesOf(judged.app, searched)).length).toBeGreaterThan(10);
    const receipt = await receiptOf(admin, (await create(erasures, { subject, workspace_id })).erasure_id);
    expect(receipt.counts).toEqual(preview.counts);
    expect(receipt.counts).toMatchObject({
      traces: 1,
      spans: 2,
      logs: 3,
      metric_points: 1,
      sources: 1,
      records: 1,
      results: 1,
      agent_sessions: 1,
    });
    expect(await occurrencesOf(judged.app, searched)).toEqual([]);

    expect((await admin.get(`/telemetry/v1/traces/${other}`)).status).toBe(200);
    expect((await admin.get('/telemetry/v1/logs')).body.items).toMatchObject([
      { body: 'started', resource: { attributes: {} }, scope: { attributes: {} } },
    ]);
    expect((await admin.get('/telemetry/v1/metrics')).body.items).toMatchObject([
      { name: 'calls', exemplars: [] },
    ]);
    const late = { ...points.resourceMetrics[0]!, schemaUrl: 'sent again, in other bytes' };
    const replayed = ok(await admin.post('/telemetry/v1/metrics', { resourceMetrics: [late] }));
    expect(replayed.partialSuccess).toMatchObject({ rejectedDataPoints: '1' });
    const erased = (await admin.get(`${results}/${result.result_id}`)).body;
    expect(erased).toMatchObject({ erased: true, input: null, output: null, scores: { good: 1 } });
    const repeat = await admin.post(
      '/eval/v1/scores',
      { ...feedback, trace_id },
      { 'idempotency-key': 'key-4' },
    );
    expect([repeat.status, repeat.body.code]).toEqual([409, 'conflict']);
    const { partialSuccess } = ok(await admin.post('/telemetry/v1/traces', spans));
    expect(partialSuccess.rejectedSpans).toBe('2');
    const list = await admin.get(
      `${erasures}?subject_kind=end_user&subject_id=${USER}&workspace_id=${workspace_id}`,
    );
    expect(list.body.items.map((one: any) => one.dry_run)).toEqual([false, true]);
  });

  it('keeps what the user does afterwards', async () => {
    const [trace_id, start] = [newTraceId(), BigInt(Date.now()) * 1_000_000n];
    ok(
      await admin.post(
        '/telemetry/v1/traces',
        exported({ traceId: trace_id, start, end: start, attributes: { 'user.id': USER } }),
      ),
    );
    expect((await admin.get(`/telemetry/v1/traces/${trace_id}`)).body.user_id).toBe(USER);
  });

  it('erases kept responses in which an empty text precedes the id', async () => {
    const path = '/eval/v1/scores';
    const kept = { 'idempotency-key': 'empty' };
    const given = { workspace_id, scorer_name: '', source: 'end_user', author: 'eve', score: 1, comment: '' };
    const score = { ...given, scorer_name: 'thumbs', trace_id: newTraceId() };
    ok(await admin.post('/telemetry/v1/traces', exported({ traceId: score.trace_id })));
    ok(await admin.post(path, score, kept));
    const subject = { kind: 'end_user', id: 'eve' };
    const { erasure_id } = await create('/registry/v1/erasures', { subject, workspace_id });
    expect((await receiptOf(admin, erasure_id)).counts).toMatchObject({ scores: 1, kept_responses: 1 });
    expect((await admin.post(path, score, kept)).status).toBe(409);
  });

  it.each(['end_user', 'session'])('of the kind %s waits for exports that were open', async (kind) => {
    let end!: () => void;
    const opened = new Promise<void>((open) => {
      void judged.app.database.transaction(async (tx) => {
        await tx.query('SELECT pg_current_xact_id()');
        open();
        await new Promise<void>((resolve) => (end = resolve));
      });
    });
    await opened;
    const subject = { kind, id: `waiting ${kind}` };
    const { erasure_id } = await create('/registry/v1/erasures', { subject, workspace_id });
    const read = async () => (await admin.get(`/registry/v1/erasures/${erasure_id}`)).body;
    const stored = 'SELECT progress::text FROM erasures WHERE erasure_id = $1';
    await until(async () => {
      const [row] = await judged.app.database.query<{ progress: string | null }>(stored, [erasure_id]);
      return /"cursor": "[0-9]+"/.test(row!.progress ?? '');
    });
    expect((await read()).erasure_status).toBe('running');
    end();
    await receiptOf(admin, erasure_id);
  });
});
