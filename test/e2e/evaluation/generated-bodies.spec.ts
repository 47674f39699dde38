import fc from 'fast-check';
import { type Answer, createTestApp, type TestApp } from '#testing';
import { type BulkAnswer, EvaluationWorkspace, type Experiment, statuses } from './evaluation.harness';

type Values = Record<string, unknown[]>;

const RUNS = 200;
const REFUSALS = [400, 404, 409, 413, 422];

/** What breaks careless code, whatever the member. */
const AWKWARD: unknown[] = [
  ...[
    null,
    true,
    0,
    -1,
    1e308,
    5e-324,
    2_147_483_648,
    9_007_199_254_740_992,
    '',
    ' ',
    '0',
    '\u0000',
    '\ufe0f',
  ],
  ...['__proto__', '\u2028', '😀'.repeat(300), 'é'.repeat(5_000), '%', "'", '\\', '{}', [], [[]], {}, [null]],
  ...[{ toJSON: 1 }, { length: 1 }, { constructor: { prototype: 1 } }, ['a', 'a']],
];

/**
 * Members that are absent, as they should be, or anything else. Each answer is held to the OpenAPI document by the
 * caller itself, so what is left to say is that it is one of those foreseen.
 */
const bodyOf = (values: Values): fc.Arbitrary<Record<string, unknown>> =>
  fc.record(
    Object.fromEntries(
      Object.entries(values).map(([member, fitting]) => [
        member,
        fc.oneof(
          { weight: 12, arbitrary: fc.constantFrom(...fitting) },
          { weight: 1, arbitrary: fc.constantFrom(...AWKWARD) },
          { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' }) },
        ),
      ]),
    ),
    { requiredKeys: [] },
  );

describe('whatever is sent', () => {
  let app: TestApp;
  let space: EvaluationWorkspace;
  let datasetId: string;
  let recordId: string;
  let experimentId: string;
  let scorerId: string;

  beforeAll(async () => {
    app = await createTestApp();
    space = await EvaluationWorkspace.open(app);
    datasetId = (await space.dataset()).dataset_id;
    recordId = (await space.record(datasetId)).dataset_record_id;
    experimentId = (await space.experiment()).experiment_id;
    const definition = { language: 'javascript', source: 'function score() { return 1; }' };
    const scorer = { name: 's', scorer_kind: 'code', definition };
    scorerId = (await space.post<{ scorer_id: string }>('/eval/v1/scorers', scorer)).body.scorer_id;
  });
  afterAll(() => app.close());

  const common = (): Values => ({
    workspace_id: [space.id],
    tags: [['a'], []],
    metadata: [{ a: 1 }, {}],
    description: ['text'],
  });
  const dataset = (): Values => ({
    ...common(),
    name: ['n', 'm'],
    input_schema: [null, {}, { type: 'object' }, { type: 'x' }, { $ref: '#/x' }],
    expected_schema: [null],
  });
  const record = (): Values => ({
    ...common(),
    input: [1, 'text', null, { a: 1 }],
    expected: [null, [1]],
    label: ['l'],
    category: ['c'],
    source_kind: ['manual', 'trace', 'other'],
    source_ref: ['r'],
    external_id: ['a', 'b', 'c'],
  });
  const experiment = (): Values => ({
    ...common(),
    name: ['n'],
    experiment_name: ['e'],
    config: [{ a: 1 }, {}],
    dataset_id: [datasetId, 'ds_x', null],
    dataset_version: [null, 1],
    baseline_experiment_id: [experimentId, null],
    subject_kind: ['agent', null, 'x'],
    subject_id: ['s', null],
    context_manifest: [1],
    resume: [true, false],
  });
  const result = (): Values => ({
    ...common(),
    case_id: ['a', 'b', 'c', 'd'],
    input: [1],
    output: [{ a: 1 }],
    error: [null, 'x'],
    dataset_record_id: [recordId, null, 'rec_x'],
    trace_id: ['0af7651916cd43dd8448eb211c80319c', null, 'x'],
    session_id: ['s', ''],
    duration_ms: [0, 1.5],
    trial_group: ['g'],
    trial_index: [0],
    scores: [
      { s: 1, t: null, u: true },
      { s: { score: 1, scorer_id: scorerId, scorer_version: 1, comment: 'c', metadata: { reason: 'r' } } },
      { s: { score: 1, scorer_id: 'scr_x' } },
      { s: { scorer_version: 1e300 } },
    ],
  });

  /** Sends as many bodies as there are runs; a success must be readable as it was answered. */
  const hold = async (
    bodies: fc.Arbitrary<unknown>,
    send: (body: unknown) => Promise<Answer<unknown>>,
    successes: number[],
    refusals: number[] = [],
    numRuns = RUNS,
  ): Promise<void> => {
    const seen = new Set<number>();
    await fc.assert(
      fc.asyncProperty(bodies, async (body) => {
        const answer = await send(body);
        seen.add(answer.status);
        expect([...successes, ...REFUSALS, ...refusals]).toContain(answer.status);
        const location = answer.headers.get('location');
        if (location !== null) expect((await space.viewer.get(location)).body).toEqual(answer.body);
      }),
      { numRuns },
    );
    expect([...seen].some((status) => successes.includes(status))).toBe(true);
    expect(seen.has(400)).toBe(true);
  };
  /** Mostly the members an operation has, now and then any JSON at all. */
  const sent = (values: Values) =>
    fc.oneof({ weight: 20, arbitrary: bodyOf(values) }, { weight: 1, arbitrary: fc.jsonValue() });
  const bulkOf = (values: Values, more: Values = {}) =>
    fc.oneof(
      { weight: 20, arbitrary: fc.array(bodyOf(values), { minLength: 1, maxLength: 8 }).chain((items) => bodyOf({ workspace_id: [space.id], items: [items], ...more })) },
      { weight: 1, arbitrary: fc.jsonValue() },
    ); // prettier-ignore
  const bulkAnswer = async (path: string, body: unknown): Promise<Answer<unknown>> => {
    const answer = await space.editor.post<BulkAnswer>(path, body);
    if (answer.status !== 207) return answer;
    for (const status of statuses(answer)) expect([200, 201, ...REFUSALS]).toContain(status);
    return answer;
  };

  it('creating a dataset is answered as documented', () =>
    hold(sent(dataset()), (body) => space.editor.post('/eval/v1/datasets', body), [201]));

  it('changing a dataset is answered as documented', async () => {
    const { dataset_id } = await space.dataset();
    const path = `/eval/v1/datasets/${dataset_id}`;
    await hold(sent(dataset()), (body) => space.editor.patch(path, body), [200]);
  });

  it('creating a record is answered as documented', () =>
    hold(sent(record()), (body) => space.editor.post(`/eval/v1/datasets/${datasetId}/records`, body), [201]));

  it('changing a record is answered as documented', () => {
    const path = `/eval/v1/datasets/${datasetId}/records/${recordId}`;
    return hold(sent(record()), (body) => space.editor.patch(path, body), [200]);
  });

  it('creating records in bulk is answered as documented', () => {
    const bodies = bulkOf(record(), { on_conflict: ['error', 'skip', 'update'] });
    return hold(bodies, (body) => bulkAnswer(`/eval/v1/datasets/${datasetId}/records/bulk`, body), [207]);
  });

  const csv = () => [
    ...[
      'a,b\n1,2\n',
      'id,a\nx,1\ny,2\n',
      '\ufeffid\r\n1\r\n',
      'a',
      '',
      'a\n"',
      'a,a\n',
      'id\n1\n1\n',
      'a\n\ufffd',
    ],
    '1'.repeat(70_000),
  ];
  const mapping = [
    null,
    {},
    ...[
      { input: ['a'] },
      { tags: ['a'], expected: ['b'] },
      { input: ['a', 'a'] },
      { inputs: ['a'] },
      { input: 'a' },
    ],
  ];
  it('uploading a CSV version is answered as documented', () => {
    const path = `/eval/v1/datasets/${datasetId}/versions`;
    const values = { workspace_id: [space.id], content: csv(), case_id_column: [null, 'id', 'a'], mapping };
    return hold(sent(values), (body) => space.editor.post(path, body), [200, 201]);
  });

  it('uploading any bytes as a CSV version, with any options, is answered as documented', () => {
    const path = `/eval/v1/datasets/${datasetId}/versions`;
    const option = (values: unknown[]) =>
      fc.oneof(
        fc.constantFrom(...values.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)))),
        fc.string({ unit: 'binary', maxLength: 30 }),
      );
    const query = fc.record(
      { workspace_id: fc.constant(space.id), case_id_column: option(['id', 'a']), mapping: option(mapping) },
      { requiredKeys: [] },
    );
    const content = fc.oneof(
      fc.constantFrom(...csv()).map((text) => Buffer.from(text)),
      fc.array(fc.constantFrom('"', ',', '\n', '\r\n', 'id', 'é', '\0', ''), { maxLength: 20 }).map((parts) => Buffer.from(parts.join(''))),
      fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
    ); // prettier-ignore
    const types = fc.constantFrom(
      'text/csv',
      'text/csv',
      'text/csv',
      'multipart/form-data; boundary=a',
      'a/b',
    );
    return hold(
      fc.tuple(content, query, types),
      (given) => {
        const [bytes, options, type] = given as [Buffer, Record<string, string>, string];
        const to = `${path}?${new URLSearchParams(options).toString()}`;
        return space.editor.post(to, bytes, { 'content-type': type });
      },
      [200, 201],
      [415],
    );
  });

  it('creating an experiment is answered as documented', () =>
    hold(sent(experiment()), (body) => space.editor.post('/eval/v1/experiments', body), [200, 201]));

  it('changing an experiment is answered as documented', async () => {
    let { experiment_id: id } = await space.experiment();
    const values = {
      ...experiment(),
      metrics: [{ cases: 1 }, null],
      summary: [{ metrics: { cases: 2 } }, null],
      experiment_status: ['running', 'running', 'failed', 'completed', 'x'],
      error: ['x'],
    };
    const send = async (body: unknown) => {
      const answer = await space.editor.patch<Partial<Experiment>>(`/eval/v1/experiments/${id}`, body);
      if (answer.body.finalized_at) id = (await space.experiment()).experiment_id;
      return answer;
    };
    await hold(sent(values), send, [200]);
  });

  it('creating a result is answered as documented', () => {
    const path = `/eval/v1/experiments/${experimentId}/results`;
    return hold(sent(result()), (body) => space.editor.post(path, body), [201]);
  });

  it('creating results of a pinned CSV version in bulk is answered as documented', async () => {
    const { dataset_id } = await space.dataset();
    const content = 'id\na\nb\nc\n';
    await space.post(`/eval/v1/datasets/${dataset_id}/versions`, { content });
    const { experiment_id } = await space.experiment({ dataset_id, dataset_version: 1 });
    const path = `/eval/v1/experiments/${experiment_id}/results/bulk`;
    await hold(bulkOf(result()), (body) => bulkAnswer(path, body), [207]);
  });

  it('creating results in bulk is answered as documented', () => {
    const path = `/eval/v1/experiments/${experimentId}/results/bulk`;
    return hold(bulkOf(result()), (body) => bulkAnswer(path, body), [207]);
  });

  it('importing records is answered as documented', async () => {
    const path = `/eval/v1/datasets/${datasetId}/records/import`;
    const line = fc.oneof(
      { weight: 8, arbitrary: bodyOf(record()).map((one) => JSON.stringify(one)) },
      { weight: 1, arbitrary: fc.json() },
      { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
    );
    const cell = fc.oneof(
      fc.constantFrom('1', '"[1,2]"', '"{""a"":1}"', '', 'l', 'manual', "'=1", '"a\r\nb"'),
      fc.string({ unit: 'binary', maxLength: 10 }),
    );
    const row = fc.tuple(fc.constantFrom('1', '"x"', '"{""a"":1}"', 'null', ''), cell, cell);
    const bodies = fc.oneof(
      { weight: 6, arbitrary: fc.array(line, { maxLength: 6 }).map((lines) => ['application/jsonl', lines.join('\n')]) },
      {
        weight: 3,
        arbitrary: fc
          .tuple(
            fc.constantFrom('input,label,tags', 'input,metadata,source_kind', 'label,input,external_id', 'input,x,y'),
            fc.array(row, { maxLength: 5 }),
          )
          .map(([header, rows]) => ['text/csv', [header, ...rows.map((one) => one.join(','))].join('\r\n')]),
      },
      {
        weight: 2,
        arbitrary: bodyOf({
          workspace_id: [space.id],
          dataset_version: [1, 2, 0],
          on_conflict: ['skip', 'update', 'x'],
        }).map((one) => ['application/json', JSON.stringify(one)]),
      },
    ); // prettier-ignore
    const { body } = await space.editor.post(
      `/eval/v1/datasets/${datasetId}/versions`,
      'id,q\nv1,a\nv2,b\n',
      { 'content-type': 'text/csv' },
    );
    expect(body).toMatchObject({ version: 1 });
    const send = (given: unknown) => {
      const [media, text] = given as [string, string];
      const query = media === 'application/json' || text.length % 3 === 0 ? '' : '?on_conflict=update';
      return space.editor.post(path + query, Buffer.from(text), { 'content-type': media });
    };
    await hold(bodies, send, [200], [], 1_000);
  }, 240_000);

  const searched = (): Values => ({
    workspace_id: [space.id],
    tags: [['a'], []],
    metadata: [{ a: 1 }, {}, { a: [{}], b: null }],
    q: ['text', '', 'a b'],
    name: ['n'],
    tag: ['a'],
    created_after: ['2025-01-01T00:00:00Z', '2999-01-01T00:00:00+14:00'],
    created_before: ['2999-12-31T23:59:60.999999Z', '2025-01-01T00:00:00Z'],
    sort: ['name', '-created_at', 'updated_at'],
    limit: [0, 1, 500],
    offset: [0, 3],
    cursor: [null],
    include_archived: [true, false],
  });

  it('searching datasets is answered as documented', () =>
    hold(sent(searched()), (body) => space.viewer.post('/eval/v1/datasets/search', body), [200], [], 1_000));

  it('searching experiments is answered as documented', () => {
    const values = {
      ...searched(),
      dataset_id: [datasetId, 'ds_x'],
      subject_kind: ['agent', 'x'],
      subject_id: ['s'],
      experiment_status: ['running', 'x'],
      baseline_experiment_id: [experimentId],
      config: [['a:1'], { a: 1 }, ['a'], {}],
      score: [{ scorer: 's' }, { scorer: 's', gte: 0, lte: 1 }, { scorer: 's', lte: -1e308 }],
    };
    return hold(
      sent(values),
      (body) => space.viewer.post('/eval/v1/experiments/search', body),
      [200],
      [],
      1_000,
    );
  });

  it.each([
    ['/eval/v1/datasets', ['q', 'tag', 'name', 'created_after', 'created_before']],
    [
      '/eval/v1/experiments',
      ['q', 'tag', 'name', 'config', 'dataset_id', 'subject_kind', 'experiment_status', 'created_after'],
    ],
    ['records', ['q', 'label', 'category', 'source_kind', 'source_ref', 'external_id']],
    ['results', ['case_id', 'dataset_record_id', 'session_id']],
    ['versions', []],
    ['versions/1/rows', []],
  ])('listing %s by anything is answered as documented', async (list, filters) => {
    const owner = {
      records: `/eval/v1/datasets/${datasetId}`,
      versions: `/eval/v1/datasets/${datasetId}`,
      'versions/1/rows': `/eval/v1/datasets/${datasetId}`,
      results: `/eval/v1/experiments/${experimentId}`,
    };
    const path = list in owner ? `${owner[list as keyof typeof owner]}/${list}` : list;
    const names = [...filters, 'limit', 'offset', 'cursor', 'sort', 'include_archived'];
    const text = fc.oneof(
      fc.constantFrom(
        '1',
        '2025-01-01T00:00:00Z',
        'true',
        '-created_at',
        'name',
        'manual',
        'a:b',
        '',
        '\u0000',
        '漢-字&|!<->:*()',
        '%',
      ),
      fc.string({ unit: 'binary', maxLength: 50 }),
      fc.base64String(),
    );
    const queries = fc.array(fc.tuple(fc.constantFrom(...names), text), { maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(queries, async (pairs) => {
        const query = new URLSearchParams(pairs).toString();
        const { status } = await space.viewer.get(`${path}?${query}`);
        expect([200, 400, 422]).toContain(status);
      }),
      { numRuns: RUNS },
    );
  });
});
