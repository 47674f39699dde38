import { createTestWorker, ownApp, type TestApp, type TestWorker, until } from '#testing';
import { script, ScoringFixture } from '../e2e/evaluation/scoring.fixture';
import { type GatedService, Gate, JUDGE, withGate } from './gate.fixture';
import { COST, GOOD, inputs, type JudgedService, says, withJudge } from './judge.fixture';

const SINCE = '2025-01-01T00:00:00Z';
const ALWAYS = script('function score() { return 1; }');
/** Inserts traces of a workspace with SQL. */
const fill = (app: TestApp, workspaceId: string, count: number) =>
  app.database.query(
    `INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models, root_name)
     SELECT $1, md5($1 || n), timestamptz '2026-01-01' + n * interval '1 ms', timestamptz '2026-01-02', 1, 0, '{}', 'root'
     FROM generate_series(1, $2::int) n`,
    [workspaceId, count],
  );

/** Counts the targets of a batch by their number of results. */
const scoredTimes = (app: TestApp, { score_batch_id }: any): Promise<{ times: number; targets: number }[]> =>
  app.database.query(
    `SELECT times, count(*) AS targets FROM (
       SELECT s.target_id, count(*) AS times FROM target_outcomes s JOIN score_runs r USING (score_run_id)
       WHERE r.score_batch_id = $1 GROUP BY 1) t GROUP BY 1 ORDER BY 1`,
    [score_batch_id],
  );

/** Requests a batch over this many new traces. */
async function batchOver(
  app: TestApp,
  on: ScoringFixture,
  count: number,
  scorer: object,
  body: object = {},
): Promise<any> {
  await fill(app, on.workspaceId, count);
  const answer = await on.batch(await on.scorer(scorer), { since: SINCE, ...body });
  expect(answer.status).toBe(202);
  return answer.body;
}

/** Requests a batch over this many results of a new experiment. */
async function batchOverResults(
  on: ScoringFixture,
  count: number,
  scorer: object,
  body: object = {},
): Promise<any> {
  const experiment = await on.experiment();
  for (let made = 0; made < count; made += 100)
    await on.results(experiment, inputs(Math.min(100, count - made)));
  const { experiment_id } = experiment;
  const answer = await on.batch(await on.scorer(scorer), { experiment_id, ...body });
  expect(answer.status).toBe(202);
  return { ...answer.body, experiment_id };
}

const cancel = (on: ScoringFixture, batch: any) =>
  on.evaluator.post(`/eval/v1/score-batches/${batch.score_batch_id}/cancel`);

