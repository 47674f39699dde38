import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import { sharedApp, newTraceId, SPAN_START } from '#testing';
import { TraceStore } from '../../../src/telemetry/traces/trace-store';
import { TRACES } from './otlp.harness';
import { MS, ReadingWorkspace } from './reading.fixture';

const MIB = 1024 * 1024;
/** Number of spans of 1 MiB: more than the sockets between service and client hold. */
const COUNT = 40;

describe('the spans of a large trace', () => {
  const app = sharedApp();
  const traceId = newTraceId();
  let space: ReadingWorkspace;

  beforeAll(async () => {
    space = await ReadingWorkspace.open(app);
    const attributes = { blob: 'x'.repeat(MIB) };
    for (let n = 0; n < COUNT; n += 8) {
      const spans = Array.from({ length: 8 }, (_, i) => ({
        traceId,
        start: SPAN_START + BigInt(n + i) * MS,
        attributes,
      }));
      await space.send(spans);
    }
  });

  it('are read at the client’s pace, and not after a disconnect', async () => {
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
