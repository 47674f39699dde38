import { sharedApp } from '#testing';
import { ToolsFixture } from '../mcp-endpoint/population.fixture';
import { outcome } from './evaluation.harness';
import { ScoringFixture } from './scoring.fixture';

const MAX_RUNS = 6;
const MAX_BATCHES = 3;

describe('an organization with many open runs and batches', () => {
  const app = sharedApp({
    env: { MAX_OPEN_SCORE_RUNS: `${MAX_RUNS}`, MAX_OPEN_SCORE_BATCHES: `${MAX_BATCHES}` },
  });
  let on: ScoringFixture;
  let scorer: any;
  let body: { trace_ids: string[] };

  beforeEach(async () => {
    on = await ScoringFixture.create(app);
    scorer = await on.scorer();
    body = { trace_ids: [await on.trace()] };
  });

  /** Sends requests at the same time. Returns the numbers of those that were accepted and rejected. */
  const send = async (count: number, request: () => Promise<any>) => {
    const answers = await Promise.all(Array.from({ length: count }, request));
    const rejected = answers.filter(({ status }) => status !== 202);
    for (const answer of rejected) {
      expect([...outcome(answer), answer.headers.get('retry-after')]).toEqual([429, 'rate_limited', '30']);
    }
    return [count - rejected.length, rejected.length, rejected[0]?.body.detail];
  };

  it('gets 429 for a further run in any workspace, until one has ended', async () => {
    const request = () => on.score(scorer, body);
    expect(await send(MAX_RUNS + 3, request)).toEqual([
      ...[MAX_RUNS, 3],
      'Your organization has 6 open scoring runs, the maximum (MAX_OPEN_SCORE_RUNS). Repeat the request when some have ended, or cancel some with POST /eval/v1/score-runs/{id}/cancel.',
    ]);
    const tools = await ToolsFixture.create(app, on.organization, 'evaluator');
    expect(await tools.problem('start_scoring_run', { scorer_id: scorer.scorer_id, ...body })).toMatchObject({
      code: 'rate_limited',
      text: expect.stringContaining('Your organization has 6 open scoring runs, the maximum'),
    });
    await tools.client.close();
    const workspace_id = await on.organization.newWorkspace();
    const elsewhere = on.evaluator.in(workspace_id);
    const { body: theirs } = await elsewhere.post('/eval/v1/scorers', {
      workspace_id,
      name: 'theirs',
      scorer_kind: 'code',
      definition: { checks: [{ type: 'equals' }] },
    });
    const path = `/eval/v1/scorers/${theirs.scorer_id}/score`;
    // A selection without targets needs no worker.
    expect((await elsewhere.post(path, { since: '2025-01-01T00:00:00Z' })).status).toBe(202);
    for (const mode of ['preview', 'test']) {
      expect((await on.score(scorer, { ...body, mode })).status).toBe(200);
    }
    // A batch is accepted, and its first run too. It counts for further requests.
    const { body: batch } = await on.batch(scorer, body);
    expect(batch).toMatchObject({ batch_status: 'queued', run_count: 1 });

    const other = await ScoringFixture.create(app);
    const { status } = await other.score(await other.scorer(), { trace_ids: [await other.trace()] });
    expect(status).toBe(202);

    const { items } = (await on.evaluator.get('/eval/v1/score-runs?limit=2')).body;
    for (const { score_run_id } of items) {
      await on.evaluator.post(`/eval/v1/score-runs/${score_run_id}/cancel`);
    }
    expect((await send(2, request)).slice(0, 2)).toEqual([1, 1]);
  });

  it('gets 429 for a further batch, until one has ended', async () => {
    const request = () => on.batch(scorer, body);
    expect(await send(MAX_BATCHES + 2, request)).toEqual([
      ...[MAX_BATCHES, 2],
      'Your organization has 3 open scoring batches, the maximum (MAX_OPEN_SCORE_BATCHES). Repeat the request when some have ended, or cancel some with POST /eval/v1/score-batches/{id}/cancel.',
    ]);
    const { items } = (await on.evaluator.get('/eval/v1/score-batches')).body;
    await on.evaluator.post(`/eval/v1/score-batches/${items[0].score_batch_id}/cancel`);
    // an order of several batches is accepted as a whole or not at all
    const { experiment_id } = await on.experiment();
    const scorers = [scorer.scorer_id, (await on.scorer()).scorer_id];
    const order = () => on.evaluator.post(`/eval/v1/experiments/${experiment_id}/score`, { scorers });
    expect((await send(1, order)).slice(0, 2)).toEqual([0, 1]);
    expect((await send(2, request)).slice(0, 2)).toEqual([1, 1]);
  });
});
