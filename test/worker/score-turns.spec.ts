import { Environment } from '#platform/config';
import { Database, sql } from '#platform/db';
import { ownApp } from '#testing';
import type { ClaimedRun } from '../../src/evaluation/scoring/score-runs/run-execution.repository';
import {
  type ClaimRules,
  RunTurnRepository,
} from '../../src/evaluation/scoring/score-runs/run-turn.repository';
import { ScoreRunExecutor } from '../../src/evaluation/scoring/score-runs/score-run.executor';
import { ScoringFixture, script } from '../e2e/evaluation/scoring.fixture';
import { type GatedService, JUDGE, withGate } from './gate.fixture';

const indexes = (count: number) => Array.from({ length: count }, (_, index) => ({ input: index }));
const ONE = script('function score() { return 1; }');

describe('scoring runs of several organizations', () => {
  let app: GatedService['app'];
  let worker: GatedService['worker'];
  let gate: GatedService['gate'];
  let on: GatedService['on'];
  withGate((service) => ({ app, worker, gate, on } = service));

  /** Starts runs of one organization, each with one target that the judge holds. Returns their ids. */
  async function holdRuns(count: number, targets = 1): Promise<string[]> {
    const ids: string[] = [];
    for (let n = 0; n < count; n++) {
      const { run } = await on.runOver(indexes(targets), JUDGE, { concurrency: 1, cache: false });
      ids.push(run.score_run_id as string);
    }
    return ids;
  }

  const share = () => worker.get(Environment).WORKER_RUNS;
  const started = async (ids: readonly string[]): Promise<number> => {
    const runs = await Promise.all(ids.map((id) => on.run(id)));
    return runs.filter(({ run_status }) => run_status !== 'queued').length;
  };

  it('leave slots to others, although one organization has started more runs than there are slots', async () => {
    const held = await holdRuns(share() + 4);
    await gate.holds(share());
    // One after the other, each in an organization of its own. None waits for a run that the judge holds.
    for (let n = 0; n < 3; n++) {
      const other = await ScoringFixture.create(app);
      const { run } = await other.runOver(indexes(10), ONE);
      expect(await other.finished(run.score_run_id)).toMatchObject({ completed_count: 10 });
    }
    // Runs that have lost their slots still wait for the judge.
    expect(await started(held)).toBeGreaterThanOrEqual(share());
    gate.release({ open: true });
    for (const id of held) expect(await on.finished(id)).toMatchObject({ completed_count: 1 });
    expect(gate.requests).toHaveLength(held.length);
  });

  it('get slots back from an organization that has most of them, and lose no score', async () => {
    const held = await holdRuns(share(), 3);
    await gate.holds(share());
    const others = await Promise.all([ScoringFixture.create(app), ScoringFixture.create(app)]);
    const ids: string[] = [];
    for (const [n, other] of others.entries()) {
      const { run } = await other.runOver(indexes(2), JUDGE, { concurrency: 1, cache: false });
      ids.push(run.score_run_id as string);
      await gate.holds(share() + 1 + n);
      // No slot is left. The newest run of the first organization loses its slot, although the judge holds its target.
      await worker.get(ScoreRunExecutor).executeWaiting();
    }
    // The first organizations fill all slots with requests that the judge holds. One that comes later does not wait for them.
    const later = await ScoringFixture.create(app);
    const { run: last } = await later.runOver(indexes(10), ONE);
    expect(await later.finished(last.score_run_id)).toMatchObject({ completed_count: 10 });
    expect(gate.heldCount).toBe(share() + 2);
    gate.release({ open: true });
    for (const [n, other] of others.entries()) {
      expect(await other.finished(ids[n]!)).toMatchObject({ completed_count: 2 });
    }
    for (const id of held) expect(await on.finished(id)).toMatchObject({ completed_count: 3 });
    expect(gate.requests).toHaveLength(3 * held.length + 4);
  });
});

