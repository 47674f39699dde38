import { workspaceScope, type Scope } from '#platform/auth';
import { type ApiClient, jsonExport, newOrganization, newSpan, ownApp, type TestSpan } from '#testing';
import { type FeedPosition, TraceFeedRepository } from '../../../src/telemetry';
import type { FeedQuery } from '../../../src/telemetry/traces/trace-feed.repository';
import { workOf } from '../evaluation/work.harness';

describe('trace arrivals among many traces', () => {
  const app = ownApp({ autovacuum: false });
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

  const STORED = 20_000;

  beforeEach(async () => {
    // the workspace is not in the statistics: all other traces arrived before, in one session
    await app.database.query(
      `INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models, session_id,
                           arrived_at)
       SELECT $1, lpad(to_hex(n), 32, '0'), now(), now(), 1, 0, '{}', 'large', now() - n * interval '1 second'
       FROM generate_series(1, ${STORED}) n`,
      [scope.workspaceId],
    );
  });

  it.each(['trace', 'session'] as const)('are found by index, by %s', async (grain) => {
    await send([{ attributes: { 'session.id': 'large' } }, { attributes: { 'session.id': 'small' } }]);
    const filters = [{ field: 'root_name', among: ['step'] }];
    const works = await workOf(app.database, async () => {
      const { now_us } = await arrivals.clock();
      const watched = { workspace_id: scope.workspaceId, after: begin, before_us: now_us };
      expect(await arrivals.nonEmptyRanges([watched])).toHaveLength(1);
      await read({ grain });
      if (grain === 'trace') await read({ filters });
    });
    const heavy = works.filter(({ rows }) => rows > 200);
    expect(heavy).toEqual([]);
    expect(works.filter(({ statement }) => statement.includes('FROM traces'))).not.toEqual([]);
  });
});
