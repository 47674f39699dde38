import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import { sharedApp, newTraceId, SPAN_START } from '#testing';
import { TraceStore } from '../../../src/telemetry/traces/trace-store';
import { TRACES } from './otlp.harness';
import { MS, ReadingWorkspace } from './reading.fixture';

const MIB = 1024 * 1024;

describe('the spans of a trace', () => {
  const app = sharedApp();
  let space: ReadingWorkspace;

  beforeAll(async () => {
    space = await ReadingWorkspace.open(app);
  });

  /** Stores a trace with spans one millisecond apart. */
  async function trace(count: number, attributes = {}): Promise<string> {
    const traceId = newTraceId();
    const spans = Array.from({ length: count }, (_, n) => ({
      traceId,
      name: `step ${n}`,
      start: SPAN_START + BigInt(n) * MS,
      attributes,
    }));
    const each = Math.max(1, Math.floor((8 * MIB) / (JSON.stringify(attributes).length + 1_000)));
    for (let start = 0; start < count; start += each) await space.send(spans.slice(start, start + each));
    return traceId;
  }

  /** A trace of 40 MiB, more than the sockets between service and client hold. */
  let large: Promise<string>;
  beforeAll(() => void (large = trace(40, { blob: 'x'.repeat(MIB) })));

  const exported = async (traceId: string): Promise<any[]> => {
    const { status, body } = await space.viewer.get<string>(`${TRACES}/${traceId}/spans/export`);
    expect(status).toBe(200);
    expect(body.endsWith('\n')).toBe(true);
    return body
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
  };

  it('are listed with attributes and derived fields', async () => {
    const traceId = newTraceId();
    const attributes = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.agent.name': 'helper',
      'gen_ai.usage.cache_read.input_tokens': 20,
      'gen_ai.request.model': 'gpt-4o',
      'gen_ai.usage.input_tokens': 30,
      'gen_ai.usage.cost': 0.25,
    };
    await space.send([{ traceId, attributes }]);
    const { body } = await space.viewer.get(`${TRACES}/${traceId}/spans`);
    expect(body.page).toEqual({ limit: 50, offset: 0, total: 1, next_cursor: null });
    expect(body.items[0]).toMatchObject({
      name: 'step',
      attributes,
      events: [],
      links: [],
      resource: { attributes: { 'service.name': 'shop' } },
      scope: { name: 'test' },
      operation: 'chat',
      provider: 'openai',
      agent_name: 'helper',
      tool_name: null,
      model: 'gpt-4o',
      input_tokens: 30,
      output_tokens: null,
      cached_input_tokens: 20,
      reasoning_tokens: null,
      cost_usd: 0.25,
    });
    const { body: page } = await space.viewer.get(`${TRACES}/${traceId}/spans?sort=started_at&limit=0`);
    expect([page.items, page.page.total]).toEqual([[], 1]);
    expect((await space.viewer.get(`${TRACES}/${traceId}/spans?sort=name`)).status).toBe(422);
  });

  it('are exported with the members of the list, one per line, by start', async () => {
    const traceId = await trace(1_201);
    const { items } = await space.pages(`${TRACES}/${traceId}/spans?limit=500`);
    const lines = await exported(traceId);
    expect(lines.map(({ name }) => name)).toEqual(Array.from({ length: 1_201 }, (_, n) => `step ${n}`));
    expect(lines).toEqual(items);
  });

  it('are exported with a file name, a type and an ETag', async () => {
    const traceId = await trace(1);
    const path = `${TRACES}/${traceId}/spans/export`;
    const { headers } = await space.viewer.get(`${path}?format=jsonl`);
    expect(headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8');
    expect(headers.get('content-disposition')).toBe(`attachment; filename="${traceId}.jsonl"`);
    const notModified = await space.viewer.get(path, { 'if-none-match': headers.get('etag')! });
    expect(notModified.status).toBe(304);
    await space.send([{ traceId }]);
    expect((await space.viewer.get(path, { 'if-none-match': headers.get('etag')! })).status).toBe(200);
    const csv = await space.viewer.get(`${path}?format=csv`);
    expect([csv.status, csv.body.code]).toEqual([422, 'validation_failed']);
  });

  it('are read at the client’s pace, and not after a disconnect', async () => {
    const traceId = await large;
    const transactions = jest.spyOn(app.database, 'transaction');
    const pages = jest.spyOn(TraceStore.prototype, 'listSpans');
    const answer = await openUnread(`${TRACES}/${traceId}/spans/export`);
    await once(answer, 'readable');
    await app.database.query('SELECT pg_sleep(0.3)');
    const begun = transactions.mock.calls.length;
    answer.destroy();
    expect(begun).toBeLessThan(25);
    await app.database.query('SELECT pg_sleep(0.3)');
    expect(transactions.mock.calls.length).toBeLessThanOrEqual(begun + 1);
    const read = await Promise.allSettled(pages.mock.results.map(({ value }) => value));
    // only the last page may have been in progress when the client disconnected
    if (read.at(-1)!.status === 'rejected') {
      expect(read.pop()).toMatchObject({ reason: { detail: expect.stringMatching(/^The client closed/) } });
    }
    expect(read.length).toBeGreaterThan(0);
    for (const page of read) expect(page).toMatchObject({ status: 'fulfilled', value: { rows: [{}] } });
    transactions.mockRestore();
    pages.mockRestore();
  });

  it('are aborted if the trace is deleted in the meantime', async () => {
    const traceId = await large;
    const answer = await openUnread(`${TRACES}/${traceId}/spans/export`);
    await once(answer, 'readable');
    await app.database.query('DELETE FROM traces WHERE trace_id = $1', [traceId]);
    const reading = (async () => {
      for await (const part of answer) expect(part).toBeDefined();
    })();
    await expect(reading).rejects.toThrow('aborted');
  });

  /** Returns a response of which nothing has been read yet. */
  async function openUnread(path: string): Promise<IncomingMessage> {
    const request = http.get(app.url + path, {
      agent: false,
      headers: {
        authorization: `Bearer ${await space.organization.token('viewer')}`,
        'x-service-workspace-id': space.id,
      },
    });
    const [answer] = (await once(request, 'response')) as [IncomingMessage];
    request.on('error', () => undefined);
    expect(answer.statusCode).toBe(200);
    return answer;
  }
});
