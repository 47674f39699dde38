import { type ScoringFixture, script } from '../e2e/evaluation/scoring.fixture';
import { COST, inputs, type JudgedService, withJudge } from './judge.fixture';

const ALWAYS = script('function score() { return 1; }');

describe('an order of scores for an experiment', () => {
  let judge: JudgedService['judge'];
  let fixture: JudgedService['fixture'];
  let app: JudgedService['app'];
  let on: ScoringFixture;
  withJudge((service) => {
    ({ judge, fixture, app } = service);
    on = fixture.scoring;
  });

  const order = (experiment: any, body: object) =>
    on.evaluator.post(`/eval/v1/experiments/${experiment.experiment_id}/score`, body);
  const ended = async (batches: any[]): Promise<any[]> =>
    Promise.all(batches.map((batch) => on.finishedBatch(batch)));

  it('scores a running and a finalized experiment with each scorer, and only what is unscored if asked to', async () => {
    const experiment = await fixture.experiment(...inputs(3));
    const code = await on.scorer({ ...ALWAYS, name: 'code' });
    const judged = await fixture.scorer({}, { name: 'judged' });
    const scorers = [code.scorer_id, judged.name];
    const { status, body } = await order(experiment, { scorers: [code.name, ...scorers], concurrency: 2 });
    expect([
      status,
      body.score_batches.map((one: any) => [one.scorer_id, one.total, one.concurrency]),
    ]).toEqual([
      202,
      [[code.scorer_id, 3, 2], [judged.scorer_id, 3, 2]], // oxfmt-ignore
    ]);
    expect(await on.readBatch(body.score_batches[0])).toMatchObject(
      Object.fromEntries(['score_batch_id', 'total', 'max_cost_usd', 'created_at'].map((name) => [name, body.score_batches[0][name]])),
    ); // oxfmt-ignore
    const all = await ended(body.score_batches);
    expect(all.map(({ batch_status, completed_count }) => [batch_status, completed_count])).toEqual([
      ['succeeded', 3],
      ['succeeded', 3],
    ]);
    await on.result(experiment, { input: 'new' });
    await on.finalize(experiment);
    const again = await order(experiment, { scorers, unscored_only: true });
    expect(again.body.score_batches.map((one: any) => one.total)).toEqual([1, 1]);
    await ended(again.body.score_batches);
    const nothing = await order(experiment, { scorers, unscored_only: true });
    expect(nothing.body.score_batches.map((one: any) => [one.batch_status, one.total])).toEqual([
      ['succeeded', 0],
      ['succeeded', 0],
    ]);
  });

  it('spends no more than its limit over all scorers, one batch after the other', async () => {
    const experiment = await fixture.experiment(...inputs(4));
    const scorers = [];
    for (let count = 0; count < 3; count++) scorers.push((await fixture.scorer()).scorer_id);
    const limits = { max_cost_usd: 5.5 * COST, concurrency: 1 };
    const { body } = await order(experiment, { scorers, ...limits });
    expect(body.score_batches.map((one: any) => [one.run_count, one.max_cost_usd])).toEqual([
      [1, limits.max_cost_usd],
      [0, limits.max_cost_usd],
      [0, limits.max_cost_usd],
    ]);
    const all = await ended(body.score_batches);
    expect(
      all.map((one) => [one.batch_status, one.failure_code, one.completed_count, one.run_count]),
    ).toEqual([
      ['succeeded', null, 4, 1],
      ['failed', 'budget_exceeded', 2, 1],
      ['failed', 'budget_exceeded', 0, 0],
    ]);
    expect(judge.requests).toHaveLength(6);
  });

  it('continues with the next batch when one is cancelled', async () => {
    const experiment = await fixture.experiment(...inputs(2));
    const scorers = [await fixture.scorer(), await on.scorer(ALWAYS), await on.scorer(ALWAYS)];
    let cancel: Promise<unknown> | undefined;
    judge.reply = async () => {
      cancel ??= on.evaluator.post(`/eval/v1/score-batches/${batches[0].score_batch_id}/cancel`);
      await cancel;
      return { content: '{}' };
    };
    let batches: any[] = [];
    const { body } = await order(experiment, {
      scorers: scorers.map(({ scorer_id }) => scorer_id),
      max_cost_usd: 1,
    });
    batches = body.score_batches;
    const all = await ended(batches);
    expect(all.map((one) => one.failure_code ?? one.batch_status)).toEqual([
      'cancelled',
      'succeeded',
      'succeeded',
    ]);
    const runs = await app.database.query<{ open: number }>(
      `SELECT count(*)::int AS open FROM score_runs WHERE org_id = $1 AND run_status IN ('queued', 'running')`,
      [on.organization.orgId],
    );
    expect(runs[0]!.open).toBe(0);
  });

  it('goes on after a batch whose targets were all erased before it started', async () => {
    const experiment = await fixture.experiment(...inputs(2));
    const scorers = [await fixture.scorer(), await on.scorer(ALWAYS), await on.scorer(ALWAYS)];
    let batches: any[] = [];
    let erased: Promise<unknown> | undefined;
    judge.reply = async () => {
      // what the erasure of a session does to the batches that wait
      erased ??= app.database.query(
        `WITH gone AS (DELETE FROM score_batch_targets WHERE score_batch_id = $1)
         UPDATE score_batches SET total = 0 WHERE score_batch_id = $1`,
        [batches[1].score_batch_id],
      );
      await erased;
      return { content: '{}' };
    };
    const { body } = await order(experiment, {
      scorers: scorers.map(({ scorer_id }) => scorer_id),
      max_cost_usd: 1,
    });
    batches = body.score_batches;
    const all = await ended(batches);
    expect(all.slice(1).map((one) => [one.batch_status, one.total, one.completed_count])).toEqual([
      ['succeeded', 0, 0],
      ['succeeded', 2, 2],
    ]);
  });
});
