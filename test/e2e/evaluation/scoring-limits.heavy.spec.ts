import { sharedApp } from '#testing';
import { ScoringFixture } from './scoring.fixture';

const SINCE = '2025-01-01T00:00:00Z';
const ALL = [{ field: 'span_count', op: 'gte', value: 0 }];

describe('a batch of the largest size', () => {
  const app = sharedApp();
  let on: ScoringFixture;

  beforeAll(async () => {
    on = await ScoringFixture.create(app);
  });

  const list = async (): Promise<any[]> => (await on.evaluator.get('/eval/v1/score-batches')).body.items;

  it('has 100,000 targets, and more are 422 with their count and store nothing', async () => {
    await app.database.query(
      `INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models)
       SELECT $1, md5($1 || n), timestamptz '2026-01-01' + n * interval '1 ms', timestamptz '2026-01-02', 1, 0, '{}'
       FROM generate_series(1, 100001) n`,
      [on.workspaceId],
    );
    const scorer = await on.scorer();
    for (const selection of [{ since: SINCE }, { filters: ALL }, { since: SINCE, unscored_only: true }]) {
      const answer = await on.batch(scorer, selection);
      expect([answer.status, answer.body.code]).toEqual([422, 'validation_failed']);
      expect(answer.body.detail).toContain('matches 100001 targets, more than 100000');
    }
    expect(await list()).toEqual([]);
    const { body } = await on.batch(scorer, { filters: ALL, limit: 100_000 });
    expect(body).toMatchObject({ total: 100_000, run_count: 3 });
    expect(await on.batch(scorer, { since: SINCE, limit: 100_001 })).toMatchObject({
      status: 422,
      body: { errors: [{ pointer: '/limit' }] },
    });
  }, 120_000);
});
