import { type ApiClient, jsonExport, newSpan, newTraceId, sharedApp } from '#testing';
import { AwaitedTraces } from '../../../src/evaluation/scores';
import { TombstoneRepository } from '../../../src/telemetry/deletion/tombstone.repository';
import { HumanScoresFixture, SCORES } from './human-scores.fixture';

const TRACES = '/telemetry/v1/traces';

describe('scores that arrive before their traces', () => {
  const app = sharedApp();
  let on: HumanScoresFixture;
  let admin: ApiClient;
  let runtime: ApiClient;

  beforeAll(async () => {
    on = await HumanScoresFixture.open(app);
    const { organization } = on.space;
    [admin, runtime] = [await organization.as('admin'), await organization.as('runtime')];
  });

  const feedback = async (trace_id: string, fields: object = {}): Promise<any> => {
    const body = { workspace_id: on.space.id, scorer_name: 'thumbs', trace_id, score: true, ...fields };
    const answer = await runtime.post(SCORES, body);
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  };
  const arrive = async (traceId: string, sessionId?: string, by = runtime): Promise<void> => {
    const attributes: Record<string, string> = sessionId === undefined ? {} : { 'session.id': sessionId };
    expect((await by.post(TRACES, jsonExport([newSpan({ traceId, attributes })]))).status).toBe(200);
  };
  const get = async (path: string, by = admin): Promise<any> => (await by.get(path)).body;
  const countOf = async (query: string): Promise<number> => (await get(`${SCORES}?${query}`)).page.total;
  /** Lets the workers look for all traces that the workspace's scores wait for, after some days. */
  const resolve = async ({ days = 0 } = {}): Promise<void> => {
    await app.database.query(
      `UPDATE scores SET trace_check_at = now(), created_at = created_at - make_interval(days => $2)
       WHERE workspace_id = $1 AND trace_check_at IS NOT NULL`,
      [on.space.id, days],
    );
    await app.get(AwaitedTraces).resolve();
  };

  it('are listed at once, and shown with the trace as soon as it has arrived', async () => {
    const [id, other] = [newTraceId(), newTraceId()];
    const stored = await feedback(id, { scorer_name: 'early', score: 2 });
    await feedback(other, { scorer_name: 'early', score: 1 });
    expect([stored.source, stored.trace_id, stored.session_id]).toEqual(['end_user', id, null]);
    expect(await countOf(`trace_id=${id}`)).toBe(1);
    await resolve();
    expect((await get(`${TRACES}?score=early:gte:0`)).items).toEqual([]);
    await arrive(id, 'talk');
    await arrive(other);
    expect((await get(`${TRACES}/${id}`)).scores.map((one: any) => one.score_id)).toEqual([stored.score_id]);
    for (const [query, ids] of [
      ['score=early:gte:2', [id]],
      ['sort=score:early', [other, id]],
      ['sort=-score:early', [id, other]],
    ] as const) {
      const { items } = await get(`${TRACES}?${query}`);
      expect([query, items.map((one: any) => one.trace_id)]).toEqual([query, ids]);
    }
  });

  it('get the session of the trace, which a worker fills in', async () => {
    const [id, late] = [newTraceId(), newTraceId()];
    const scorer = await on.scorer();
    await feedback(id);
    await on.score(scorer, { trace_id: id, score: true });
    await feedback(late);
    await arrive(id, 'chat');
    // the first export has only the inner span, without the session
    await arrive(late);
    await resolve();
    expect(await countOf('session_id=chat')).toBe(2);
    await arrive(late, 'chat');
    await resolve();
    expect(await countOf('session_id=chat')).toBe(3);
    expect(await countOf(`trace_id=${late}&session_id=chat`)).toBe(1);
  });

  it('supersede each other before the trace arrives', async () => {
    const id = newTraceId();
    const first = await feedback(id, { author: 'ada' });
    const second = await feedback(id, { author: 'ada', score: false });
    expect(second.supersedes_score_id).toBe(first.score_id);
    expect(await countOf(`trace_id=${id}`)).toBe(1);
  });

  it('are dropped after 7 days, unless the trace has arrived or a result names it', async () => {
    const [never, arrived, named] = [newTraceId(), newTraceId(), newTraceId()];
    for (const id of [never, arrived, named]) await feedback(id);
    await arrive(arrived);
    await on.newResult({ trace_id: named, session_id: 'of the result' });
    await resolve({ days: 6 });
    expect(await countOf(`trace_id=${never}`)).toBe(1);
    await resolve({ days: 1 });
    const counts = [never, arrived, named].map((id) => countOf(`trace_id=${id}`));
    expect(await Promise.all(counts)).toEqual([0, 1, 1]);
    expect(await countOf(`trace_id=${named}&session_id=of%20the%20result`)).toBe(1);
  });

  it('are refused for a deleted trace, and deleted with one', async () => {
    const [id, raced] = [newTraceId(), newTraceId()];
    await feedback(id);
    await arrive(id);
    expect((await admin.delete(`${TRACES}/${id}`)).status).toBe(204);
    expect(await countOf(`trace_id=${id}`)).toBe(0);
    const body = { workspace_id: on.space.id, scorer_name: 'thumbs', trace_id: id, score: true };
    expect((await runtime.post(SCORES, body)).status).toBe(404);
    const { items } = (await runtime.post(`${SCORES}/bulk`, { items: [body, { ...body, trace_id: raced }] }))
      .body;
    expect(items.map((one: any) => one.status_code)).toEqual([404, 201]);
    // a deletion that commits while the score is being recorded
    await app.database.transaction((tx) =>
      app.get(TombstoneRepository).addTraces(tx, [{ workspaceId: on.space.id, id: raced }]),
    );
    await resolve();
    expect(await countOf(`trace_id=${raced}`)).toBe(0);
  });

  it('see nothing of a trace of another organization', async () => {
    const theirs = await HumanScoresFixture.open(app);
    const id = await theirs.exportTrace('secret');
    const stored = await feedback(id, { scorer_name: 'curious' });
    await resolve();
    expect((await get(`${SCORES}/${stored.score_id}`)).session_id).toBeNull();
    const trace = await theirs.space.viewer.get(`${TRACES}/${id}`);
    expect([trace.status, trace.body.scores]).toEqual([200, []]);
    expect((await get(`${TRACES}?score=curious:gte:0`)).items).toEqual([]);
  });

  it('may be evaluation events', async () => {
    const traceId = newTraceId();
    const attributes = [
      { key: 'gen_ai.evaluation.name', value: { stringValue: 'early event' } },
      { key: 'gen_ai.evaluation.score.value', value: { doubleValue: 0.5 } },
    ];
    const logRecords = [
      { eventName: 'gen_ai.evaluation.result', timeUnixNano: '1795132800500000000', traceId, attributes },
    ];
    const sent = await runtime.post('/telemetry/v1/logs', {
      resourceLogs: [{ scopeLogs: [{ logRecords }] }],
    });
    expect([sent.status, sent.body]).toEqual([200, {}]);
    await arrive(traceId, 'of the event');
    await resolve();
    expect(await countOf('session_id=of%20the%20event')).toBe(1);
  });
});
