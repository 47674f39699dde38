import { type Answer, type ApiClient, sharedApp } from '#testing';
import {
  type BulkResponse,
  type Dataset,
  type DatasetRecord,
  EvaluationWorkspace,
  FREE_FORM_VALUES,
  outcome,
  type Page,
  places,
  type RecordVersion,
  statuses,
  statusesOf,
  TIME,
  UNKNOWN_IDS,
} from './evaluation.harness';

type Fields = Record<string, unknown>;

describe('records', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;
  let dataset: Dataset;
  let records: string;

  beforeEach(async () => {
    space = await EvaluationWorkspace.open(app);
    dataset = await space.dataset();
    records = `/eval/v1/datasets/${dataset.dataset_id}/records`;
  });

  const record = (fields?: Fields) => space.record(dataset.dataset_id, fields);
  const bulk = (items: unknown, fields: Fields = {}) =>
    space.post<BulkResponse>(`${records}/bulk`, { items, ...fields });
  const patch = (id: string, fields: Fields, headers?: Record<string, string>) =>
    space.editor.patch<DatasetRecord>(`${records}/${id}`, fields, headers);
  const read = (id: string) => space.viewer.get<DatasetRecord>(`${records}/${id}`);
  const inputs = async (query = ''): Promise<unknown[]> =>
    (await space.list<DatasetRecord>(`${records}?${query}`)).map((one) => one.input);
  const versionsOf = async (id: string): Promise<number[]> =>
    (await space.list<RecordVersion>(`${records}/${id}/versions`)).map((one) => one.version);

  describe('on creation', () => {
    it('return 201 with the record, its Location and its ETag', async () => {
      const fields = {
        input: { question: 'Capital of Peru?', n: 1 },
        expected: 'Lima',
        metadata: { b: [1], a: null },
        tags: ['geo'],
        label: 'easy',
        category: 'capitals',
        source_kind: 'trace',
        source_ref: '0af7651916cd43dd8448eb211c80319c',
        external_id: 'row-1',
      };
      const { status, headers, body } = await space.post<DatasetRecord>(records, fields);
      expect(status).toBe(201);
      expect(body).toEqual({
        dataset_record_id: expect.stringMatching(/^rec_[0-7][0-9a-hjkmnp-tv-z]{25}$/) as string,
        dataset_id: dataset.dataset_id,
        workspace_id: space.id,
        version: 1,
        version_id: expect.stringMatching(/^ver_[0-7][0-9a-hjkmnp-tv-z]{25}$/) as string,
        ...fields,
        created_at: expect.stringMatching(TIME) as string,
        updated_at: body.created_at,
        created_by: space.editorId,
        archived_at: null,
      });
      expect(headers.get('location')).toBe(`${records}/${body.dataset_record_id}`);
      expect(headers.get('etag')).toBe('"1"');
      const response = await read(body.dataset_record_id);
      expect([response.headers.get('etag'), JSON.stringify(response.body)]).toEqual([
        '"1"',
        JSON.stringify(body),
      ]);
    });

    it('need only an input, which can be null', async () => {
      const rest = { expected: null, metadata: {}, tags: [], label: null, category: null };
      const sources = { source_kind: 'manual', source_ref: null, external_id: null };
      expect(await record({ input: null })).toMatchObject({ input: null, ...rest, ...sources });
      const nulls = { ...rest, metadata: null, tags: null, source_ref: null, external_id: null };
      expect(await record({ input: 1, ...nulls })).toMatchObject({ input: 1, ...rest, ...sources });
    });

    it('store input and expected verbatim, alone and in bulk', async () => {
      const sent = FREE_FORM_VALUES.map((value) => ({ input: value, expected: value }));
      for (const one of sent) await record(one);
      expect(statuses(await bulk(sent))).toEqual(sent.map(() => 201));
      const stored = await space.list<DatasetRecord>(`${records}?sort=created_at`);
      expect(stored.map(({ input, expected }) => JSON.stringify({ input, expected }))).toEqual(
        [...sent, ...sent].map((one) => JSON.stringify(one)),
      );
    });

    it.each<[string, Fields, string]>([
      ['no input', { input: undefined }, '/input'],
      ['metadata that is not an object', { metadata: 'x' }, '/metadata'],
      ['metadata over 16 KiB', { metadata: { x: 'x'.repeat(16 * 1024) } }, '/metadata'],
      ['a tag that is not a string', { tags: [1] }, '/tags'],
      ['a label of 256 characters', { label: 'x'.repeat(256) }, '/label'],
      ['an empty category', { category: '' }, '/category'],
      ['a source_kind that is not a string', { source_kind: 1 }, '/source_kind'],
      ['a source_ref of 513 characters', { source_ref: 'x'.repeat(513) }, '/source_ref'],
      ['an external_id that is not a string', { external_id: 5 }, '/external_id'],
      ['another workspace than its header', { workspace_id: 'wsp_x' }, '/workspace_id'],
      ['no workspace', { workspace_id: undefined }, '/workspace_id'],
    ])('return 400 with a pointer for %s', async (_, fields, pointer) => {
      const answer = await space.post(records, { input: 1, ...fields });
      expect(outcome(answer)).toEqual([400, 'invalid_request']);
      expect(places(answer)).toContain(pointer);
      expect(await inputs()).toEqual([]);
    });

    it('return 422 for an unknown source_kind', async () => {
      const answer = await space.post(records, { input: 1, source_kind: 'guess' });
      expect([...outcome(answer), ...places(answer)]).toEqual([422, 'validation_failed', '/source_kind']);
    });

    it('return 409 for the external_id of a live record', async () => {
      const answers = await Promise.all(
        Array.from({ length: 4 }, () => space.post<DatasetRecord>(records, { input: 1, external_id: 'a' })),
      );
      expect(statusesOf(answers)).toEqual([201, 409, 409, 409]);
      const first = answers.find((one) => one.status === 201)!.body;
      const other = await record({ external_id: 'b' });
      expect(outcome(await patch(other.dataset_record_id, { external_id: 'a' }))).toEqual([409, 'conflict']);
      await space.archive(`${records}/${first.dataset_record_id}`);
      expect((await patch(other.dataset_record_id, { external_id: 'a' })).status).toBe(200);
      expect((await record({ external_id: 'b' })).external_id).toBe('b');
      await space.record((await space.dataset()).dataset_id, { external_id: 'a' });
    });
  });

  describe('in a list', () => {
    it('are found by words of input, expected and metadata', async () => {
      const text = 'The first line\nsecond line\twith "quoted" words, a\\path\u0001ctrl and Ärger';
      await record({ input: { text }, expected: ['Lima'], metadata: { owner: 'Grace Hopper' } });
      await record({ input: 'elsewhere' });
      for (const q of [
        'first',
        'second',
        'QUOT',
        'with words',
        'path',
        'ctrl',
        'ärg',
        'lima',
        'hopper sec',
      ]) {
        expect([q, (await inputs(`q=${q}`)).length]).toEqual([q, 1]);
      }
      for (const q of ['nsecond', 'econd', 'first elsewhere', 'missing']) {
        expect([q, await inputs(`q=${q}`)]).toEqual([q, []]);
      }
    });

    it('are found by words that PostgreSQL splits further', async () => {
      const words = ['l’avion', 'foo–bar', '東京・大阪', 'x→y', '10€50'];
      await record({ input: words.join(' ') });
      // in scripts without blanks, the order of the words does not count
      await record({ input: 'avion bar 大阪 y 50 l foo x 10' });
      for (const q of words) {
        expect([q, await inputs(`q=${encodeURIComponent(q)}`)]).toEqual([q, [words.join(' ')]]);
      }
    });

    it('are found by expected and metadata despite a long input', async () => {
      const input = 'haystack '.repeat(20_000);
      await record({ input, expected: 'needleexpected', metadata: { topic: 'needlemeta' } });
      for (const q of ['needleexpected', 'needlemeta', 'haystack']) {
        expect([q, (await inputs(`q=${q}`)).length]).toEqual([q, 1]);
      }
    });

    it('are found in a long text of hyphenated words', async () => {
      const letter = (n: number) => String.fromCodePoint(0x4e00 + (n % 20_000));
      const halves = Array.from({ length: 40_000 }, (_, i) => [letter(i) + letter(i * 7), letter(i * 7 + 1)]);
      const input = halves.map(([left, right]) => `${left}-${right}${right}`).join(' ');
      const plain = { input: 'plain' };
      expect(statuses(await bulk([{ input }, plain]))).toEqual([201, 201]);
      expect(await inputs(`q=${encodeURIComponent('一一')}`)).toHaveLength(1);
    });

    it('match each filter, and all together', async () => {
      const all = { label: 'l', category: 'c', source_kind: 'session', source_ref: 'r', external_id: 'e' };
      const tags = ['t', 'u'];
      await record({ input: 'word none' });
      await record({ ...all, input: 'word all', tags });
      await record({ ...all, input: 'word other', tags: ['u'], label: 'L', external_id: 'f' });
      expect(await inputs('label=l')).toEqual(['word all']);
      expect(await inputs('category=c')).toEqual(['word other', 'word all']);
      expect(await inputs('source_kind=manual')).toEqual(['word none']);
      expect(await inputs('source_ref=r')).toEqual(['word other', 'word all']);
      expect(await inputs('external_id=f')).toEqual(['word other']);
      expect(await inputs('tag=t')).toEqual(['word all']);
      expect(await inputs('tag=u')).toEqual(['word other', 'word all']);
      const query = new URLSearchParams({ ...all, tag: 'u', q: 'word' }).toString();
      expect(await inputs(query)).toEqual(['word all']);
      expect(await inputs('label=')).toEqual([]);
      expect(await inputs('label=none')).toEqual([]);
    });

    it('are paged, sorted and counted, by default without archived ones', async () => {
      expect(statuses(await bulk([1, 2, 3, 4, 5].map((input) => ({ input }))))).toHaveLength(5);
      const [, fourth] = await space.list<DatasetRecord>(records);
      await patch(fourth!.dataset_record_id, { label: 'changed' });
      expect(await inputs('sort=-updated_at&limit=1')).toEqual([4]);
      const first = (await space.viewer.get<Page<DatasetRecord>>(`${records}?limit=2`)).body;
      expect(first.items.map((one) => one.input)).toEqual([5, 4]);
      await record({ input: 6 });
      await space.archive(`${records}/${fourth!.dataset_record_id}`);
      expect(await inputs(`limit=2&cursor=${first.page.next_cursor}`)).toEqual([3, 2]);
      expect(await inputs('sort=created_at')).toEqual([1, 2, 3, 5, 6]);
      expect(await inputs('sort=created_at&include_archived=true&offset=2')).toEqual([3, 4, 5, 6]);
      const { body } = await space.viewer.get<Page<DatasetRecord>>(`${records}?limit=0`);
      expect(body.page).toEqual({ limit: 0, offset: 0, total: 5, next_cursor: null });
    });

    it('are limited to the dataset', async () => {
      await record({ external_id: 'mine' });
      const other = await space.dataset();
      expect(await space.list(`/eval/v1/datasets/${other.dataset_id}/records`)).toEqual([]);
      const stranger = (await EvaluationWorkspace.open(app)).viewer;
      for (const caller of [stranger, await space.sibling()]) {
        expect(outcome(await caller.get(records))).toEqual([404, 'not_found']);
      }
      expect((await space.viewer.get('/eval/v1/datasets/ds_x/records')).status).toBe(404);
    });

    it.each([
      ['?source_kind=guess', 422, 'validation_failed'],
      ['?input=x', 400, 'invalid_query'],
      ['?sort=label', 422, 'validation_failed'],
      ['?label=a&label=b', 400, 'invalid_query'],
      ['?external_id=%00', 400, 'invalid_query'],
    ])('reject the query %s with %i', async (query, status, code) => {
      expect(outcome(await space.viewer.get(records + query))).toEqual([status, code]);
    });
  });

  describe('on PATCH', () => {
    it('get a new version, and keep the earlier ones', async () => {
      const first = await record({ input: { a: null, b: 1 }, expected: 'x', label: 'l', metadata: { a: 1 } });
      const id = first.dataset_record_id;
      const second = await patch(id, { input: { b: null }, expected: null, metadata: { a: null, b: 2 } });
      expect([second.status, second.headers.get('etag')]).toEqual([200, '"2"']);
      const changed = { input: { b: null }, expected: null, metadata: { b: 2 } };
      expect(second.body).toEqual({
        ...first,
        ...changed,
        version: 2,
        version_id: second.body.version_id,
        updated_at: second.body.updated_at,
      });
      expect(second.body.version_id).not.toBe(first.version_id);
      const clear = { label: null, tags: null, metadata: null, input: null, source_kind: 'external' };
      expect((await patch(id, clear)).body).toMatchObject({ ...clear, tags: [], metadata: {}, version: 3 });
      expect(await versionsOf(id)).toEqual([3, 2, 1]);
      const { body, headers } = await space.viewer.get<RecordVersion>(`${records}/${id}/versions/1`);
      const { updated_at: _updated, archived_at: _archived, ...content } = first;
      expect([headers.get('etag'), body]).toEqual(['"1"', content]);
      const page = await space.viewer.get<Page<RecordVersion>>(`${records}/${id}/versions?limit=1&offset=1`);
      expect(page.body.page).toMatchObject({ limit: 1, offset: 1, total: 3 });
      expect(page.body.items[0]).toMatchObject({ version: 2, ...changed, created_by: space.editorId });
    });

    it('get a version for reordered members, but none without a change', async () => {
      const { dataset_record_id: id, ...before } = await record({
        input: { a: 1, b: 2 },
        metadata: { x: 1 },
      });
      for (const same of [
        {},
        { input: { a: 1, b: 2 } },
        { metadata: {} },
        { metadata: { x: 1 }, tags: null },
      ]) {
        expect((await patch(id, same)).body).toEqual({ dataset_record_id: id, ...before });
      }
      const reordered = await patch(id, { input: { b: 2, a: 1 } });
      expect([reordered.body.version, JSON.stringify(reordered.body.input)]).toEqual([2, '{"b":2,"a":1}']);
    });

    it('accept only one of several changes with the same If-Match', async () => {
      const { dataset_record_id: id } = await record();
      const edit = (input: number) => patch(id, { input }, { 'if-match': '"1"' });
      expect(statusesOf(await Promise.all([edit(1), edit(2), edit(3)]))).toEqual([200, 412, 412]);
      const unconditional = await Promise.all([patch(id, { input: 4 }), patch(id, { input: 5 })]);
      expect(statusesOf(unconditional)).toEqual([200, 200]);
      expect(await versionsOf(id)).toEqual([4, 3, 2, 1]);
    });

    it.each<[string, Fields, number, string]>([
      ['metadata that grows over 16 KiB', { metadata: { b: 'x'.repeat(9_000) } }, 400, '/metadata'],
      ['an empty label', { label: '' }, 400, '/label'],
      ['no kind of source', { source_kind: null }, 400, '/source_kind'],
      ['an unknown kind of source', { source_kind: 'guess' }, 422, '/source_kind'],
      ['another workspace', { workspace_id: 'wsp_elsewhere' }, 422, '/workspace_id'],
      ['another dataset', { dataset_id: 'ds_other' }, 422, '/dataset_id'],
      ['another id', { dataset_record_id: 'rec_other' }, 422, '/dataset_record_id'],
    ])('are unchanged after a rejected PATCH with %s', async (_, fields, status, pointer) => {
      const before = await record({ metadata: { a: 'x'.repeat(9_000) } });
      const answer = await patch(before.dataset_record_id, { input: 'changed', ...fields });
      expect([answer.status, ...places(answer)]).toEqual([status, pointer]);
      expect((await read(before.dataset_record_id)).body).toEqual(before);
    });
  });

  describe('on archiving', () => {
    it('become read-only, and disappear from lists', async () => {
      const before = await record({ input: 'gone' });
      const path = `${records}/${before.dataset_record_id}`;
      const first = await space.evaluator.post<DatasetRecord>(`${path}/archive`);
      expect(first.status).toBe(200);
      const at = expect.stringMatching(TIME) as string;
      expect(first.body).toEqual({ ...before, archived_at: at, updated_at: first.body.archived_at });
      expect((await space.evaluator.post(`${path}/archive`)).body).toEqual(first.body);
      expect((await read(before.dataset_record_id)).body).toEqual(first.body);
      expect(outcome(await patch(before.dataset_record_id, { input: 'x' }))).toEqual([409, 'conflict']);
      expect(await versionsOf(before.dataset_record_id)).toEqual([1]);
      expect(await inputs()).toEqual([]);
    });

    it('change their ETag', async () => {
      const { dataset_record_id: id } = await record();
      await space.archive(`${records}/${id}`);
      const again = await space.viewer.get<DatasetRecord>(`${records}/${id}`, { 'if-none-match': '"1"' });
      expect([again.status, again.body?.archived_at]).toEqual([200, expect.stringMatching(TIME)]);
    });

    it('can be archived by evaluators, changed by editors and read by viewers', async () => {
      const { dataset_record_id: id } = await record();
      const refused: Answer<unknown>[] = [
        await space.editor.post(`${records}/${id}/archive`),
        await space.viewer.patch(`${records}/${id}`, { input: 1 }),
        await space.viewer.post(records, { workspace_id: space.id, input: 1 }),
        await space.viewer.post(`${records}/bulk`, { workspace_id: space.id, items: [{ input: 1 }] }),
        await (await space.organization.as('runtime')).get(records),
      ];
      for (const answer of refused) expect(outcome(answer)).toEqual([403, 'access_denied']);
    });
  });

  const operations: [string, (caller: ApiClient, path: string) => Promise<Answer<unknown>>][] = [
    ['reading', (caller, path) => caller.get(path)],
    ['changing', (caller, path) => caller.patch(path, { input: 'stolen' })],
    ['archiving', (caller, path) => caller.post(`${path}/archive`)],
    ['listing the versions of', (caller, path) => caller.get(`${path}/versions`)],
    ['reading a version of', (caller, path) => caller.get(`${path}/versions/1`)],
  ];
  it.each(operations)(
    'return 404 for %s a record of another workspace or of another dataset',
    async (_, attempt) => {
      const { dataset_record_id: id } = await record();
      const other = await space.dataset();
      const evaluator = await space.organization.as('evaluator');
      const attempts: [ApiClient, string][] = [
        [evaluator, `/eval/v1/datasets/${other.dataset_id}/records/${id}`],
        [evaluator, `/eval/v1/datasets/ds_x/records/${id}`],
        [evaluator.in(await space.organization.newWorkspace()), `${records}/${id}`],
        [(await EvaluationWorkspace.open(app)).evaluator, `${records}/${id}`],
        ...[...UNKNOWN_IDS, dataset.dataset_id].map((unknown): [ApiClient, string] => [
          evaluator,
          `${records}/${encodeURIComponent(decodeURIComponent(unknown))}`,
        ]),
      ];
      for (const [caller, path] of attempts) {
        expect([path, ...outcome(await attempt(caller, path))]).toEqual([path, 404, 'not_found']);
      }
      expect((await read(id)).headers.get('etag')).toBe('"1"');
    },
  );

  it.each(['0', '2', '-1', '1.0', '01', 'one', '99999999999999999999'])('have no version %s', async (n) => {
    const { dataset_record_id: id } = await record();
    expect(outcome(await space.viewer.get(`${records}/${id}/versions/${n}`))).toEqual([404, 'not_found']);
  });

  it('are checked in order: 404, then 412, then 409, then 422', async () => {
    const { dataset_record_id: id } = await record();
    const wrong = { source_kind: 'guess' };
    expect((await patch(id, wrong, { 'if-match': '"1"' })).status).toBe(422);
    expect((await patch(id, wrong, { 'if-match': '"7"' })).status).toBe(412);
    await space.archive(`/eval/v1/datasets/${dataset.dataset_id}`);
    expect((await patch(id, wrong, { 'if-match': '"7"' })).status).toBe(412);
    expect((await patch(id, wrong)).status).toBe(409);
    expect((await space.post(records, { input: 1, ...wrong })).status).toBe(409);
    expect((await bulk([{ input: 1 }], { on_conflict: 'guess' })).status).toBe(409);
    expect((await patch('rec_x', wrong)).status).toBe(404);
    expect((await patch('rec_x', { label: '' })).status).toBe(400);
  });
});
