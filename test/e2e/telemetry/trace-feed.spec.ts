import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { workspaceScope, type Scope } from '#platform/auth';
import {
  type ApiClient,
  jsonExport,
  newOrganization,
  newSpan,
  newTraceId,
  sharedApp,
  type TestSpan,
} from '#testing';
import { type FeedPosition, TraceFeedRepository } from '../../../src/telemetry';
import type { FeedQuery } from '../../../src/telemetry/traces/trace-feed.repository';

/** No trace must be missed if it arrives while others are read. */
describe('trace arrivals', () => {
  const app = sharedApp();
  let arrivals: TraceFeedRepository;
  let scope: Scope;
  let client: ApiClient;
  let begin: FeedPosition;

  beforeAll(() => {
    arrivals = app.get(TraceFeedRepository);
  });
  beforeEach(async () => {
    const organization = await newOrganization(app);
    scope = workspaceScope(organization.orgId, organization.workspaceId, 'test', new Set());
    client = await organization.as('editor');
    begin = { arrived_us: (await arrivals.clock()).now_us, trace_id: '' };
  });

  const send = async (spans: Partial<TestSpan>[]): Promise<string[]> => {
    const sent = spans.map(newSpan);
    expect((await client.post('/telemetry/v1/traces', jsonExport(sent))).status).toBe(200);
    return sent.map(({ traceId }) => traceId);
  };
  const read = async (query: Partial<FeedQuery> = {}) => {
    const before_us = (await arrivals.clock()).now_us;
    return arrivals.read(scope, {
      after: begin,
      before_us,
      grain: 'trace',
      filters: [],
      limit: 100,
      ...query,
    });
  };
  const ids = async (query: Partial<FeedQuery> = {}) => (await read(query)).map((one) => one.trace_id);

  it('are read in order of arrival, from any position', async () => {
    const start = newSpan().start!;
    const [first] = await send([{ start: start + 1_000_000_000n }]);
    const [second] = await send([{ start }]);
    const [third] = await send([{ start: start + 500_000_000n }]);
    expect(await ids()).toEqual([first, second, third]);
    const [place] = await read({ limit: 1 });
    expect(await ids({ after: place })).toEqual([second, third]);
    expect(await ids({ after: place, before_us: place!.arrived_us + 1 })).toEqual([]);
  });

  it('move to the end with a new span, but not with a repeated span', async () => {
    const root = newSpan();
    await send([root]);
    const [other] = await send([{}]);
    await send([root]);
    expect(await ids()).toEqual([root.traceId, other]);
    await send([{ traceId: root.traceId, parentSpanId: root.spanId }]);
    expect(await ids()).toEqual([other, root.traceId]);
  });

  it('return a session at its last trace', async () => {
    const of = (session: string) => ({ attributes: { 'session.id': session } });
    await send([of('a')]);
    await send([of('b')]);
    await send([of('a')]);
    await send([{}]);
    const targetIds = (await read({ grain: 'session' })).map((one) => one.target_id);
    expect(targetIds).toEqual([null, 'b', 'a', null]);
    // even a trace that cannot be read yet moves the session to the end
    const [last] = await read({ after: begin, limit: 1 });
    const early = await read({ grain: 'session', before_us: last!.arrived_us + 1 });
    expect(early.map((one) => one.target_id)).toEqual([null]);
  });

  it.each([
    ['a name', [{ field: 'root_name', among: ['wanted'] }]],
    [
      'a measure',
      [
        { field: 'input_tokens', from: 10 },
        { field: 'input_tokens', to: 10 },
      ],
    ],
    ['a model', [{ field: 'model', among: ['gpt'] }]],
    ['a status', [{ field: 'status', among: ['error'] }]],
    ['its session', [{ field: 'session_id', among: ['wanted'] }]],
    [
      'several conditions',
      [
        { field: 'span_count', from: 1 },
        { field: 'root_name', among: [null, 'wanted'] },
      ],
    ],
  ])('match %s', async (_, filters) => {
    const attributes = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'gpt',
      'gen_ai.usage.input_tokens': 10,
    };
    const [match] = await send([
      { name: 'wanted', attributes: { ...attributes, 'session.id': 'wanted' }, isError: true },
      { name: 'other', attributes: { 'session.id': 'other' } },
    ]);
    const met = (await read({ filters })).filter((one) => one.is_met);
    expect(met.map((one) => one.trace_id)).toEqual([match]);
    const sessions = (await read({ filters, grain: 'session' })).filter((one) => one.is_met);
    expect(sessions.map((one) => one.target_id)).toEqual(['wanted']);
  });

  it('are limited to the workspace', async () => {
    await send([{}]);
    const other = await newOrganization(app);
    const elsewhere = {
      ...scope,
      workspaceId: other.workspaceId,
      key: { ...scope.key, value: other.workspaceId },
    };
    const before_us = (await arrivals.clock()).now_us;
    const query = { after: begin, before_us, grain: 'trace' as const, filters: [], limit: 100 };
    expect(await arrivals.read(elsewhere, query)).toEqual([]);
    const watched = [elsewhere, scope].map(({ workspaceId }) => ({
      workspace_id: workspaceId,
      after: begin,
      before_us,
    }));
    expect(await arrivals.nonEmptyRanges(watched)).toEqual([watched[1]]);
  });

  it('are settled only after earlier transactions have committed', async () => {
    const late = new Client({ connectionString: app.env.DATABASE_URL });
    await late.connect();
    try {
      await late.query('BEGIN');
      await late.query(
        `INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models, arrived_at)
         VALUES ($1, $2, now(), now(), 1, 0, '{}', clock_timestamp())`,
        [scope.workspaceId, newTraceId()],
      );
      await delay(5);
      const [early] = await send([{}]);
      const open = await arrivals.clock();
      expect(open.settled_us).toBeLessThan(open.now_us);
      expect(await ids({ before_us: open.settled_us })).toEqual([]);
      await late.query('COMMIT');
      // a reader that stops at the settled time has skipped neither
      while ((await arrivals.clock()).settled_us <= open.now_us) await delay(5);
      const { settled_us } = await arrivals.clock();
      expect(await ids({ before_us: settled_us })).toEqual([expect.any(String), early]);
    } finally {
      await late.end();
    }
  });
});
