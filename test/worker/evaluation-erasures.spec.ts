import { type ApiClient, jsonExport, newSpan, newTraceId, sharedJudge, until } from '#testing';
import { AnnotationFixture } from '../e2e/evaluation/annotation.fixture';
import type { EvaluationWorkspace } from '../e2e/evaluation/evaluation.harness';
import { EXACT } from '../e2e/evaluation/scoring.fixture';

const MARKER = 'the secret of ada';

describe('an erasure in evaluation', () => {
  const judged = sharedJudge();
  let annotation: AnnotationFixture;
  let on: EvaluationWorkspace;
  let admin: ApiClient;

  beforeEach(async () => {
    annotation = await AnnotationFixture.open(judged.app);
    on = annotation.space;
    admin = await on.organization.as('admin');
  });

  const get = async (path: string): Promise<any> => (await admin.get(path)).body;

  /** Waits for the end of an erasure, and returns its counts. */
  const finished = async (sent: { status: number; body: any }): Promise<Record<string, number>> => {
    expect([sent.status, sent.body.erasure_status]).toEqual([202, 'queued']);
    const path = `/registry/v1/erasures/${sent.body.erasure_id}`;
    await until(async () => (await get(path)).erasure_status === 'succeeded');
    return (await get(path)).counts as Record<string, number>;
  };

  const deleteArchived = async (path: string): Promise<Record<string, number>> => {
    await on.archive(path);
    return finished(await admin.delete(`${path}?force=true`));
  };

  const eraseUser = (id: string, dry_run = false) =>
    admin
      .post('/registry/v1/erasures', { subject: { kind: 'end_user', id }, workspace_id: on.id, dry_run })
      .then(finished);

  /** Exports a trace of a user. */
  const traceOf = async (userId: string, text: string, more = {}): Promise<string> => {
    const traceId = newTraceId();
    const attributes = { 'user.id': userId, 'input.value': text, 'output.value': text, ...more };
    const answer = await on.evaluator.post(
      '/telemetry/v1/traces',
      jsonExport([newSpan({ traceId, attributes })]),
    );
    expect(answer.status).toBe(200);
    return traceId;
  };

  /** Returns the rows of all tables of evaluation in the workspace that contain a text, by table. */
  const rowsWith = async (text: string): Promise<Record<string, number>> => {
    const tables = [
      ...[
        'results',
        'scores',
        'records',
        'record_versions',
        'judge_answers',
        'target_outcomes',
        'annotation_items',
      ],
      ...[
        'annotation_places',
        'annotation_answers',
        'annotation_annotators',
        'annotation_queues',
        'experiments',
      ],
    ];
    const found: Record<string, number> = {};
    for (const table of tables) {
      const [row] = await judged.app.database.query<{ count: number }>(
        `SELECT count(*)::int AS count FROM ${table} t WHERE workspace_id = $1 AND t::text LIKE '%' || $2 || '%'`,
        [on.id, text],
      );
      if (row!.count > 0) found[table] = row!.count;
    }
    return found;
  };

  it('deletes a dataset with its records and files, and marks the experiments over it', async () => {
    const { dataset_id } = await on.dataset();
    const path = `/eval/v1/datasets/${dataset_id}`;
    const items = Array.from({ length: 100 }, (_, n) => ({ input: n, external_id: `${n}` }));
    for (let batch = 0; batch < 11; batch++) {
      const sent = items.map((item) => ({ ...item, external_id: `${batch} ${item.external_id}` }));
      await on.post(`${path}/records/bulk`, { items: sent });
    }
    await on.editor.post(`${path}/versions`, { workspace_id: on.id, content: 'id,question\na,b\n' });
    const { experiment_id } = await on.experiment({ dataset_id, dataset_version: 1 });
    await on.result(experiment_id, { case_id: 'a' });
    await on.finalize(experiment_id);
    expect(await deleteArchived(path)).toEqual({ records: 1_100, dataset_versions: 1, datasets: 1 });
    expect((await admin.get(path)).status).toBe(404);
    const experiment = await get(`/eval/v1/experiments/${experiment_id}`);
    expect(experiment).toMatchObject({
      dataset_id,
      dataset_erased: true,
      dataset_snapshot: { erased: true },
    });
    const content = await judged.app.database.query(
      'SELECT (SELECT count(*)::int FROM dataset_cases WHERE workspace_id = $1) + (SELECT count(*)::int FROM dataset_chunks WHERE workspace_id = $1) AS count',
      [on.id],
    );
    expect(content).toEqual([{ count: 0 }]);
  });

  it('deletes an experiment with everything about its results', async () => {
    const { dataset_id } = await on.dataset();
    const { experiment_id } = await on.experiment({ dataset_id, name: 'e' });
    const { dataset_record_id } = await on.record(dataset_id);
    await on.result(experiment_id, { dataset_record_id, output: 'a', expected: 'a', scores: { s: 1 } });
    const scorer = await on.evaluator.post('/eval/v1/scorers', {
      workspace_id: on.id,
      name: 'exact',
      scorer_kind: 'code',
      definition: EXACT,
    });
    const run = await on.evaluator.post(`/eval/v1/scorers/${scorer.body.scorer_id}/score`, { experiment_id });
    await until(
      async () => (await get(`/eval/v1/score-runs/${run.body.score_run_id}`)).run_status === 'succeeded',
    );
    const queue = await annotation.queue(await annotation.scorer(), { experiment_id });
    await on.finalize(experiment_id);
    await on.editor.patch(`/eval/v1/datasets/${dataset_id}`, { baselines: { e: experiment_id } });
    const candidate = await on.experiment({ baseline_experiment_id: experiment_id });
    const counts = await deleteArchived(`/eval/v1/experiments/${experiment_id}`);
    expect(counts).toEqual({ results: 1, scores: 2, score_runs: 1, annotation_items: 1, experiments: 1 });
    expect((await get(`/eval/v1/datasets/${dataset_id}`)).baselines).toEqual({});
    expect(await get(`/eval/v1/annotation-queues/${queue.queue_id}`)).toMatchObject({ item_count: 0 });
    const path = `/eval/v1/experiments/${candidate.experiment_id}`;
    expect(await get(path)).toMatchObject({ baseline_experiment_id: experiment_id, baseline_erased: true });
    const compared = await admin.get(`${path}/compare`);
    const reason = `The baseline ${experiment_id} was deleted. Name another experiment in \`baseline_experiment_id\`.`;
    expect([compared.status, compared.body.detail]).toEqual([409, reason]);
    await on.result(candidate.experiment_id, { case_id: 'a', scores: { s: 1 } });
    const rules = [
      { scorer: 's', max_regression: 0 },
      { scorer: 's', min_mean: 1 },
    ];
    const { body } = await on.post<any>(`${path}/gate`, { rules });
    expect(body).toMatchObject({ passed: false, baseline_experiment_id: null });
    const checked = (kind: string) => body.checks.find((check: any) => check.kind === kind);
    expect(checked('max_regression')).toMatchObject({ status: 'failed', reason });
    expect(checked('min_mean')).toMatchObject({ status: 'passed' });
    const other = await on.experiment();
    const baseline_experiment_id = other.experiment_id;
    const patched = await on.editor.patch(path, { baseline_experiment_id });
    expect(patched.body).toMatchObject({ baseline_experiment_id, baseline_erased: false });
  });

  it('leaves the scoring of others in a shared session', async () => {
    const [theirs, other] = await Promise.all(
      ['ada.lovelace', 'bob'].map((user) => traceOf(user, `of ${user}`, { 'session.id': 'shared' })),
    );
    const quotes = await on.evaluator.post('/eval/v1/scorers', {
      workspace_id: on.id,
      name: 'quotes',
      scorer_kind: 'code',
      definition: {
        language: 'javascript',
        source: 'function score({ input }) { return { score: 1, reasoning: input }; }',
      },
    });
    const run = await on.evaluator.post(`/eval/v1/scorers/${quotes.body.scorer_id}/score`, {
      trace_ids: [theirs, other],
    });
    const path = `/eval/v1/score-runs/${run.body.score_run_id}`;
    await until(async () => (await get(path)).run_status === 'succeeded');
    // as targets that rules and results select have both
    await judged.app.database.query(
      `UPDATE score_targets SET session_id = 'shared' WHERE score_run_id = $1`,
      [run.body.score_run_id],
    );
    await eraseUser('ada.lovelace');
    expect(await rowsWith('of ada')).toEqual({});
    const targets = await judged.app.database.query(
      `SELECT target_id, is_erased FROM score_targets WHERE score_run_id = $1 ORDER BY target_id = $2`,
      [run.body.score_run_id, other],
    );
    expect(targets).toMatchObject([{ is_erased: true }, { target_id: other, is_erased: false }]);
  });

  it('leaves of a user the numbers of results, and nothing that quotes the user', async () => {
    const [theirs, other] = [await traceOf('ada.lovelace', MARKER), await traceOf('bob', 'nothing')];
    const { dataset_id } = await on.dataset();
    const made = await on.post<any>(`/eval/v1/datasets/${dataset_id}/records/from-traces`, {
      trace_ids: [theirs, other],
    });
    expect(made.body.items.map((item: any) => item.status_code)).toEqual([201, 201]);
    const content = {
      input: MARKER,
      output: MARKER,
      expected: MARKER,
      metadata: { m: MARKER },
      tags: [MARKER],
    };
    // a record that named the trace only in its first version, and a result over the other record, which has its input
    const moved = await on.post<any>(`/eval/v1/datasets/${dataset_id}/records`, {
      ...{ input: MARKER, source_kind: 'trace', source_ref: theirs },
    });
    const movedPath = `/eval/v1/datasets/${dataset_id}/records/${moved.body.dataset_record_id}`;
    await on.editor.patch(movedPath, { input: 'x', source_ref: other });
    const over = await on.experiment({ dataset_id });
    const copy = await on.result(over.experiment_id, {
      dataset_record_id: made.body.items[0].record.dataset_record_id,
      scores: { s: { score: 1, comment: MARKER } },
    });
    await annotation.queue(await annotation.scorer(), { experiment_id: over.experiment_id });
    const experiments = await Promise.all([on.experiment(), on.experiment()]);
    const [candidate, baseline] = experiments.map((one) => one.experiment_id) as [string, string];
    const results = [];
    for (const id of [candidate, baseline]) {
      const own = { ...content, input: `${MARKER} ${id}`, trace_id: theirs, error: MARKER };
      results.push(
        await on.result(id, {
          ...own,
          case_id: 'theirs',
          duration_ms: 7,
          scores: { s: { score: 0.5, comment: MARKER } },
        }),
      );
      await on.result(id, { case_id: 'other', input: 'x', trace_id: other, scores: { s: 1 } });
    }
    const person = await annotation.scorer();
    const queue = await annotation.queue(person, { trace_ids: [theirs, other] });
    const robot = await on.organization.as('evaluator');
    const post = (fields: object, by = robot) =>
      by.post('/eval/v1/scores', { workspace_id: on.id, ...fields });
    const given = [
      await post({ trace_id: theirs, scorer_name: 'tone', score: 1, comment: MARKER }),
      await post({ trace_id: other, scorer_name: 'tone', score: 1, author: 'ada.lovelace' }),
      await post({
        trace_id: other,
        scorer_name: 'thumbs',
        score: 1,
        source: 'end_user',
        author: 'ada.lovelace',
      }),
      await post({
        result_id: copy.result_id,
        scorer_name: 'thumbs',
        score: 1,
        source: 'end_user',
        author: 'ada.lovelace',
      }),
    ];
    expect(given.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    const scorer = await on.evaluator.post('/eval/v1/scorers', {
      workspace_id: on.id,
      name: 'quotes',
      scorer_kind: 'code',
      definition: {
        language: 'javascript',
        source: 'function score({ input }) { return { score: 1, reasoning: input.repeat(200) }; }',
      },
    });
    const ordered = await on.evaluator.post(`/eval/v1/scorers/${scorer.body.scorer_id}/score`, {
      trace_ids: [theirs, other],
    });
    const run = `/eval/v1/score-runs/${ordered.body.score_run_id}`;
    await until(async () => (await get(run)).run_status === 'succeeded');
    await on.finalize(candidate);
    await on.finalize(baseline);
    const path = `/eval/v1/experiments/${candidate}`;
    const compare = () => get(`${path}/compare?baseline_experiment_id=${baseline}`);
    expect((await compare()).totals).toMatchObject({ changed_case_count: 1, erased_count: 0 });
    const etag = (await admin.get(`${path}/results/${results[0]!.result_id}`)).headers.get('etag');

    const dry = await eraseUser('ada.lovelace', true);
    expect(await rowsWith(MARKER)).not.toEqual({});
    const { kept_responses: _, ...counts } = await eraseUser('ada.lovelace');
    expect(counts).toMatchObject({ results: 3, records: 2, scores: 4, annotation_items: 2 });
    expect(dry).toEqual(counts);
    expect((await admin.get(movedPath)).status).toBe(404);

    const read = await admin.get(`${path}/results/${results[0]!.result_id}`);
    expect(read.headers.get('etag')).not.toBe(etag);
    expect(read.body).toMatchObject({
      ...{ erased: true, case_id: 'theirs', duration_ms: 7, scores: { s: 0.5 }, score_details: {} },
      ...{ input: null, output: null, expected: null, metadata: {}, tags: [], trace_id: null },
      error: { erased: true },
    });
    expect(await get(path)).toMatchObject({
      experiment_status: 'completed',
      summary: { coverage: { error_count: 1 } },
    });
    const comparison = await compare();
    expect(comparison.totals).toMatchObject({ cases_shared: 2, changed_case_count: 0, erased_count: 1 });
    const theirCase = comparison.cases.items.find((one: any) => one.case_id === 'theirs');
    expect(theirCase).toMatchObject({
      candidate: [{ erased: true, scores: { s: 0.5 } }],
      outcome: 'unchanged',
    });
    const gate = await on.post<any>(`${path}/gate`, {
      baseline_experiment_id: baseline,
      rules: [{ scorer: 's', max_regression: 0 }],
    });
    expect(gate.body.checks[0]).toMatchObject({ status: 'passed', erased_count: 1 });
    expect(await get(`/eval/v1/datasets/${dataset_id}`)).toMatchObject({ record_count: 1 });
    expect(await get(run)).toMatchObject({ total: 2, completed_count: 2 });
    expect(await get(`/eval/v1/annotation-queues/${queue.queue_id}`)).toMatchObject({ item_count: 1 });
    const again = await on.post<any>(`/eval/v1/datasets/${dataset_id}/records/from-traces`, {
      trace_ids: [other],
    });
    expect(again.body.items[0].status_code).toBe(409);
    for (const text of [MARKER, 'ada.lovelace', theirs]) expect(await rowsWith(text)).toEqual({});
  });

  const JUDGE = { prompt: 'Is {{output}} good?', output: { type: 'boolean' } };
  const QUOTING = { language: 'javascript', source: 'function score({ input }) { throw new Error(input); }' };

  /** Requests a run over a trace, and returns its path. */
  const score = async (scorer_kind: string, definition: object, traceId: string): Promise<string> => {
    const fields = { workspace_id: on.id, name: scorer_kind, scorer_kind, definition };
    const scorer = await on.evaluator.post('/eval/v1/scorers', fields);
    const path = `/eval/v1/scorers/${scorer.body.scorer_id}/score`;
    const run = await on.evaluator.post(path, { trace_ids: [traceId] });
    return `/eval/v1/score-runs/${run.body.score_run_id}`;
  };
  const ended = (run: string) =>
    until(async () => ['succeeded', 'failed'].includes((await get(run)).run_status));

  const REMOVALS: [string, (traceId: string) => Promise<unknown>][] = [
    ['an erasure', () => eraseUser('ada.lovelace')],
    ['the deletion of a trace', (traceId) => admin.delete(`/telemetry/v1/traces/${traceId}?force=true`)],
  ];

  it.each(REMOVALS)('leaves nothing that scorers said about a trace after %s', async (_, remove) => {
    const reply = { reasoning: MARKER, value: true };
    judged.judge.reply = () => ({ content: JSON.stringify(reply) });
    const traceId = await traceOf('ada.lovelace', MARKER);
    const runs = [await score('llm_judge', JUDGE, traceId), await score('code', QUOTING, traceId)];
    for (const run of runs) await ended(run);
    expect(Object.keys(await rowsWith(MARKER))).toEqual(['scores', 'judge_answers', 'target_outcomes']);
    await remove(traceId);
    expect(await rowsWith(MARKER)).toEqual({});
    const [judgement] = await on.list<object>(`${runs[0]}/results`);
    expect(judgement).not.toHaveProperty('request_sha256');
    expect(judgement).not.toHaveProperty('probabilities');
  });

  it.each(REMOVALS)('caches no answer of a judge that comes after %s', async (_, remove) => {
    let answer!: () => void;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const { judge } = judged;
    judge.reset();
    judge.reply = async () => {
      await answered;
      return { content: JSON.stringify({ reasoning: MARKER, value: true }) };
    };
    const traceId = await traceOf('ada.lovelace', MARKER);
    const run = await score('llm_judge', JUDGE, traceId);
    await until(() => judge.requests.length > 0);
    await remove(traceId);
    answer();
    await ended(run);
    expect(await rowsWith(MARKER)).toEqual({});
  });

  it('removes the name of an annotator, and keeps the work', async () => {
    const [first, second] = await annotation.traces(2);
    const person = await annotation.scorer();
    const queue = await annotation.queue(person, { trace_ids: [first, second] }, { scores_per_item: 2 });
    const path = `/eval/v1/annotation-queues/${queue.queue_id}`;
    const key = { workspace_id: on.id };
    const account = await admin.post('/registry/v1/service-accounts', {
      ...{ name: 'tool', roles: ['admin'], workspace_ids: [on.id] },
    });
    const made = await (
      await on.organization.member('owner')
    ).post(`/registry/v1/service-accounts/${account.body.service_account_id}/keys`, { name: 'k' });
    const tool = judged.app.api(made.body.key as string).in(on.id);
    const items = await on.list<{ item_id: string }>(`${path}/items`);
    const scores = [{ scorer_id: person.scorer_id, score: true }];
    const answer = (item: string, author?: string) =>
      tool.post(`${path}/items/${item}/scores`, { ...key, scores, ...(author && { author }) });
    const sent = [
      await answer(items[0]!.item_id, 'ada.lovelace'),
      await answer(items[0]!.item_id),
      await answer(items[1]!.item_id, 'ada.lovelace'),
      await tool.post(`${path}/next`, { author: 'ada.lovelace' }),
    ];
    expect(sent.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    await eraseUser('ada.lovelace');
    expect(await rowsWith('ada.lovelace')).toEqual({});
    expect(await get(path)).toMatchObject({ item_count: 2, completed_count: 1 });
    const annotators = await on.list<{ scored_count: number }>(`${path}/annotators`);
    expect(annotators.map(({ scored_count }) => scored_count)).toEqual([3]);
  });
});