describe('the turns of organizations', () => {
  const app = ownApp();

  it('do not depend on the number and the age of their runs', async () => {
    const others = await Promise.all([1, 2, 3].map(() => ScoringFixture.create(app)));
    const names = new Map(others.map(({ workspaceId }, n) => [workspaceId, 'abc'[n]!]));
    for (const [n, count] of [3, 1, 2].entries()) {
      for (let run = 0; run < count; run++) await others[n]!.runOver(indexes(1), ONE);
    }
    const rules = { token: 'test', leaseMs: 60_000, seconds: 60, fullOrgs: [], minAgeMs: 0 };
    const claim = (changed: Partial<ClaimRules> = {}) =>
      app.get(RunTurnRepository).claim({ ...rules, ...changed });
    const next = async (changed?: Partial<ClaimRules>): Promise<string | undefined> => {
      const claimed = await claim(changed);
      return typeof claimed === 'string' ? claimed : names.get(claimed.workspace_id);
    };
    expect(await next({ minAgeMs: 600_000 })).toBe('none');
    expect(await app.get(RunTurnRepository).countWaitingOrgs(10)).toBe(3);
    const claimed: unknown[] = [];
    for (let n = 0; n < 4; n++) claimed.push(await next());
    // the organization with the fewest runs in progress; of several, the one whose last turn was first
    expect(claimed).toEqual(['a', 'b', 'c', 'a']);
    expect(await app.get(RunTurnRepository).countWaitingOrgs(10)).toBe(0);
    const fullOrgs = [others[0]!.organization.orgId];
    expect([await next({ fullOrgs }), await next({ fullOrgs })]).toEqual(['c', 'full']);

    // A run that was given back comes before the queued ones of its organization; the wait does not count.
    const [first] = await app.database.query<any>(
      `UPDATE score_runs SET lease_token = NULL, lease_expires_at = NULL, released_at = now() - interval '1 hour',
              deadline_at = now() - interval '1 hour' + interval '10 s'
       WHERE score_run_id = (SELECT min(score_run_id) FROM score_runs WHERE org_id = $1) RETURNING score_run_id`,
      fullOrgs,
    );
    const again = await claim();
    expect(again).toMatchObject({ ...first, takeovers: 0 });
    expect((again as ClaimedRun).ms_left).toBeGreaterThan(5_000);
    expect([await next(), await next()]).toEqual(['a', 'none']);

    // One whose worker was lost does too.
    await app.database.query(
      `UPDATE score_runs SET lease_expires_at = now() - interval '1 minute' WHERE score_run_id = $1`,
      [first.score_run_id],
    );
    expect(await claim()).toMatchObject({ ...first, takeovers: 1 });
  });

  it('let workers claim different runs of one organization at the same time, without waiting', async () => {
    const on = await ScoringFixture.create(app);
    const ids: string[] = [];
    for (let n = 0; n < 6; n++) ids.push((await on.runOver(indexes(1), ONE)).run.score_run_id as string);
    const rules = { token: 'test', leaseMs: 60_000, seconds: 60, fullOrgs: [], minAgeMs: 0 };
    const claim = async (): Promise<string> => {
      const claimed = await app.get(RunTurnRepository).claim(rules);
      return typeof claimed === 'string' ? claimed : claimed.score_run_id;
    };
    await app.database.query(
      `UPDATE score_runs SET run_status = 'running', released_at = now() WHERE score_run_id = $1`,
      [ids[1]],
    );
    await app.database.query('INSERT INTO scoring_turns VALUES ($1, now())', [on.organization.orgId]);
    await app.get(Database).transaction(async (tx) => {
      // as if another worker was claiming a started run and a queued one, and the turn of their organization
      const locked = [ids[1], ids[2]];
      await tx.query(sql`SELECT FROM score_runs WHERE score_run_id = ANY (${locked}::text[]) FOR UPDATE`);
      await tx.query(sql`SELECT FROM scoring_turns WHERE org_id = ${on.organization.orgId} FOR UPDATE`);
      const claimed = await Promise.all([claim(), claim(), claim(), claim()]);
      expect(claimed.sort()).toEqual([ids[0], ...ids.slice(3)]);
      expect(await claim()).toBe('full');
    });
    expect([await claim(), await claim(), await claim()]).toEqual([ids[1], ids[2], 'none']);
  });
});
