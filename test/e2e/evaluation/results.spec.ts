import { type Answer, type ApiClient, sharedApp } from '#testing';
import {
  type BulkResponse,
  EvaluationWorkspace,
  FREE_FORM_VALUES,
  outcome,
  type Page,
  places,
  type Result,
  statuses,
  statusesOf,
  TIME,
  UNKNOWN_IDS,
} from './evaluation.harness';

type Fields = Record<string, unknown>;

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';

describe('results', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;
  let experimentId: string;
  let results: string;

  beforeEach(async () => {
    space = await EvaluationWorkspace.open(app);
    experimentId = (await space.experiment()).experiment_id;
    results = `/eval/v1/experiments/${experimentId}/results`;
  });

  const create = (fields: Fields) => space.post<Result>(results, { case_id: 'case', ...fields });
  const bulk = (items: unknown, fields: Fields = {}) =>
    space.post<BulkResponse>(`${results}/bulk`, { items, ...fields });
  const cases = async (query = ''): Promise<string[]> =>
    (await space.list<Result>(`${results}?${query}`)).map((one) => one.case_id);

  describe('on creation', () => {
    it('return 201 with the result and its Location', async () => {
      const fields = {
        case_id: 'capital of Peru',
        input: { q: 'Capital?', context: { z: 1, a: null } },
        expected: 'Lima',
        metadata: { b: 1, a: [] },
        tags: ['geo'],
        output: ['Lima', { tokens: 3 }],
        error: { kind: 'none' },
        scores: { exact: 1 },
        trace_id: TRACE_ID,
        session_id: 'any string, not an id',
        duration_ms: 12.25,
        trial_group: 'peru',
        trial_index: 2,
      };
      const { status, headers, body } = await space.post<Result>(results, fields);
      expect(status).toBe(201);
      expect(body).toEqual({
        result_id: expect.stringMatching(/^res_[0-7][0-9a-hjkmnp-tv-z]{25}$/) as string,
        experiment_id: experimentId,
        workspace_id: space.id,
        ...fields,
        score_details: {},
        dataset_record_id: null,
        dataset_record_version: null,
        version: 1,
        erased: false,
        created_at: expect.stringMatching(TIME) as string,
        updated_at: body.created_at,
        created_by: space.editorId,
        archived_at: null,
      });
      expect(headers.get('location')).toBe(`${results}/${body.result_id}`);
      const read = await space.viewer.get<Result>(`${results}/${body.result_id}`);
      expect([read.status, JSON.stringify(read.body)]).toEqual([200, JSON.stringify(body)]);
      expect(await space.list<Result>(results)).toEqual([body]);
      const etag = read.headers.get('etag')!;
      expect((await space.viewer.get(`${results}/${body.result_id}`, { 'if-none-match': etag })).status).toBe(
        304,
      );
    });

    it('need only a case_id', async () => {
      const nothing = { input: null, expected: null, output: null, error: null, trace_id: null };
      const more = { session_id: null, duration_ms: null, trial_group: null, trial_index: null };
      const bare = { ...nothing, ...more, dataset_record_id: null };
      const defaults = { ...bare, metadata: {}, tags: [], scores: {}, score_details: {} };
      expect((await create({ case_id: 'bare' })).body).toMatchObject(defaults);
      const nulls = { ...bare, metadata: null, tags: null, scores: null };
      expect((await create({ case_id: 'nulls', ...nulls })).body).toMatchObject(defaults);
    });

    it('store free-form values verbatim, alone and in bulk', async () => {
      const sent = FREE_FORM_VALUES.map((value, i) => ({
        ...{ case_id: `alone ${i}`, input: value, expected: value, output: value, error: value },
        metadata: { z: value, a: value },
        scores: { s: { score: 1, metadata: { zz: value, a: value } } },
      }));
      const parts = ({ input, expected, metadata, output, error, score_details }: Result) =>
        JSON.stringify({ input, expected, output, error, metadata, details: score_details });
      const storedParts = (one: (typeof sent)[number]) => {
        const { input, expected, output, error, metadata, scores } = one;
        const details = { s: { metadata: scores.s.metadata } };
        return JSON.stringify({ input, expected, output, error, metadata, details });
      };
      for (const one of sent) expect(parts((await create(one)).body)).toBe(storedParts(one));
      await bulk(sent.map((one) => ({ ...one, case_id: one.case_id.replace('alone', 'bulk') })));
      const listed = await space.list<Result>(`${results}?sort=created_at`);
      expect(listed.map(parts)).toEqual([...sent, ...sent].map(storedParts));
    });

    it.each<[string, Fields, string]>([
      ['no case_id', { case_id: undefined }, '/case_id'],
      ['a null case_id', { case_id: null }, '/case_id'],
      ['an empty case_id', { case_id: '' }, '/case_id'],
      ['a case_id of 256 characters', { case_id: 'x'.repeat(256) }, '/case_id'],
      ['a case_id that is a number', { case_id: 1 }, '/case_id'],
      ['metadata that is not an object', { metadata: 1 }, '/metadata'],
      ['metadata over 16 KiB', { metadata: { x: 'x'.repeat(16 * 1024) } }, '/metadata'],
      ['an empty tag', { tags: [''] }, '/tags'],
      ['a record id that is not a string', { dataset_record_id: 1 }, '/dataset_record_id'],
      ['an upper-case trace_id', { trace_id: TRACE_ID.toUpperCase() }, '/trace_id'],
      ['a trace_id of zeros', { trace_id: '0'.repeat(32) }, '/trace_id'],
      ['a trace_id of 31 digits', { trace_id: TRACE_ID.slice(1) }, '/trace_id'],
      ['a trace_id of 33 digits', { trace_id: `${TRACE_ID}0` }, '/trace_id'],
      ['a trace_id that ends in a line break', { trace_id: `${TRACE_ID}\n` }, '/trace_id'],
      ['a trace_id as a UUID', { trace_id: '0af76519-16cd-43dd-8448-eb211c80319c' }, '/trace_id'],
      ['an empty trace_id', { trace_id: '' }, '/trace_id'],
      ['a session_id of 256 characters', { session_id: 'x'.repeat(256) }, '/session_id'],
      ['a negative duration', { duration_ms: -1 }, '/duration_ms'],
      ['a duration that is a string', { duration_ms: '1' }, '/duration_ms'],
      ['an empty trial group', { trial_group: '' }, '/trial_group'],
      ['trial -1', { trial_index: -1 }, '/trial_index'],
      ['trial 1.5', { trial_index: 1.5 }, '/trial_index'],
      ['another workspace than its header', { workspace_id: 'wsp_x' }, '/workspace_id'],
      ['no workspace', { workspace_id: undefined }, '/workspace_id'],
    ])('return 400 with a pointer for %s, alone and in bulk', async (_, fields, pointer) => {
      const answer = await create(fields);
      expect(outcome(answer)).toEqual([400, 'invalid_request']);
      expect(places(answer)).toContain(pointer);
      if (pointer === '/workspace_id') return;
      const many = await bulk([{ case_id: 'case', ...fields }, { case_id: 'good' }]);
      expect(statuses(many)).toEqual([400, 201]);
      expect(many.body.items[0]!.error!.errors!.map((one) => one.pointer)).toContain(`/items/0${pointer}`);
      expect(await cases()).toEqual(['good']);
    });

    it('accept values at the limits', async () => {
      const id = '😀'.repeat(255);
      const fields = { case_id: id, session_id: 'x'.repeat(255), duration_ms: 0, trial_index: 0 };
      expect((await create({ ...fields, trace_id: `${'0'.repeat(31)}1` })).status).toBe(201);
      expect((await create({ case_id: ' ', session_id: '', duration_ms: 1e308 })).status).toBe(201);
      expect(await cases(`case_id=${encodeURIComponent(id)}`)).toEqual([id]);
    });
  });

  describe('of the same case', () => {
    it('return 409 the second time: alone, in bulk and within one call', async () => {
      const first = await create({ output: 'first' });
      expect(first.status).toBe(201);
      const second = await create({ output: 'second' });
      expect(outcome(second)).toEqual([409, 'conflict']);
      expect((second.body as any).detail).toContain(first.body.result_id);
      const answer = await bulk([
        { case_id: 'case', output: 'third' },
        { case_id: 'twice', output: 1 },
        { case_id: 'twice', output: 2 },
        { case_id: 'Case' },
      ]);
      expect(statuses(answer)).toEqual([409, 201, 409, 201]);
      expect(answer.body.items[0]!.error!.code).toBe('conflict');
      expect(answer.body.items[0]!.error!.detail).toContain(first.body.result_id);
      expect(answer.body.items[2]!.error!.detail).toContain('items/1');
      const outputs = (await space.list<Result>(`${results}?sort=created_at`)).map((one) => one.output);
      expect(outputs).toEqual(['first', 1, null]);
    });

    it('can exist once in each experiment', async () => {
      await create({});
      expect(
        (await space.result((await space.experiment()).experiment_id, { case_id: 'case' })).case_id,
      ).toBe('case');
    });

    it('are stored once if two are sent at the same time', async () => {
      for (let i = 0; i < 10; i++) {
        const one = { case_id: `case ${i}` };
        expect(statusesOf(await Promise.all([create(one), create(one)]))).toEqual([201, 409]);
        const mixed = await Promise.all([
          bulk([one, { case_id: `new ${i}` }]),
          create({ case_id: `new ${i}` }),
        ]);
        expect([statuses(mixed[0])[0], statuses(mixed[0])[1]! + mixed[1].status]).toEqual([409, 201 + 409]);
      }
      expect(await cases('limit=500')).toHaveLength(20);
    });

    it('are stored once, without deadlock, if many clients send them in different orders', async () => {
      const items = Array.from({ length: 100 }, (_, i) => ({ case_id: `case ${i}` }));
      for (let round = 0; round < 3; round++) {
        const fresh = items.map(({ case_id }) => ({ case_id: `${round} ${case_id}` }));
        const orders = [fresh, [...fresh].reverse(), [...fresh.slice(50), ...fresh.slice(0, 50)], fresh];
        const answers = await Promise.all(orders.map((order) => bulk(order)));
        const all = answers.flatMap((answer) => statuses(answer));
        expect([201, 409].map((status) => all.filter((one) => one === status).length)).toEqual([100, 300]);
      }
    });
  });

  describe('in bulk', () => {
    it('get outcomes in the order sent, and are listed in that order', async () => {
      const items = Array.from({ length: 100 }, (_, i) => ({ case_id: `${(i * 37) % 100}`, output: i }));
      const answer = await bulk(items);
      expect(statuses(answer)).toEqual(items.map(() => 201));
      expect(answer.body.items.map((one) => one.result!.output)).toEqual(items.map((one) => one.output));
      const listed = await space.list<Result>(`${results}?sort=created_at&limit=500`);
      // The response omits the values that the items omitted.
      expect(listed).toEqual(
        answer.body.items.map((one) => ({ input: null, expected: null, ...one.result })),
      );
    });

    it.each<[string, unknown]>([
      ['an empty array', []],
      ['101 results', Array.from({ length: 101 }, (_, i) => ({ case_id: `${i}` }))],
      ['a string instead of an array', 'items'],
      ['no items member', undefined],
    ])('return 400 as a whole for %s', async (_, items) => {
      const answer = await bulk(items);
      expect([...outcome(answer), ...new Set(places(answer))]).toEqual([400, 'invalid_request', '/items']);
      expect(await cases()).toEqual([]);
    });

    it('fail independently if they are not objects', async () => {
      expect(statuses(await bulk([1, null, [], 'x', { case_id: 'good' }]))).toEqual([
        400, 400, 400, 400, 201,
      ]);
    });

    it('are rejected for another workspace, or an unknown or foreign experiment', async () => {
      const items = [{ case_id: 'x' }];
      expect((await bulk(items, { workspace_id: 'wsp_x' })).status).toBe(400);
      expect((await bulk(items, { workspace_id: undefined })).status).toBe(400);
      const stranger = await EvaluationWorkspace.open(app);
      for (const path of [`${results}/bulk`, '/eval/v1/experiments/exp_x/results/bulk']) {
        expect(outcome(await stranger.post(path, { items }))).toEqual([404, 'not_found']);
      }
    });
  });

  describe('of an experiment that is backed by records', () => {
    it('must name a record, and get its version as of the creation of the experiment', async () => {
      const { dataset_id } = await space.dataset();
      const other = await space.record((await space.dataset()).dataset_id);
      const record = await space.record(dataset_id);
      const archived = await space.record(dataset_id);
      const at = (id: string) => `/eval/v1/datasets/${dataset_id}/records/${id}`;
      await space.editor.patch(at(record.dataset_record_id), { input: 'second' });
      const run = (await space.experiment({ dataset_id })).experiment_id;
      await space.editor.patch(at(record.dataset_record_id), { input: 'third' });
      await space.archive(at(archived.dataset_record_id));
      const later = await space.record(dataset_id);
      const path = `/eval/v1/experiments/${run}/results`;
      const named = (id: string | null | undefined, case_id = 'x') => ({ case_id, dataset_record_id: id });
      for (const id of [undefined, null]) {
        const answer = await space.post(path, named(id));
        expect([...outcome(answer), ...places(answer)]).toEqual([
          400,
          'invalid_request',
          '/dataset_record_id',
        ]);
      }
      for (const id of [other.dataset_record_id, 'rec_x', '', dataset_id]) {
        const answer = await space.post(path, named(id));
        expect([id, ...outcome(answer), ...places(answer)]).toEqual([
          id,
          404,
          'not_found',
          '/dataset_record_id',
        ]);
      }
      const many = await space.post<BulkResponse>(`${path}/bulk`, {
        items: [
          named(record.dataset_record_id, 'a'),
          named(record.dataset_record_id, 'b'),
          named(archived.dataset_record_id, 'c'),
          named(later.dataset_record_id, 'd'),
          named('rec_x', 'e'),
          named(undefined, 'f'),
        ],
      });
      expect(statuses(many)).toEqual([201, 201, 201, 201, 404, 400]);
      expect(many.body.items.map((one) => one.result?.dataset_record_version)).toEqual([
        ...[2, 2, 1, 1],
        ...[undefined, undefined],
      ]);
      const pointers = many.body.items.map((one) => one.error?.errors?.[0]?.pointer);
      expect(pointers.slice(4)).toEqual(['/items/4/dataset_record_id', '/items/5/dataset_record_id']);
    });

    it('can name any record of the workspace if the experiment has no dataset', async () => {
      const { dataset_record_id: id } = await space.record((await space.dataset()).dataset_id);
      const answer = await create({ dataset_record_id: id });
      expect([answer.status, answer.body.dataset_record_version]).toEqual([201, 1]);
      expect((await create({ case_id: 'b', dataset_record_id: 'rec_x' })).status).toBe(404);
      expect((await create({ case_id: 'b', dataset_record_id: '' })).status).toBe(404);
      const stranger = await EvaluationWorkspace.open(app);
      const foreign = await stranger.record((await stranger.dataset()).dataset_id);
      const refused = await create({ case_id: 'b', dataset_record_id: foreign.dataset_record_id });
      expect(outcome(refused)).toEqual([404, 'not_found']);
    });
  });

  describe('in a list', () => {
    it('are filtered by case, record and session, and paged without loss', async () => {
      const { dataset_record_id: id } = await space.record((await space.dataset()).dataset_id);
      await create({ case_id: 'a', session_id: 's' });
      await create({ case_id: 'b', session_id: 's', dataset_record_id: id });
      await create({ case_id: 'c', dataset_record_id: id });
      const other = (await space.experiment()).experiment_id;
      await space.result(other, { case_id: 'a', session_id: 's', dataset_record_id: id });
      expect(await cases()).toEqual(['c', 'b', 'a']);
      expect(await cases('case_id=a')).toEqual(['a']);
      expect(await cases('session_id=s')).toEqual(['b', 'a']);
      expect(await cases(`dataset_record_id=${id}`)).toEqual(['c', 'b']);
      expect(await cases(`dataset_record_id=${id}&session_id=s`)).toEqual(['b']);
      expect(await cases(`dataset_record_id=${id}&session_id=s&case_id=a`)).toEqual([]);
      for (const query of ['case_id=A', 'session_id=', 'dataset_record_id=rec_x']) {
        expect([query, await cases(query)]).toEqual([query, []]);
      }
      const seen: string[] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const at: string = cursor && `&cursor=${cursor}`;
        const { body }: Answer<Page<Result>> = await space.viewer.get(`${results}?limit=2${at}`);
        seen.push(...body.items.map((one) => one.case_id));
        cursor = body.page.next_cursor;
        await create({ case_id: `later ${seen.length}` });
      }
      expect(seen).toEqual(['c', 'b', 'a']);
      const { body } = await space.viewer.get<Page<Result>>(`${results}?limit=1&offset=4&sort=created_at`);
      expect(body.items.map((one) => one.case_id)).toEqual(['later 3']);
      expect(body.page).toMatchObject({ limit: 1, offset: 4, total: 5, next_cursor: null });
    });

    it('return 422 for ?sort=case_id', async () => {
      expect(outcome(await space.viewer.get(`${results}?sort=case_id`))).toEqual([422, 'validation_failed']);
    });

    it.each(['has_error=x', 'case_id=a&case_id=b', 'session_id=%00', 'include=all'])(
      'return 400 invalid_query for ?%s',
      async (query) => {
        expect(outcome(await space.viewer.get(`${results}?${query}`))).toEqual([400, 'invalid_query']);
      },
    );
  });

  it('cannot be overwritten', async () => {
    const { result_id } = await space.result(experimentId);
    const path = `${results}/${result_id}`;
    const answer = await space.evaluator.request('PUT', path, { body: { output: 'x' } });
    expect([...outcome(answer), answer.headers.get('allow')]).toEqual([
      405,
      'method_not_allowed',
      'DELETE, GET, HEAD, PATCH',
    ]);
  });

  it('can be written by editors and read by viewers', async () => {
    const body = { workspace_id: space.id, case_id: 'x', items: [{ case_id: 'x' }] };
    const runtime = await space.organization.as('runtime');
    for (const answer of [
      await space.viewer.post(results, body),
      await space.viewer.post(`${results}/bulk`, body),
      await runtime.get(results),
    ]) {
      expect(outcome(answer)).toEqual([403, 'access_denied']);
    }
    expect(await cases()).toEqual([]);
  });

  it('return 404 under another experiment, workspace or organization', async () => {
    const { result_id: id } = await space.result(experimentId);
    const other = (await space.experiment()).experiment_id;
    const stranger = (await EvaluationWorkspace.open(app)).editor;
    const sibling = await space.sibling();
    const attempts: [ApiClient, string][] = [
      [space.viewer, `/eval/v1/experiments/${other}/results/${id}`],
      [space.viewer, `/eval/v1/experiments/exp_x/results/${id}`],
      ...[stranger, sibling].flatMap((caller): [ApiClient, string][] => [
        [caller, `${results}/${id}`],
        [caller, results],
      ]),
      ...[...UNKNOWN_IDS, experimentId].map((unknown): [ApiClient, string] => [
        space.viewer,
        `${results}/${encodeURIComponent(decodeURIComponent(unknown))}`,
      ]),
    ];
    for (const [caller, path] of attempts) {
      expect([path, ...outcome(await caller.get(path))]).toEqual([path, 404, 'not_found']);
    }
    const write = await (await EvaluationWorkspace.open(app)).post(results, { case_id: 'x' });
    expect(write.status).toBe(404);
  });
});
