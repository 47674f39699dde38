import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import type { Scope } from '#platform/auth';
import { Database, sql } from '#platform/db';
import { JobQueue } from '#platform/jobs';
import { rootLogger } from '#platform/logging';
import {
  ownApp,
  createTestWorker,
  newTraceId,
  type TestApp,
  type TestWorker,
  until,
  WorkerProcess,
} from '#testing';
import {
  NO_BACKEND,
  STEP_FAILED,
  TOO_MANY_RUNS,
} from '../../src/evaluation/scoring/rules/scoring-rule.runner';
import { ScoringRuleMetrics } from '../../src/evaluation/scoring/rules/scoring-rule.metrics';
import { ScoreRunExecutor } from '../../src/evaluation/scoring/score-runs/score-run.executor';
import { ScoreRunService } from '../../src/evaluation/scoring/score-runs/score-run.service';
import type { ScoringFixture } from '../e2e/evaluation/scoring.fixture';
import { workOf } from '../e2e/evaluation/work.harness';
import { RulesFixture, skipQuietSecond } from './scoring-rules.fixture';

describe('a scoring rule', () => {
  const app = ownApp();
  let workers: TestWorker[];
  let rules: RulesFixture;

  beforeEach(async () => {
    workers = [];
    rules = await RulesFixture.create(app, () => workers);
  });
  afterEach(async () => {
    for (const worker of workers) await worker.close();
  });

  const newWorker = async (vars: Record<string, string> = {}): Promise<TestWorker> => {
    const worker = skipQuietSecond(await createTestWorker(app, vars));
    workers.push(worker);
    return worker;
  };
  const inDatabase = (sql: string, ...values: unknown[]): Promise<any[]> => app.database.query(sql, values);
  /** Ends the lease on a rule. */
  const releaseRule = (rule: any) =>
    inDatabase('UPDATE scoring_rules SET held_until = NULL WHERE rule_id = $1', rule.rule_id);

  it('scores a backlog once in runs of at most 100, with several workers', async () => {
    const rule = await rules.rule();
    const [one, other] = [await rules.rule(), await rules.rule()];
    const traceIds = (await rules.traces(130)).sort();
    await Promise.all([newWorker(), newWorker(), newWorker()]);
    for (const each of [rule, one, other]) {
      expect(await rules.seen(each, 130)).toMatchObject({ seen_count: 130, ordered_count: 130 });
      expect(await rules.scored(each)).toEqual(traceIds);
      for (const { total } of await rules.runs(each)) expect(total).toBeLessThanOrEqual(100);
    }
    // Rules with a backlog take turns.
    const { body } = await rules.on.evaluator.get('/eval/v1/score-runs?sort=created_at');
    expect(new Set(body.items.slice(0, 3).map((run: any) => run.rule_id)).size).toBeGreaterThan(1);
  }, 120_000);

  it('loses no trace when enqueueing fails, and logs the failure once', async () => {
    const rule = await rules.rule();
    const traceIds = (await rules.traces(3)).sort();
    const worker = await newWorker();
    const failing = jest
      .spyOn(worker.get(JobQueue), 'enqueue')
      .mockRejectedValue(new Error('the queue is full'));
    const logged = jest.spyOn(rootLogger, 'error');
    try {
      for (let failures = 0; failures < 3;) {
        await releaseRule(rule);
        await rules.runDue();
        failures = failing.mock.calls.length;
        await delay(20);
      }
      expect(await rules.read(rule)).toMatchObject({
        seen_count: 0,
        chosen_count: 0,
        last_score_run_id: null,
        last_error: STEP_FAILED,
      });
      expect(await rules.runs(rule)).toEqual([]);
      const messages = logged.mock.calls.map(([, message]) => message as unknown);
      expect(messages.filter((one) => one === 'a scoring rule failed')).toHaveLength(1);
    } finally {
      failing.mockRestore();
      logged.mockRestore();
    }
    await releaseRule(rule);
    expect(await rules.seen(rule, 3)).toMatchObject({ last_error: null });
    expect(await rules.scored(rule)).toEqual(traceIds);
  });

  it('scores every trace once when its worker is killed', async () => {
    const rule = await rules.rule();
    const traceIds: string[] = [];
    const killed = await WorkerProcess.start(app);
    try {
      traceIds.push(...(await rules.traces(150)));
      while ((await rules.runs(rule)).length === 0) traceIds.push(await rules.on.trace());
    } finally {
      await killed.kill();
    }
    await inDatabase(
      `UPDATE score_runs SET lease_expires_at = now() - interval '1 minute' WHERE lease_expires_at IS NOT NULL`,
    );
    await releaseRule(rule);
    const worker = await newWorker();
    await rules.seen(rule, traceIds.length);
    // Does not wait until the queue notices that the worker was killed.
    const executor = worker.get(ScoreRunExecutor);
    await Promise.all((await rules.runs(rule)).map(() => executor.executeNext()));
    for (const run of await rules.runs(rule)) await rules.on.finished(run.score_run_id as string);
    expect(await rules.scored(rule)).toEqual(traceIds.sort());
  }, 120_000);

  it('waits for transactions that began earlier, so that it misses no trace', async () => {
    const rule = await rules.rule();
    const late = new Client({ connectionString: app.env.DATABASE_URL });
    await late.connect();
    try {
      await late.query('BEGIN');
      const lateId = newTraceId();
      await late.query(
        `INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models, arrived_at)
         VALUES ($1, $2, now(), now(), 1, 0, '{}', clock_timestamp())`,
        [rules.on.workspaceId, lateId],
      );
      const early = await rules.on.trace();
      await newWorker();
      // Both traces are quiet by now.
      for (const end = Date.now() + 500; Date.now() < end; await delay(50)) await rules.runDue();
      expect(await rules.read(rule)).toMatchObject({ seen_count: 0 });
      await late.query('COMMIT');
      await rules.seen(rule, 2);
      expect(await rules.scored(rule)).toEqual([early, lateId].sort());
    } finally {
      await late.end();
    }
  });

  it('starts no fourth run while three are open, and delays no other rule', async () => {
    const [rule, sentinel] = [await rules.rule(), await rules.rule()];
    await inDatabase(
      `INSERT INTO score_runs (score_run_id, org_id, workspace_id, scorer_id, scorer_version, grain, concurrency, total,
                               created_at, updated_at, created_by, rule_id)
       SELECT 'run_open_' || n, $1, $2, $3, 1, 'trace', 4, 1, now(), now(), 'test', $4 FROM generate_series(1, 3) n`,
      rules.on.organization.orgId,
      rules.on.workspaceId,
      rule.scorer_id,
      rule.rule_id,
    );
    const traceId = await rules.on.trace();
    await newWorker();
    await rules.seen(sentinel, 1);
    expect(await rules.read(rule)).toMatchObject({ seen_count: 0 });
    await inDatabase(`UPDATE score_runs SET run_status = 'failed' WHERE score_run_id = 'run_open_1'`);
    await rules.seen(rule, 1);
    const run = (await rules.runs(rule)).find(
      ({ score_run_id }) => !/^run_open/.test(score_run_id as string),
    );
    await rules.on.finished(run.score_run_id);
    expect((await rules.on.resultsOf(run.score_run_id)).map((one) => one.trace_id)).toEqual([traceId]);
  });

  it('waits while its organization is suspended or its workspace archived', async () => {
    const [suspended, archived] = [
      await RulesFixture.create(app, () => workers),
      await RulesFixture.create(app, () => workers),
    ];
    const [ofSuspended, ofArchived, sentinel] = [
      await suspended.rule(),
      await archived.rule(),
      await rules.rule(),
    ];
    for (const one of [suspended, archived, rules]) await one.on.trace();
    const owner = await archived.on.organization.member('owner');
    await owner.post(`/registry/v1/workspaces/${archived.on.workspaceId}/archive`);
    const claims = { sub: 'operator', org_id: undefined, user_id: undefined, principal_type: 'platform' };
    const platform = app.api(await app.issuer.issueToken(claims));
    const org = `/registry/v1/orgs/${suspended.on.organization.orgId}`;
    expect((await platform.patch(org, { status: 'suspended' })).status).toBe(200);
    await newWorker();
    await rules.seen(sentinel, 1);
    const seen = () =>
      inDatabase(
        'SELECT seen_count FROM scoring_rules WHERE rule_id = ANY ($1)',
        [ofSuspended, ofArchived].map(({ rule_id }) => rule_id as string),
      );
    expect(await seen()).toEqual([{ seen_count: 0 }, { seen_count: 0 }]);
    expect((await platform.patch(org, { status: 'active' })).status).toBe(200);
    await suspended.seen(ofSuspended, 1);
  });

  it('waits while its organization has the maximum number of open runs, and reports it in last_error', async () => {
    const { body: run } = await rules.on.score(await rules.on.scorer(), { trace_ids: [await rules.on.trace()] });
    await inDatabase(`UPDATE score_runs SET run_status = 'failed' WHERE score_run_id = $1`, run.score_run_id);
    const rule = await rules.rule();
    const traceId = await rules.on.trace();
    const worker = await newWorker({ MAX_OPEN_SCORE_RUNS: '1' });
    // as if a request was starting the run
    await app.get(Database).transaction(async (tx) => {
      await worker.get(ScoreRunService).checkOpenRuns(tx, { orgId: rules.on.organization.orgId } as Scope);
      void rules.runDue();
      await until(
        async () => (await inDatabase(`SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`)).length > 0,
      );
      await tx.query(
        sql`UPDATE score_runs SET run_status = 'running', lease_token = 'held',
              lease_expires_at = now() + interval '1 hour' WHERE score_run_id = ${run.score_run_id}`,
      );
    });
    while ((await rules.read(rule)).last_error === null) await rules.runDue();
    expect(await rules.read(rule)).toMatchObject({ seen_count: 0, last_error: TOO_MANY_RUNS });
    await rules.on.evaluator.post(`/eval/v1/score-runs/${run.score_run_id}/cancel`);
    await releaseRule(rule);
    expect(await rules.seen(rule, 1)).toMatchObject({ last_error: null });
    expect(await rules.scored(rule)).toEqual([traceId]);
  }); // oxfmt-ignore

  it('reports in last_error that its judge backend is missing or its scorer is archived', async () => {
    const [rule, dead, sentinel] = [await rules.rule(), await rules.rule(), await rules.rule()];
    const kind = (scorer_kind: string, definition: string) =>
      inDatabase(
        'UPDATE scorers SET scorer_kind = $2, definition = $3 WHERE scorer_id = $1',
        rule.scorer_id,
        scorer_kind,
        definition,
      );
    const [{ definition }] = await inDatabase(
      'SELECT definition FROM scorers WHERE scorer_id = $1',
      rule.scorer_id,
    );
    // No worker has a classifier configured.
    await kind('llm_judge', '{"backend": "classifier", "prompt": "", "output": {"type": "boolean"}}');
    await rules.on.evaluator.post(`/eval/v1/scorers/${dead.scorer_id}/archive`);
    const traceId = await rules.on.trace();
    await newWorker();
    await rules.seen(sentinel, 1);
    while ((await rules.read(rule)).last_error === null) await rules.runDue();
    expect(await rules.read(rule)).toMatchObject({ seen_count: 0, last_error: NO_BACKEND });
    expect(await rules.read(dead)).toMatchObject({
      seen_count: 0,
      last_error: expect.stringContaining('archived'),
    });
    await kind('code', definition.text as string);
    await releaseRule(rule);
    expect(await rules.seen(rule, 1)).toMatchObject({ last_error: null });
    expect(await rules.scored(rule)).toEqual([traceId]);
  });

  it('reads only new traces', async () => {
    const STORED = 20_000;
    for (const table of ['traces', 'target_outcomes', 'score_targets', 'score_runs', 'scoring_rules']) {
      await inDatabase(`ALTER TABLE ${table} SET (autovacuum_enabled = false)`);
    }
    const fixture = await RulesFixture.create(app, () => workers);
    await fill(app, fixture.on, await fixture.rule({ enabled: false }), 500);
    await inDatabase('ANALYZE');
    const [rule, sessions] = [await rules.rule(), await rules.rule({ grain: 'session' })];
    await fill(app, rules.on, rule, STORED);
    await rules.traces(2, { sessionId: 'large' });
    const worker = await newWorker();
    await worker.stopPeriodicTasks();
    // Scoring a target of a large session reads more, which is not tested here.
    const idle = jest.spyOn(worker.get(ScoreRunExecutor), 'executeNext').mockResolvedValue();
    let seen = 0;
    const works = await workOf(worker.get(Database), async () => {
      await rules.seen(rule, 2);
      seen = (await rules.seen(sessions, 1)).seen_count as number;
      await worker.get(ScoringRuleMetrics).backlog();
    });
    idle.mockRestore();
    expect(seen).toBe(1);
    const own = works.filter(({ statement }) =>
      /scoring_rules|FROM traces|INTO score_|advisory/.test(statement),
    );
    expect(own.length).toBeGreaterThan(5);
    expect(works.filter(({ rows }) => rows > 2_000)).toEqual([]);
  });
});