describe('a batch', () => {
  let app: GatedService['app'];
  let gate: GatedService['gate'];
  let on: GatedService['on'];
  withGate((service) => ({ app, gate, on } = service));

  const waiting = async (batch: any): Promise<number> => {
    const [row] = await app.database.query<{ count: number }>(
      'SELECT count(*) AS count FROM score_batch_targets WHERE score_batch_id = $1',
      [batch.score_batch_id],
    );
    return row!.count;
  };

  it('is scored completely, run after run', async () => {
    const batch = await batchOverResults(on, 220, ALWAYS, { concurrency: 16 });
    expect(await on.finishedBatch(batch)).toMatchObject({
      batch_status: 'succeeded',
      total: 220,
      completed_count: 220,
      failed_count: 0,
      run_count: 3,
      failure_code: null,
      started_at: expect.any(String),
      finished_at: expect.any(String),
    });
    expect(await scoredTimes(app, batch)).toEqual([{ times: 1, targets: 220 }]);
    const totals = (await on.runsOfBatch(batch)).map(({ total }) => total as number);
    expect(totals.sort((a, b) => b - a)).toEqual([100, 100, 20]);
  });

  it('starts no further runs after it is cancelled, and reports its progress', async () => {
    const batch = await batchOver(app, on, 400, JUDGE, { concurrency: 1, cache: false });
    await gate.holds(3);
    gate.release();
    await gate.holds(3);
    expect(await on.readBatch(batch)).toMatchObject({ batch_status: 'running', completed_count: 3 });
    const cancelled = await cancel(on, batch);
    expect(cancelled).toMatchObject({
      status: 200,
      body: {
        batch_status: 'failed',
        failure_code: 'cancelled',
        failure_detail:
          'The batch was cancelled. 100 of its 400 targets were not in a run yet. completed_count says how many were scored.',
        total: 400,
        completed_count: 3,
        failed_count: 297,
        run_count: 3,
      },
    });
    expect(await waiting(batch)).toBe(0);
    for (const run of await on.runsOfBatch(batch)) expect(run.failure_code).toBe('cancelled');
    gate.release({ open: true });
    const again = await cancel(on, batch);
    expect([again.status, again.body.completed_count, again.body.run_count]).toEqual([200, 3, 3]);
    expect(gate.requests).toHaveLength(6);
    // Other requests can score the rest of the targets.
    const left = await on.batch({ scorer_id: batch.scorer_id }, { since: SINCE, unscored_only: true });
    expect(left.body.total).toBe(397);
    await cancel(on, left.body);
  });

  it('cannot be cancelled after it has ended', async () => {
    const batch = await batchOverResults(on, 2, ALWAYS);
    await on.finishedBatch(batch);
    expect((await cancel(on, batch)).status).toBe(409);
  });

  it('fails when none of its runs succeeds', async () => {
    const batch = await batchOverResults(on, 150, script('function score() { throw new Error("broken"); }'), {
      concurrency: 16,
    });
    expect(await on.finishedBatch(batch)).toMatchObject({
      batch_status: 'failed',
      failure_code: 'all_targets_failed',
      failure_detail: expect.stringMatching(
        /^No run of the batch succeeded\. Last run: All (100|50) targets of the run failed\. First error: .*broken/s,
      ),
      completed_count: 0,
      failed_count: 150,
    });
  });
});

describe('a batch that waits for a worker', () => {
  let gate: Gate;
  let on: ScoringFixture;
  let workers: TestWorker[];

  beforeAll(async () => {
    gate = await Gate.listen();
  });
  const app = ownApp(() => ({ env: gate.env }));
  afterAll(() => gate.close());
  beforeEach(async () => {
    gate.reset();
    on = await ScoringFixture.create(app);
    workers = [];
  });
  afterEach(async () => {
    gate.release({ open: true });
    await Promise.all(workers.map((worker) => worker.close()));
  });

  const newWorker = async (): Promise<void> => void workers.push(await createTestWorker(app));

  it('ends the runs that an interrupted cancellation left open, when the cancellation is repeated', async () => {
    const batch = await batchOverResults(on, 300, ALWAYS);
    await app.database.query(
      `UPDATE score_batches SET batch_status = 'failed', failure_code = 'cancelled' WHERE score_batch_id = $1`,
      [batch.score_batch_id],
    );
    expect(await cancel(on, batch)).toMatchObject({ status: 200, body: { failed_count: 300, run_count: 3 } });
  });

  it('scores the targets that it was accepted with, even if one of its runs is cancelled', async () => {
    const batch = await batchOverResults(on, 310, ALWAYS);
    await on.result(batch);
    const [run] = await on.runsOfBatch(batch);
    await on.evaluator.post(`/eval/v1/score-runs/${run.score_run_id}/cancel`);
    expect(await on.readBatch(batch)).toMatchObject({
      batch_status: 'queued',
      failed_count: 100,
      run_count: 4,
    });
    await newWorker();
    expect(await on.finishedBatch(batch)).toMatchObject({
      batch_status: 'succeeded',
      total: 310,
      completed_count: 210,
      failed_count: 100,
    });
    expect(await scoredTimes(app, batch)).toEqual([{ times: 1, targets: 310 }]);
  });

  it('starts no further runs when its organization is suspended', async () => {
    const batch = await batchOverResults(on, 310, ALWAYS);
    await app.database.query(`UPDATE organizations SET status = 'suspended' WHERE org_id = $1`, [
      on.organization.orgId,
    ]);
    await newWorker();
    const ended = async () => {
      const [row] = await app.database.query<any>('SELECT * FROM score_batches WHERE score_batch_id = $1', [
        batch.score_batch_id,
      ]);
      return row;
    };
    await until(async () => (await ended()).completed_count === 300);
    expect(await ended()).toMatchObject({
      batch_status: 'failed',
      failure_code: 'cancelled',
      failure_detail: expect.stringMatching(/not active\. 10 of its 310 targets/),
      run_count: 3,
    });
  });

  it('delays a run of another tenant by no more than its open runs', async () => {
    const batch = await batchOver(app, on, 400, JUDGE, { concurrency: 32 });
    const other = await ScoringFixture.create(app);
    const { body: run } = await other.score(await other.scorer(ALWAYS), { trace_ids: [await other.trace()] });
    const queued = await app.database.query<{ score_run_id: string }>(
      `SELECT score_run_id FROM score_runs WHERE run_status = 'queued' ORDER BY score_run_id`,
    );
    // Workers take runs in this order.
    expect(queued.map((one) => one.score_run_id).indexOf(run.score_run_id)).toBe(3);
    await newWorker();
    expect(await other.finished(run.score_run_id)).toMatchObject({ run_status: 'succeeded' });
    expect(await on.readBatch(batch)).toMatchObject({ completed_count: 0 });
    await cancel(on, batch);
  });
});

