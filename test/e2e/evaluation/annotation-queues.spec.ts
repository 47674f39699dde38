import { sharedApp, newTraceId } from '#testing';
import { AnnotationFixture, QUEUES } from './annotation.fixture';
import { outcome, places, UNKNOWN_IDS } from './evaluation.harness';

describe('an annotation queue', () => {
  const app = sharedApp();
  let on: AnnotationFixture;

  beforeEach(async () => {
    on = await AnnotationFixture.open(app);
  });

  const outcomeOf = async (fields: Record<string, unknown>) => {
    const answer = await on.create(fields);
    return [...outcome(answer), ...places(answer)];
  };

  it('is created with its items, and read with its progress', async () => {
    const scorer = await on.scorer();
    const trace_ids = await on.traces(2);
    const source = { trace_ids };
    const answer = await on.create({
      name: 'by hand',
      description: 'of yesterday',
      scorer_ids: [scorer.scorer_id],
      source,
      assignees: [on.ann.id],
      scores_per_item: 2,
      metadata: { team: 'search' },
    });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('location')).toBe(`${QUEUES}/${answer.body.queue_id}`);
    expect(answer.headers.get('etag')).toBe('"1-0-0-0"');
    expect(answer.body).toEqual({
      queue_id: expect.stringMatching(/^queue_/),
      workspace_id: on.space.id,
      name: 'by hand',
      description: 'of yesterday',
      scorer_ids: [scorer.scorer_id],
      scorers: [{ scorer_id: scorer.scorer_id, scorer_version: 1, erased: false }],
      source,
      assignees: [on.ann.id],
      scores_per_item: 2,
      item_count: 2,
      completed_count: 0,
      in_progress_count: 0,
      skipped_count: 0,
      metadata: { team: 'search' },
      created_at: expect.any(String),
      updated_at: expect.any(String),
      created_by: on.space.editorId,
      archived_at: null,
    });
    expect(await on.read(answer.body)).toEqual(answer.body);
    const items = await on.items(answer.body);
    expect(items.map(({ trace_id, item_status }) => [trace_id, item_status])).toEqual(
      [...trace_ids].reverse().map((id) => [id, 'pending']),
    );
  });

  it('contains the results of an experiment, newest first, with or without a trace', async () => {
    const { experiment_id } = await on.space.experiment();
    const [trace_id] = await on.traces(1);
    const older = await on.space.result(experiment_id, { case_id: 'a', trace_id });
    const newer = await on.space.result(experiment_id, { case_id: 'b' });
    const queue = await on.queue(await on.scorer(), { experiment_id });
    const items = await on.items(queue);
    expect(items.map((item) => [item.result_id, item.experiment_id, item.case_id, item.trace_id])).toEqual([
      [newer.result_id, experiment_id, 'b', null],
      [older.result_id, experiment_id, 'a', trace_id],
    ]);
  });

  it('contains the traces that match filters or a time range', async () => {
    const scorer = await on.scorer();
    const [first, second] = await on.traces(2);
    const [other] = await on.traces(1, { 'session.id': 's1' });
    const filters = [{ field: 'session_id', op: 'eq', value: 's1' }];
    const itemsOf = async (source: object) =>
      (await on.items(await on.queue(scorer, source))).map((item) => item.trace_id);
    expect(await itemsOf({ filters })).toEqual([other]);
    expect((await itemsOf({ filters: [] })).sort()).toEqual([first, second, other].sort());
    expect(await itemsOf({ filters: [], limit: 1 })).toHaveLength(1);
    const { body } = await on.space.viewer.get(`/telemetry/v1/traces/${second}`);
    expect(await itemsOf({ trace_ids: [first, second], since: body.started_at })).toEqual([second]);
  });

  it('is not changed by traces that are stored later, or by a new version of its scorer', async () => {
    const scorer = await on.scorer();
    await on.traces(1);
    const queue = await on.queue(scorer, { filters: [] });
    await on.traces(1);
    const definition = { rubric: 'Another question?', output: { type: 'boolean' } };
    await on.space.editor.patch(`/eval/v1/scorers/${scorer.scorer_id}`, { definition });
    expect((await on.read(queue)).item_count).toBe(1);
    const { scorers } = await on.next(queue);
    expect(scorers).toEqual([
      {
        scorer_id: scorer.scorer_id,
        scorer_version: 1,
        name: scorer.name,
        description: null,
        rubric: 'Is it good?',
        output: { type: 'boolean' },
      },
    ]);
  });

  it('is rejected for filters that match more than 10,000 traces, with the count, unless a limit is set (422)', async () => {
    const scorer = await on.scorer();
    const withLimit = (limit: number) => ({
      scorer_ids: [scorer.scorer_id],
      source: { filters: [], ...(limit && { limit }) },
    });
    await app.database.query(
      `INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models)
       SELECT $1, lpad(to_hex(n), 32, '0'), now(), now(), 1, 0, '{}' FROM generate_series(1, 10001) n`,
      [on.space.id],
    );
    const answer = await on.create(withLimit(0));
    expect([...outcome(answer), ...places(answer)]).toEqual([422, 'validation_failed', '/source']);
    expect((answer.body as unknown as { detail: string }).detail).toContain('10001 items');
    expect((await on.create(withLimit(10_000))).body.item_count).toBe(10_000);
  });

  it('is rejected for a source that selects nothing (422)', async () => {
    const scorer_ids = [(await on.scorer()).scorer_id];
    const { experiment_id } = await on.space.experiment();
    for (const source of [{ filters: [] }, { experiment_id }]) {
      expect(await outcomeOf({ scorer_ids, source })).toEqual([422, 'validation_failed', '/source']);
    }
  });

  it.each<[string, Record<string, unknown>, string[]]>([
    ['no selector', { source: {} }, ['/source']],
    ['two selectors', { source: { filters: [], experiment_id: 'exp_x' } }, ['/source']],
    ['no source', { source: undefined }, ['/source']],
    ['an empty list of traces', { source: { trace_ids: [] } }, ['/source/trace_ids']],
    ['an invalid trace id', { source: { trace_ids: ['x'] } }, ['/source/trace_ids']],
    [
      'a filter value of the wrong type',
      { source: { filters: [{ field: 'duration_ms', op: 'gte', value: 'x' }] } },
      ['/source/filters/0/value'],
    ],
    [
      'a time range that ends before it starts',
      { source: { filters: [], since: '2026-01-02T00:00:00Z', until: '2026-01-01T00:00:00Z' } },
      ['/source/since'],
    ],
    ['a limit over 10,000', { source: { filters: [], limit: 10_001 } }, ['/source/limit']],
    ['an unknown member of the source', { source: { filter: [] } }, ['/source/filter']],
    ['no scorer', { scorer_ids: [] }, ['/scorer_ids']],
    ['no score per item', { scores_per_item: 0 }, ['/scores_per_item']],
    ['eleven scores per item', { scores_per_item: 11 }, ['/scores_per_item']],
    ['an empty list of assignees', { assignees: [] }, ['/assignees']],
    ['another workspace', { workspace_id: 'wsp_x' }, ['/workspace_id']],
  ])('is rejected for %s (400)', async (_, fields, pointers) => {
    const scorer_ids = [(await on.scorer()).scorer_id];
    const validBody = { scorer_ids, source: { filters: [] } };
    expect(await outcomeOf({ ...validBody, ...fields })).toEqual([400, 'invalid_request', ...pointers]);
  });

  it('is rejected for an unknown filter field (422)', async () => {
    const scorer_ids = [(await on.scorer()).scorer_id];
    const filters = [{ field: 'colour', op: 'eq', value: 'x' }];
    expect(await outcomeOf({ scorer_ids, source: { filters } })).toEqual([
      422,
      'validation_failed',
      '/source/filters/0/field',
    ]);
  });

  it('is rejected for a scorer that the service runs (400) and for an archived scorer (409)', async () => {
    const [trace] = await on.traces(1);
    const source = { trace_ids: [trace] };
    const definition = { checks: [{ type: 'equals' }] };
    const code = await on.scorer(undefined, { scorer_kind: 'code', definition });
    expect(await outcomeOf({ scorer_ids: [code.scorer_id], source })).toEqual([
      400,
      'invalid_request',
      '/scorer_ids/0',
    ]);
    const archived = await on.scorer();
    await on.space.archive(`/eval/v1/scorers/${archived.scorer_id}`);
    expect(await outcomeOf({ scorer_ids: [archived.scorer_id], source })).toEqual([409, 'conflict']);
  });

  it('is rejected for scorers, traces and experiments of another organization, which the error names (404)', async () => {
    const stranger = await AnnotationFixture.open(app);
    const [theirTrace] = await stranger.traces(1);
    const { experiment_id } = await stranger.space.experiment();
    const theirs = await stranger.scorer();
    const { scorer_id } = await on.scorer();
    const [own] = await on.traces(1);
    const cases: [string, Record<string, unknown>][] = [
      ['/scorer_ids/1', { scorer_ids: [scorer_id, theirs.scorer_id] }],
      ['/source/trace_ids/1', { source: { trace_ids: [own, theirTrace] } }],
      ['/source/trace_ids/0', { source: { trace_ids: [newTraceId()] } }],
      ['/source/experiment_id', { source: { experiment_id } }],
      ['/source/experiment_id', { source: { experiment_id: 'exp_x' } }],
    ];
    for (const [pointer, fields] of cases) {
      const validBody = { scorer_ids: [scorer_id], source: { trace_ids: [own] } };
      expect(await outcomeOf({ ...validBody, ...fields })).toEqual([404, 'not_found', pointer]);
    }
    const queue = await stranger.queue(theirs, { trace_ids: [theirTrace] });
    const item = await stranger.claim(queue);
    const path = `${QUEUES}/${queue.queue_id}`;
    const scores = [{ scorer_id: theirs.scorer_id, score: true }];
    const refused = await Promise.all([
      ...['', '/items', '/annotators', '/agreement'].map((rest) => on.space.viewer.get(`${path}${rest}`)),
      on.space.editor.patch(path, { name: 'mine' }),
      on.space.evaluator.post(`${path}/archive`),
      on.ann.api.post(`${path}/next`, {}),
      on.ann.api.post(`${path}/items/${item}/scores`, { scores }),
      on.ann.api.post(`${path}/items/${item}/skip`, { reason: 'theirs' }),
      ...UNKNOWN_IDS.map((id) => on.space.viewer.get(`${QUEUES}/${id}`)),
    ]);
    expect(refused.map(outcome)).toEqual(refused.map(() => [404, 'not_found']));
    expect((await stranger.read(queue)).skipped_count).toBe(0);
  });

  it('is rejected if its name is taken, and the error names the other queue (409)', async () => {
    const scorer = await on.scorer();
    await on.traces(1);
    const queue = await on.queue(scorer, { filters: [] }, { name: 'taken' });
    const again = await on.create({ name: 'taken', scorer_ids: [scorer.scorer_id], source: { filters: [] } });
    expect(outcome(again)).toEqual([409, 'conflict']);
    expect((again.body as unknown as { detail: string }).detail).toContain(queue.queue_id);
    expect((await on.space.list<object>(`${QUEUES}?name=taken`)).length).toBe(1);
    expect((await on.space.list<object>(`${QUEUES}?q=take`)).length).toBe(1);
    expect((await on.space.list<object>(`${QUEUES}?name=other`)).length).toBe(0);
  });

  it('allows changes of its name, description, metadata and assignees only', async () => {
    const [scorer, other] = [await on.scorer(), await on.scorer()];
    const trace_ids = await on.traces(1);
    const queue = await on.queue(scorer, { trace_ids });
    const path = `${QUEUES}/${queue.queue_id}`;
    const change = { name: 'new', description: 'more', metadata: { a: 1 }, assignees: ['usr_x'] };
    const changed = await on.space.editor.patch(path, change);
    expect([changed.status, changed.headers.get('etag')]).toEqual([200, '"2-0-0-0"']);
    expect(changed.body).toMatchObject(change);
    const same = await on.space.editor.patch(path, changed.body);
    expect([same.status, same.headers.get('etag')]).toEqual([200, '"2-0-0-0"']);
    for (const [member, value] of Object.entries({
      queue_id: 'queue_x',
      scorer_ids: [other.scorer_id],
      source: { filters: [] },
      scores_per_item: 2,
    })) {
      const answer = await on.space.editor.patch(path, { [member]: value });
      expect([...outcome(answer), ...places(answer)]).toEqual([422, 'immutable_field', `/${member}`]);
    }
    const freed = await on.space.editor.patch<typeof queue>(path, { assignees: null });
    expect(freed.body.assignees).toBeNull();
  });

  it('returns 304 to a poll with If-None-Match only while its progress stays the same', async () => {
    const queue = await on.queue(await on.scorer(), { trace_ids: await on.traces(2) });
    const path = `${QUEUES}/${queue.queue_id}`;
    let etag = (await on.space.viewer.get(path)).headers.get('etag')!;
    const poll = async () => {
      const answer = await on.space.viewer.get(path, { 'if-none-match': etag });
      etag = answer.headers.get('etag')!;
      return answer.status;
    };
    expect(await poll()).toBe(304);
    const item = await on.claim(queue);
    expect([await poll(), await poll()]).toEqual([200, 304]);
    await on.skip(queue, item);
    expect([await poll(), await poll()]).toEqual([200, 304]);
    await on.score(queue, item);
    expect([await poll(), await poll()]).toEqual([200, 304]);
    await on.claim(queue);
    expect([await poll(), await poll()]).toEqual([200, 304]);
    await on.expireClaims(queue);
    expect([await poll(), await poll()]).toEqual([200, 304]);
  });

  it('rejects a stale If-Match after an edit (412), but not after work on its items', async () => {
    const queue = await on.queue(await on.scorer(), { trace_ids: await on.traces(1) });
    const path = `${QUEUES}/${queue.queue_id}`;
    const read = { 'if-match': (await on.space.viewer.get(path)).headers.get('etag')! };
    await on.score(queue, await on.claim(queue));
    const changed = await on.space.editor.patch(path, { description: 'first' }, read);
    expect([changed.status, changed.headers.get('etag')]).toEqual([200, '"2-1-0-0"']);
    const stale = [
      await on.space.editor.patch(path, { description: 'second' }, read),
      await on.space.evaluator.post(`${path}/archive`, {}, read),
    ];
    expect(stale.map(outcome)).toEqual(stale.map(() => [412, 'precondition_failed']));
    expect((await on.read(queue)).description).toBe('first');
    const now = { 'if-match': `W/${changed.headers.get('etag')}` };
    expect((await on.space.evaluator.post(`${path}/archive`, {}, now)).status).toBe(200);
  });

  it('is created and changed by editors, archived by evaluators, and read by viewers', async () => {
    const scorer = await on.scorer();
    const [trace] = await on.traces(1);
    const fields = { scorer_ids: [scorer.scorer_id], source: { trace_ids: [trace] } };
    const runtime = await on.space.organization.as('runtime');
    for (const caller of [on.space.viewer, on.ann.api, runtime]) {
      expect(outcome(await on.create(fields, caller))).toEqual([403, 'access_denied']);
    }
    const queue = await on.queue(scorer, fields.source);
    const path = `${QUEUES}/${queue.queue_id}`;
    expect(outcome(await on.ann.api.patch(path, { name: 'x' }))).toEqual([403, 'access_denied']);
    expect(outcome(await on.space.editor.post(`${path}/archive`))).toEqual([403, 'access_denied']);
    expect((await on.space.viewer.get(path)).status).toBe(200);
    const scores = [{ scorer_id: scorer.scorer_id, score: true }];
    for (const caller of [on.space.viewer, on.space.editor, runtime]) {
      const refused = await Promise.all([
        caller.post(`${path}/next`, {}),
        caller.post(`${path}/items/qitem_x/scores`, { scores }),
        caller.post(`${path}/items/qitem_x/skip`, { reason: 'x' }),
      ]);
      expect(refused.map(outcome)).toEqual(refused.map(() => [403, 'access_denied']));
    }
    expect(outcome(await runtime.get(path))).toEqual([403, 'access_denied']);
    expect((await on.next(queue)).item).not.toBeNull();
    expect((await on.space.evaluator.post(`${path}/archive`)).status).toBe(200);
  });
});