/** Inserts traces of one session, each scored by its own run. */
async function fill(app: TestApp, { workspaceId, organization }: ScoringFixture, rule: any, count: number) {
  const fillTable = (statement: string, ...values: unknown[]) =>
    app.database.query(statement, [count, ...values]);
  await fillTable(
    `INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models, session_id,
                         arrived_at)
     SELECT $2, lpad(to_hex(n), 32, '0'), now(), now(), 1, 0, '{}', 'large', now() - n * interval '1 minute'
     FROM generate_series(1, $1) n`,
    workspaceId,
  );
  await fillTable(
    `INSERT INTO score_runs (score_run_id, org_id, workspace_id, scorer_id, scorer_version, grain, run_status,
                             concurrency, total, created_at, updated_at, created_by, rule_id)
     SELECT $5 || n, $3, $2, $4, 1, 'trace', 'succeeded', 4, 1, now(), now(), 'test', $5 FROM generate_series(1, $1) n`,
    workspaceId,
    organization.orgId,
    rule.scorer_id,
    rule.rule_id,
  );
  await fillTable(
    `INSERT INTO score_targets (score_run_id, ordinal, trace_id)
     SELECT $2 || n, 0, lpad(to_hex(n), 32, '0') FROM generate_series(1, $1) n`,
    rule.rule_id,
  );
  await fillTable(
    `INSERT INTO target_outcomes (score_run_id, ordinal, score_id, workspace_id, scorer_id, scorer_version, grain,
                                  target_id, elapsed_ms)
     SELECT $4 || n, 0, $4 || n, $2, $3, 1, 'trace', lpad(to_hex(n), 32, '0'), 1 FROM generate_series(1, $1) n`,
    workspaceId,
    rule.scorer_id,
    rule.rule_id,
  );
}
