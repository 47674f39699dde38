import { Database } from '#platform/db';
import { ownApp } from '#testing';
import { ScoreRunService } from '../../../src/evaluation/scoring/score-runs/score-run.service';
import { RunTurnRepository } from '../../../src/evaluation/scoring/score-runs/run-turn.repository';
import { ScoringFixture } from './scoring.fixture';
import { workOf } from './work.harness';

const RUNS = 100_000;
const ORGS = 50;
/** Rows that the nodes of a plan may process: some for each organization, each started run and each counted run. */
const ROWS_MAX = 5_000;

describe('the turns of scoring runs', () => {
  const app = ownApp();
  let on: ScoringFixture;

  beforeAll(async () => {
    on = await ScoringFixture.create(app);
    const { scorer_id } = await on.scorer();
    await app.database.query('ALTER TABLE score_runs SET (autovacuum_enabled = false)');
    // One organization has 100,000 queued runs, and as many that have ended. Others have a few.
    const fill = (org: string, prefix: string, count: number, status: string) =>
      app.database.query(
        `INSERT INTO score_runs (score_run_id, org_id, workspace_id, scorer_id, scorer_version, grain, run_status,
                                 concurrency, total, lease_token, lease_expires_at, created_at, updated_at, created_by)
         SELECT 'run_' || $2 || lpad(n::text, 20, '0'), ${org}, $1, $3, 1, 'trace', $4, 4, 100,
                CASE $4 WHEN 'running' THEN 'held' END, CASE $4 WHEN 'running' THEN now() + interval '1 hour' END,
                now() - interval '1 minute', now(), 'test'
         FROM generate_series(1, $5::int) n`,
        [on.workspaceId, prefix, scorer_id, status, count],
      );
    const { orgId } = on.organization;
    await fill(`'${orgId}'`, 'b', RUNS, 'queued');
    await fill(`'${orgId}'`, 'a', RUNS, 'succeeded');
    await fill(`'org_' || n % ${ORGS}`, 'c', 4 * ORGS, 'queued');
    await fill(`'org_' || n % 8`, 'd', 40, 'running');
  });

  it.each([
    [
      'a claim',
      () =>
        app
          .get(RunTurnRepository)
          .claim({ token: 'test', leaseMs: 60_000, seconds: 60, fullOrgs: [on.organization.orgId], minAgeMs: 0 }),
    ],
    ['the organizations that wait', () => app.get(RunTurnRepository).countWaitingOrgs(10)],
    [
      'the number of open runs of an organization',
      () => app.database.transaction((tx) => app.get(ScoreRunService).checkOpenRuns(tx, on.organization.scope as never)).catch(() => undefined),
    ],
  ])('read few rows for %s, without statistics and with them', async (_, work) => {
    for (const analyze of [false, true]) {
      if (analyze) await app.database.query('ANALYZE score_runs');
      const works = await workOf(app.get(Database), work);
      expect(works.length).toBeGreaterThan(0);
      expect(works.filter(({ rows }) => rows > ROWS_MAX)).toEqual([]);
    }
  }); // oxfmt-ignore
});
