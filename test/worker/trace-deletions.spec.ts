import { type ApiClient, jsonExport, newSpan, newTraceId, sharedJudge, until } from '#testing';
import { AnnotationFixture } from '../e2e/evaluation/annotation.fixture';
import type { EvaluationWorkspace } from '../e2e/evaluation/evaluation.harness';

const TRACES = '/telemetry/v1/traces';
const START = Date.UTC(2026, 0, 1);
const at = (hour: number) => new Date(START + hour * 3_600_000).toISOString();

describe('POST /telemetry/v1/traces/delete', () => {
  const judged = sharedJudge();
  let annotation: AnnotationFixture;
  let on: EvaluationWorkspace;
  let admin: ApiClient;

  beforeEach(async () => {
    annotation = await AnnotationFixture.open(judged.app);
    on = annotation.space;
    admin = await on.organization.as('admin');
  });

  /** Requests a deletion, waits until it has succeeded, and returns its counts without zeros. */
  const deleted = async (selection: object): Promise<Record<string, number>> => {
    const { status, body } = await admin.post(`${TRACES}/delete`, selection);
    expect([status, body.subject.kind]).toEqual([202, 'traces']);
    const receipt = async () => (await admin.get(`/registry/v1/erasures/${body.erasure_id}`)).body;
    await until(async () => (await receipt()).erasure_status === 'succeeded');
    return (await receipt()).counts as Record<string, number>;
  };

  /** Exports a trace of two spans that started at an hour. */
  const trace = async (hour: number, attributes = {}, isError = false): Promise<string> => {
    const traceId = newTraceId();
    const start = BigInt(START + hour * 3_600_000) * 1_000_000n;
    const span = { traceId, start, end: start + 5_000_000n, isError };
    const answer = await on.evaluator.post(
      TRACES,
      jsonExport([newSpan({ ...span, attributes }), newSpan(span)]),
    );
    expect(answer.body).toEqual({});
    return traceId;
  };
  const left = async (): Promise<string[]> =>
    (await admin.get(`${TRACES}?sort=started_at`)).body.items.map((one: any) => one.trace_id);

  const ada = { 'user.id': 'ada' };
  it.each([
    ['named', (ids: string[]) => ({ trace_ids: [ids[1], ids[3], newTraceId()] }), [1, 3]],
    ['of a user', () => ({ filters: [{ field: 'user_id', op: 'eq', value: 'ada' }] }), [0, 2]],
    [
      'that meet all filters',
      () => ({
        filters: [
          { field: 'user_id', op: 'in', value: ['ada', 'bob'] },
          { field: 'status', op: 'eq', value: 'error' },
        ],
      }),
      [2],
    ],
    ['without a user', () => ({ filters: [{ field: 'user_id', op: 'eq', value: null }] }), [3]],
    ['from a time on', () => ({ since: at(1) }), [1, 2, 3]],
    ['before a time', () => ({ until: at(1) }), [0]],
    [
      'within a period that meet a filter',
      () => ({ since: at(1), until: at(3), filters: [{ field: 'user_id', op: 'eq', value: 'ada' }] }),
      [2],
    ],
    ['that do not exist', () => ({ filters: [{ field: 'user_id', op: 'eq', value: 'eve' }] }), []],
  ] as const)(
    'deletes exactly the traces %s, as many as a dry run counts',
    async (_, selection, expected) => {
      const ids = [
        await trace(0, ada),
        await trace(1, { 'user.id': 'bob' }),
        await trace(2, ada, true),
        await trace(3),
      ];
      const counts = expected.length === 0 ? {} : { traces: expected.length, spans: expected.length * 2 };
      expect(await deleted({ ...selection(ids), dry_run: true })).toEqual(counts);
      expect(await left()).toEqual(ids);
      expect(await deleted(selection(ids))).toEqual(counts);
      expect(await left()).toEqual(ids.filter((id) => !expected.some((index) => ids[index] === id)));
    },
  );

  it('deletes more traces than a batch, and nothing of other workspaces', async () => {
    const other = await AnnotationFixture.open(judged.app);
    const [kept] = await other.traces(1);
    await annotation.traces(1_100);
    const filters = [{ field: 'root_name', op: 'eq', value: 'step' }];
    expect(await deleted({ filters })).toEqual({ traces: 1_100, spans: 1_100 });
    expect(await left()).toEqual([]);
    expect((await other.space.evaluator.get(`${TRACES}/${kept}`)).status).toBe(200);
  });

  it('leaves traces in use, unless it is forced', async () => {
    const [used, free] = (await annotation.traces(2)) as [string, string];
    const { queue_id } = await annotation.queue(await annotation.scorer(), { trace_ids: [used] });
    const named = await admin.post(`${TRACES}/delete`, { trace_ids: [free, used] });
    expect([named.status, named.body.detail]).toEqual([
      409,
      expect.stringContaining(`annotation queue ${queue_id} uses the trace ${used}`),
    ]);
    const filters = [{ field: 'root_name', op: 'eq', value: 'step' }];
    expect(await deleted({ filters })).toEqual({ traces: 1, spans: 1, traces_in_use: 1 });
    expect(await left()).toEqual([used]);
    expect(await deleted({ filters, force: true })).toMatchObject({ traces: 1, annotation_items: 1 });
    expect(await left()).toEqual([]);
  });

  it('refuses late spans of what it has deleted', async () => {
    const id = await trace(0, ada);
    await deleted({ filters: [{ field: 'user_id', op: 'eq', value: 'ada' }] });
    const late = await on.evaluator.post(TRACES, jsonExport([newSpan({ traceId: id })]));
    expect(late.body.partialSuccess).toMatchObject({ rejectedSpans: '1' });
    expect(await left()).toEqual([]);
  });
});
