import {
  type Answer,
  type ApiClient,
  createTestWorker,
  jsonExport,
  newOrganization,
  newSpan,
  newTraceId,
  ownApp,
  type TestWorker,
} from '#testing';
import { occurrencesOf, receiptOf } from './erasure.fixture';

const MARKER = 'zqxjkvbwmarker';
const USER = 'zqxjkvbw@users.example';

describe('the erasure of an end user', () => {
  const app = ownApp();
  let worker: TestWorker;
  let admin: ApiClient;
  let workspace_id: string;

  beforeAll(async () => {
    worker = await createTestWorker(app, { ERASURE_SETTLE_SECONDS: '0' });
    const org = await newOrganization(app);
    workspace_id = org.workspaceId;
    admin = await org.as('owner');
  });
  afterAll(() => worker.close());

  const ok = ({ status, body }: Answer): any => {
    if (status >= 300) throw new Error(`${status}: ${JSON.stringify(body)}`);
    return body;
  };

  it('leaves nothing that only the erased data contained', async () => {
    const agent = ok(await admin.post('/agent/v1/agents', { workspace_id, name: 'support' }));
    const sessions = `/agent/v1/agents/${agent.agent_id}/sessions`;
    const session = ok(
      await admin.post(sessions, { prompt: `${MARKER} prompt` }, { 'idempotency-key': 'session' }),
    );
    const traceId = newTraceId();
    const said = `/agent/v1/sessions/${session.session_id}/messages`;
    ok(
      await admin.post(
        said,
        { role: 'user', content: MARKER, trace_id: traceId },
        { 'idempotency-key': 'message' },
      ),
    );
    const attributes = {
      'user.id': USER,
      'session.id': session.session_id,
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'gpt-test',
      'gen_ai.input.messages': JSON.stringify([{ role: 'user', parts: [{ type: 'text', content: MARKER }] }]),
      'gen_ai.output.messages': JSON.stringify([
        { role: 'assistant', parts: [{ type: 'text', content: MARKER }] },
      ]),
    };
    const root = newSpan({ traceId, name: 'answer', attributes });
    const child = newSpan({ traceId, parentSpanId: root.spanId, name: `tool ${MARKER}` });
    const exported = jsonExport([root, child]);
    ok(await admin.post('/telemetry/v1/traces', exported));
    const log = (record: object) => ({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] });
    ok(await admin.post('/telemetry/v1/logs', log({ traceId, body: { stringValue: MARKER } })));
    const named = {
      attributes: [{ key: 'user.id', value: { stringValue: USER } }],
      body: { stringValue: MARKER },
    };
    ok(await admin.post('/telemetry/v1/logs', log({ ...named, timeUnixNano: `${Date.now() - 1000}000000` })));
    const feedback = {
      workspace_id,
      trace_id: traceId,
      scorer_name: 'thumbs',
      source: 'end_user',
      author: USER,
    };
    ok(
      await admin.post(
        '/eval/v1/scores',
        { ...feedback, score: 1, comment: MARKER },
        { 'idempotency-key': 'score' },
      ),
    );
    const other = newTraceId();
    ok(
      await admin.post(
        '/telemetry/v1/traces',
        jsonExport([newSpan({ traceId: other, attributes: { 'user.id': 'kept' } })]),
      ),
    );

    const subject = { kind: 'end_user', id: USER };
    const dry = ok(await admin.post('/registry/v1/erasures', { subject, workspace_id, dry_run: true }));
    const preview = await receiptOf(admin, dry.erasure_id);
    const erasure = ok(await admin.post('/registry/v1/erasures', { subject, workspace_id }));
    const receipt = await receiptOf(admin, erasure.erasure_id);
    console.log(JSON.stringify(preview), JSON.stringify(receipt));
    console.log(JSON.stringify(await occurrencesOf(app, [MARKER, USER, traceId, session.session_id])));
    expect((await admin.get(`/telemetry/v1/traces/${other}`)).status).toBe(200);
    const replay = ok(await admin.post('/telemetry/v1/traces', exported));
    console.log(JSON.stringify(replay));
  });
});