describe('a batch with a cost limit', () => {
  let judge: JudgedService['judge'];
  let app: JudgedService['app'];
  let fixture: JudgedService['fixture'];
  withJudge((service) => ({ judge, app, fixture } = service));

  it('fails with budget_exceeded when its runs together reach the limit', async () => {
    const { experiment_id } = await fixture.experiment(...inputs(100));
    await fixture.scoring.results({ experiment_id }, inputs(100));
    await fixture.scoring.results({ experiment_id }, inputs(50));
    const max_cost_usd = 120.5 * COST;
    const scorer = await fixture.scorer();
    // Distinct requests, so that no answer is cached.
    const { body } = await fixture.scoring.batch(scorer, {
      experiment_id,
      max_cost_usd,
      concurrency: 1,
      cache: false,
    });
    expect(body).toMatchObject({ total: 250, run_count: 1, max_cost_usd });
    const ended = await fixture.scoring.finishedBatch(body);
    expect(ended).toMatchObject({
      batch_status: 'failed',
      failure_code: 'budget_exceeded',
      failure_detail: expect.stringContaining(
        '(max_cost_usd). 50 of its 250 targets were not in a run yet. completed_count says how many were scored.',
      ),
      completed_count: 121,
      failed_count: 79,
      run_count: 2,
      cost_usd: expect.closeTo(121 * COST, 9),
    });
    expect(judge.requests).toHaveLength(121);
    const runs = await fixture.scoring.runsOfBatch(body);
    expect(runs.map(({ failure_code }) => failure_code)).toEqual([null, 'budget_exceeded']);
    expect(runs[0].max_cost_usd).toBeCloseTo(max_cost_usd, 9);
    expect(runs[1].max_cost_usd).toBeCloseTo(20.5 * COST, 9);
  });

  it('never has two runs open at a time', async () => {
    let most = 0;
    judge.reply = async () => {
      const [row] = await app.database.query<{ open: number }>(
        `SELECT count(*) AS open FROM score_runs WHERE score_batch_id IS NOT NULL AND run_status IN ('queued', 'running')`,
      );
      most = Math.max(most, row!.open);
      return says(GOOD);
    };
    const { experiment_id } = await fixture.experiment(...inputs(100));
    await fixture.scoring.results({ experiment_id }, inputs(1));
    const options = { max_cost_usd: 1_000 * COST, concurrency: 16, cache: false };
    const { body } = await fixture.scoring.batch(await fixture.scorer(), { experiment_id, ...options });
    expect(await fixture.scoring.finishedBatch(body)).toMatchObject({
      batch_status: 'succeeded',
      completed_count: 101,
    });
    expect(most).toBe(1);
  });

  it('is rejected for a judge without a price', async () => {
    const { experiment_id } = await fixture.experiment();
    const scorer = await fixture.scorer({ model: 'of unknown price' });
    expect(await fixture.scoring.batch(scorer, { experiment_id, max_cost_usd: 1 })).toMatchObject({
      status: 422,
      body: { code: 'validation_failed', errors: [{ pointer: '/max_cost_usd' }] },
    });
  });
});
