import { raw, sql } from '#platform/db';
import {
  type ApiClient,
  newOrganization,
  newSpanId,
  newTraceId,
  sharedApp,
  type TestOrganization,
  until,
} from '#testing';

const TIME = '1795132800000000000';
/** What people wrote, and must not be stored. */
const JANE = 'jane.zq7@example.com';
/** The id of a user, which happens to be an address. */
const USER = 'user.zq7@example.com';
const RULES = [
  { builtin: 'email' },
  { builtin: 'phone' },
  { builtin: 'card' },
  { builtin: 'api_key', replacement: '***' },
  { pattern: 'ACME-\\d+', fields: ['output'] },
];

const text = (stringValue: string) => ({ stringValue });
const attributes = (values: Record<string, string>) =>
  Object.entries(values).map(([key, value]) => ({ key, value: text(value) }));
const resource = { attributes: attributes({ 'service.name': `shop ${USER}`, owner: JANE }) };
const scope = { name: 'test', attributes: attributes({ author: JANE }) };

describe('masking', () => {
  const app = sharedApp();
  let org: TestOrganization;
  let admin: ApiClient;
  let other: ApiClient;
  let path: string;

  beforeAll(async () => {
    org = await newOrganization(app);
    admin = await org.as('admin');
    other = admin.in(await org.newWorkspace());
    path = `/registry/v1/workspaces/${org.workspaceId}`;
    expect((await admin.patch(path, { masking: RULES })).status).toBe(200);
  });

  const created = async (client: ApiClient, url: string, body: object): Promise<any> => {
    const answer = await client.post(url, { workspace_id: client.workspaceId, ...body });
    expect(answer.status).toBe(201);
    return answer.body;
  };

  const exportSpans = async (client: ApiClient, spans: object[]): Promise<void> => {
    const body = { resourceSpans: [{ resource, scopeSpans: [{ scope, spans }] }] };
    const answer = await client.post('/telemetry/v1/traces', body);
    expect([answer.status, answer.body]).toEqual([200, {}]);
  };

  const newSpan = (traceId: string, values: Record<string, string>, fields: object = {}) => ({
    traceId,
    spanId: newSpanId(),
    name: 'step',
    startTimeUnixNano: TIME,
    endTimeUnixNano: TIME,
    attributes: attributes(values),
    ...fields,
  });

  /** Returns the tables in which a row of the workspace contains the address. */
  const tablesWith = async (marker: string): Promise<string[]> => {
    const { database } = app;
    const tables = await database.query<{ name: string }>(
      sql`SELECT table_name AS name FROM information_schema.columns JOIN pg_class ON relname = table_name
        WHERE table_schema = 'public' AND column_name = 'workspace_id' AND NOT relispartition AND relkind IN ('r', 'p')`,
    );
    const found = await Promise.all(
      tables.map(async ({ name }) => {
        const rows = await database.query(
          sql`SELECT FROM ${raw(name)} t WHERE workspace_id = ${org.workspaceId} AND strpos(t::text, ${marker}) > 0 LIMIT 1`,
        );
        return rows.length > 0 ? [name] : [];
      }),
    );
    return found.flat().sort();
  };

  it('is off by default, shows its rules with their defaults, and is turned off by null or an empty list', async () => {
    const workspace = await created(admin, '/registry/v1/workspaces', { name: 'unmasked' });
    const own = `/registry/v1/workspaces/${workspace.workspace_id}`;
    expect(workspace.masking).toEqual([]);
    const { body } = await admin.patch(own, { masking: RULES });
    expect(body.masking).toEqual([
      { builtin: 'email', pattern: null, replacement: '[email]', fields: null },
      { builtin: 'phone', pattern: null, replacement: '[phone]', fields: null },
      { builtin: 'card', pattern: null, replacement: '[card]', fields: null },
      { builtin: 'api_key', pattern: null, replacement: '***', fields: null },
      { builtin: null, pattern: 'ACME-\\d+', replacement: '[masked]', fields: ['output'] },
    ]);
    expect((await admin.patch(own, body)).body).toEqual(body);
    expect((await admin.patch(own, { name: 'renamed' })).body.masking).toEqual(body.masking);
    expect((await admin.patch(own, { masking: null })).body.masking).toEqual([]);
    expect((await admin.patch(own, { masking: RULES, description: null })).body.masking).toHaveLength(5);
    expect((await admin.patch(own, { masking: [] })).body.masking).toEqual([]);
    const copy = await created(admin, '/registry/v1/workspaces', {
      name: 'masked',
      masking: [{ builtin: 'card' }],
    });
    expect(copy.masking).toHaveLength(1);
    const log = await (
      await org.member('admin')
    ).get(`/registry/v1/audit-log?resource_id=${workspace.workspace_id}`);
    expect(JSON.stringify(log.body)).toContain('{"member":"masking"}');
    expect((await (await org.as('editor')).patch(own, { masking: [] })).status).toBe(403);
  });

  it.each([
    ['no kind', {}, 'must have either `builtin` or `pattern`'],
    ['two kinds', { builtin: 'email', pattern: 'a' }, 'must have either `builtin` or `pattern`'],
    ['a backreference', { pattern: '(a)\\1' }, 'backreferences are not supported'],
    ['lookahead', { pattern: 'a(?=b)' }, 'lookahead and lookbehind are not supported'],
    ['an invalid pattern', { pattern: '(a' }, 'missing closing )'],
    ['an empty match', { pattern: 'a*' }, 'must not match an empty text'],
    ['an empty match at a word', { pattern: '\\b' }, 'must not match an empty text'],
    ['a large pattern', { pattern: '(?:a?){900}(?:b?){900}' }, 'too large'],
    ['a long pattern', { pattern: 'a'.repeat(1_001) }, '1000 characters'],
    ['an empty pattern', { pattern: '' }, 'pattern'],
    ['a long replacement', { builtin: 'email', replacement: 'x'.repeat(256) }, 'replacement'],
    ['a replacement that is no text', { builtin: 'email', replacement: 1 }, 'replacement'],
    ['no fields', { builtin: 'email', fields: [] }, 'fields'],
    ['fields that are no list', { builtin: 'email', fields: 'input' }, 'fields'],
    ['an unknown member', { builtin: 'email', feilds: ['input'] }, 'fields'],
    ['no object', 'email', 'masking'],
  ])('rejects a rule with %s', async (_, rule, detail) => {
    const answer = await admin.patch(path, { masking: [rule] });
    expect(answer.status).toBe(400);
    expect(JSON.stringify(answer.body)).toContain(detail);
  });

  it('rejects an unknown kind with 422, and too many rules or patterns that are too large together with 400', async () => {
    expect((await admin.patch(path, { masking: [{ builtin: 'iban' }] })).status).toBe(422);
    const many = Array.from({ length: 21 }, () => ({ builtin: 'email' }));
    expect((await admin.patch(path, { masking: many })).status).toBe(400);
    const large = Array.from({ length: 5 }, () => ({ pattern: 'x{500}' }));
    expect((await admin.patch(path, { masking: large })).status).toBe(400);
  });

  it('masks spans in every text, keeps identifiers, and counts each value of a span once', async () => {
    const traceId = newTraceId();
    const messages = [
      { role: 'user', parts: [{ type: 'text', content: `I am\n${JANE}, +49 151 12345678.` }] },
    ];
    const spans = [
      newSpan(
        traceId,
        {
          'gen_ai.operation.name': 'chat',
          'gen_ai.request.model': `model ${USER}`,
          'gen_ai.input.messages': JSON.stringify(messages),
          'gen_ai.output.messages': 'ACME-17 pays with 4111 1111 1111 1111',
          note: 'ACME-17',
          'user.id': USER,
          'session.id': USER,
          'gen_ai.prompt.name': USER,
          order_id: USER,
        },
        {
          name: `mail to ${JANE}`,
          status: { code: 2, message: `${JANE} is unknown` },
          events: [{ name: `${JANE} left`, timeUnixNano: TIME, attributes: attributes({ from: JANE }) }],
          links: [{ traceId, spanId: newSpanId(), attributes: attributes({ why: JANE }) }],
        },
      ),
      newSpan(
        traceId,
        { nothing: 'to mask' },
        { parentSpanId: newSpanId(), startTimeUnixNano: `${TIME.slice(0, -4)}9000` },
      ),
    ];
    await exportSpans(admin, spans);
    await exportSpans(admin, spans);
    await exportSpans(other, spans);
    const { body: trace } = await admin.get(`/telemetry/v1/traces/${traceId}`);
    expect(trace).toMatchObject({
      root_name: 'mail to [email]',
      input: [{ role: 'user', parts: [{ type: 'text', content: 'I am\n[email], [phone].' }] }],
      input_preview: 'I am\n[email], [phone].',
      output: '[masked] pays with [card]',
      output_preview: '[masked] pays with [card]',
      models: [`model ${USER}`],
      user_id: USER,
      session_id: USER,
      prompt_name: USER,
      service_name: `shop ${USER}`,
      span_count: 2,
      masked_count: 9,
    });
    const { body: list } = await admin.get(`/telemetry/v1/traces?user_id=${encodeURIComponent(USER)}`);
    expect(list.items).toEqual([expect.objectContaining({ trace_id: traceId, masked_count: 9 })]);
    const { body: read } = await admin.get(`/telemetry/v1/traces/${traceId}/spans`);
    expect(read.items[0]).toMatchObject({
      status: { message: '[email] is unknown' },
      attributes: { note: 'ACME-17', order_id: USER, 'user.id': USER },
      events: [{ name: '[email] left', attributes: { from: '[email]' } }],
      links: [{ attributes: { why: '[email]' } }],
      resource: { attributes: { owner: '[email]' } },
      scope: { attributes: { author: '[email]' } },
    });
    expect((await admin.get(`/telemetry/v1/traces?q=${JANE}&total=false`)).body.items).toEqual([]);
    expect((await other.get(`/telemetry/v1/traces/${traceId}`)).body).toMatchObject({
      root_name: `mail to ${JANE}`,
      masked_count: 0,
    });
    expect(await tablesWith(JANE)).toEqual([]);
  });

  it('masks logs and metrics, and the scores that they report', async () => {
    const traceId = newTraceId();
    const evaluation = attributes({
      'gen_ai.evaluation.name': USER,
      'gen_ai.evaluation.score.label': 'good',
      'gen_ai.evaluation.explanation': `${JANE} was helped`,
    });
    const logRecords = [
      {
        timeUnixNano: TIME,
        body: text(`${JANE} signed in`),
        attributes: attributes({ mail: JANE, 'user.id': USER }),
      },
      { timeUnixNano: TIME, body: { kvlistValue: { values: attributes({ mail: JANE, user_id: USER }) } } },
      { timeUnixNano: TIME, traceId, eventName: 'gen_ai.evaluation.result', attributes: evaluation },
    ];
    const logs = { resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords }] }] };
    expect((await admin.post('/telemetry/v1/logs', logs)).status).toBe(200);
    expect((await admin.post('/telemetry/v1/logs', logs)).status).toBe(200);
    const exemplars = [{ timeUnixNano: TIME, asDouble: 1, filteredAttributes: attributes({ by: JANE }) }];
    const dataPoints = [{ timeUnixNano: TIME, asDouble: 1, attributes: attributes({ by: JANE }), exemplars }];
    const metrics = [{ name: 'sign-ins', description: `of ${JANE}`, gauge: { dataPoints } }];
    const exported = { resourceMetrics: [{ resource, scopeMetrics: [{ scope, metrics }] }] };
    expect((await admin.post('/telemetry/v1/metrics', exported)).status).toBe(200);

    const { body: stored } = await admin.get('/telemetry/v1/logs?q=signed&sort=logged_at');
    expect(stored.items).toEqual([
      expect.objectContaining({
        body: '[email] signed in',
        attributes: { mail: '[email]', 'user.id': USER },
      }),
    ]);
    expect((await admin.get(`/telemetry/v1/logs?q=${JANE}`)).body.items).toEqual([]);
    const { body: points } = await admin.get('/telemetry/v1/metrics');
    expect(points.items[0]).toMatchObject({ description: 'of [email]', attributes: { by: '[email]' } });
    const { body: scores } = await admin.get(`/eval/v1/scores?trace_id=${traceId}`);
    expect(scores.items).toEqual([
      expect.objectContaining({ scorer_name: USER, comment: '[email] was helped' }),
    ]);
    expect(await tablesWith(JANE)).toEqual([]);
  });

  it('masks results, in responses, replays and lists, but not dataset records', async () => {
    const dataset = await created(admin, '/eval/v1/datasets', { name: 'questions' });
    const records = `/eval/v1/datasets/${dataset.dataset_id}/records`;
    const record = await created(admin, records, { input: `from zq8 ${JANE.toUpperCase()}` });
    expect(record.input).toBe(`from zq8 ${JANE.toUpperCase()}`);
    const { experiment_id } = await created(admin, '/eval/v1/experiments', { name: 'masked' });
    const results = `/eval/v1/experiments/${experiment_id}/results`;
    const fields = {
      case_id: USER,
      session_id: USER,
      input: { question: `I am ${JANE}`, at: 4111111111111111 },
      expected: [JANE],
      output: `ACME-17 for ${JANE}`,
      error: { message: JANE },
      metadata: { by: JANE },
      tags: [JANE, 'kept'],
      scores: { good: { score: 1, comment: `of ${JANE}`, metadata: { why: JANE } }, fine: 0.5 },
    };
    const masked = {
      case_id: USER,
      session_id: USER,
      input: { question: 'I am [email]', at: 4111111111111111 },
      expected: ['[email]'],
      output: '[masked] for [email]',
      error: { message: '[email]' },
      metadata: { by: '[email]' },
      tags: ['[email]', 'kept'],
      scores: { good: 1, fine: 0.5 },
      score_details: { good: { comment: 'of [email]', metadata: { why: '[email]' } } },
    };
    const body = { workspace_id: org.workspaceId, ...fields };
    const key = { 'Idempotency-Key': 'zq7' };
    const first = await admin.post(results, body, key);
    expect(first.body).toMatchObject(masked);
    const replayed = await admin.post(results, body, key);
    expect([replayed.headers.get('idempotency-replayed'), replayed.body]).toEqual(['true', first.body]);
    const bulk = await admin.post(`${results}/bulk`, {
      workspace_id: org.workspaceId,
      items: [{ ...fields, case_id: 'b' }, { case_id: 'c', output: 1 }, { input: JANE }],
    });
    expect(bulk.body.items.map((item: any) => item.status_code)).toEqual([201, 201, 400]);
    expect(bulk.body.items[0].result).toMatchObject({ ...masked, case_id: 'b' });
    expect(JSON.stringify(bulk.body)).not.toContain(JANE);
    const one = `${results}/${first.body.result_id}`;
    const patch = {
      metadata: { then: JANE },
      scores: { late: { score: 0, comment: JANE } },
      input: fields.input,
    };
    expect((await admin.patch(one, patch)).body).toMatchObject({
      metadata: { by: '[email]', then: '[email]' },
      score_details: { late: { comment: '[email]' } },
    });
    expect(JSON.stringify((await admin.get(results)).body)).not.toContain(JANE);
    expect(await tablesWith(JANE)).toEqual([]);
  });

  it('masks the prompts, titles, metadata and messages of sessions', async () => {
    const agent = await created(admin, '/agent/v1/agents', { name: 'helper' });
    const start = { prompt: `I am\n${JANE}`, title: JANE, metadata: { by: JANE } };
    const answer = await admin.post(`/agent/v1/agents/${agent.agent_id}/sessions`, start);
    expect(answer.body).toMatchObject({
      prompt: 'I am\n[email]',
      title: '[email]',
      metadata: { by: '[email]' },
    });
    const session = `/agent/v1/sessions/${answer.body.session_id}`;
    const change = { title: `of ${JANE}`, metadata: { then: JANE }, prompt: start.prompt };
    expect((await admin.patch(session, change)).body).toMatchObject({
      title: 'of [email]',
      metadata: { by: '[email]', then: '[email]' },
    });
    const call = {
      id: USER,
      type: 'function',
      function: { name: USER, arguments: JSON.stringify({ to: JANE }) },
    };
    const message = { role: 'assistant', name: USER, content: [{ text: JANE }], tool_calls: [call] };
    expect((await admin.post(`${session}/messages`, message)).body).toMatchObject({
      name: USER,
      content: [{ text: '[email]' }],
      tool_calls: [{ id: USER, type: 'function', function: { name: USER, arguments: '{"to":"[email]"}' } }],
    });
    const { body: messages } = await admin.get(`${session}/messages`);
    expect(messages.items.map((item: any) => item.content)).toEqual(['I am\n[email]', [{ text: '[email]' }]]);
    expect(await tablesWith(JANE)).toEqual([]);
  });

  it('holds for the first request after a change, in every process', async () => {
    const second = await app.another();
    const elsewhere = second.api(await org.token('admin')).in(org.workspaceId);
    const { experiment_id } = await created(admin, '/eval/v1/experiments', { name: 'changed' });
    const outputOf = async (client: ApiClient, case_id: string): Promise<unknown> => {
      const body = { workspace_id: org.workspaceId, case_id, output: 'zebra' };
      return (await client.post(`/eval/v1/experiments/${experiment_id}/results`, body)).body.output;
    };
    expect([await outputOf(admin, '1'), await outputOf(elsewhere, '2')]).toEqual(['zebra', 'zebra']);
    await elsewhere.patch(path, { masking: [...RULES, { pattern: 'zebra' }] });
    expect(await outputOf(elsewhere, '3')).toBe('[masked]');
    // the other process is notified, which takes milliseconds
    let attempt = 4;
    await until(async () => (await outputOf(admin, String(attempt++))) === '[masked]');
  });
});
