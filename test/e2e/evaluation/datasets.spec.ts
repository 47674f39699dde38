import { type Answer, type ApiClient, sharedApp } from '#testing';
import {
  type Dataset,
  EvaluationWorkspace,
  outcome,
  type Page,
  places,
  TIME,
  UNKNOWN_IDS,
} from './evaluation.harness';

const DATASETS = '/eval/v1/datasets';

describe('datasets', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;

  beforeEach(async () => {
    space = await EvaluationWorkspace.open(app);
  });

  const names = async (query: string): Promise<string[]> =>
    (await space.list<Dataset>(`${DATASETS}?${query}`)).map((one) => one.name);

  describe('on creation', () => {
    it('return 201 with the dataset, its Location and its ETag', async () => {
      const fields = {
        name: 'capitals',
        description: 'Capitals of countries',
        metadata: { owner: 'geo', nested: { b: 1, a: [null] } },
        tags: ['geo', 'small'],
        input_schema: { type: 'object', properties: { z: {}, a: { default: null } } },
        expected_schema: { type: 'string' },
      };
      const { status, headers, body } = await space.post<Dataset>(DATASETS, fields);
      expect(status).toBe(201);
      expect(body).toEqual({
        dataset_id: expect.stringMatching(/^ds_[0-7][0-9a-hjkmnp-tv-z]{25}$/) as string,
        workspace_id: space.id,
        ...fields,
        record_count: 0,
        row_count: null,
        latest_version: null,
        baselines: {},
        acquired_from: null,
        created_at: expect.stringMatching(TIME) as string,
        updated_at: body.created_at,
        created_by: space.editorId,
        archived_at: null,
      });
      expect(headers.get('location')).toBe(`${DATASETS}/${body.dataset_id}`);
      expect(headers.get('etag')).toBe('"1"');
      const read = await space.viewer.get<Dataset>(`${DATASETS}/${body.dataset_id}`);
      expect(read.status).toBe(200);
      expect(read.headers.get('etag')).toBe('"1"');
      expect(JSON.stringify(read.body)).toBe(JSON.stringify(body));
    });

    it('need only a name', async () => {
      const bare = { description: null, metadata: {}, tags: [], input_schema: null, expected_schema: null };
      expect(await space.dataset({ name: 'bare' })).toMatchObject(bare);
      expect(await space.dataset({ name: 'nulls', ...bare, metadata: null, tags: null })).toMatchObject(bare);
    });

    it.each<[string, Record<string, unknown>, string]>([
      ['no name', { name: undefined }, '/name'],
      ['a null name', { name: null }, '/name'],
      ['an empty name', { name: '' }, '/name'],
      ['a name of 256 characters', { name: 'é'.repeat(256) }, '/name'],
      ['a name that is not a string', { name: 7 }, '/name'],
      ['a description of 10,001 characters', { description: 'x'.repeat(10_001) }, '/description'],
      ['metadata that is not an object', { metadata: [1] }, '/metadata'],
      ['metadata over 16 KiB', { metadata: { x: 'é'.repeat(8 * 1024) } }, '/metadata'],
      ['an empty tag', { tags: [''] }, '/tags'],
      ['101 tags', { tags: Array.from({ length: 101 }, String) }, '/tags'],
      ['a schema that is not an object', { input_schema: 'string' }, '/input_schema'],
      ['no workspace', { workspace_id: undefined }, '/workspace_id'],
      ['another workspace than its header', { workspace_id: 'wsp_x' }, '/workspace_id'],
    ])('return 400 with a pointer for %s', async (_, fields, pointer) => {
      const answer = await space.post(DATASETS, { name: 'faulty', ...fields });
      expect(outcome(answer)).toEqual([400, 'invalid_request']);
      expect(places(answer)).toContain(pointer);
      expect(await names('')).toEqual([]);
    });

    it('store duplicate tags once, also on PATCH', async () => {
      const dataset = await space.dataset({ name: 'tagged', tags: ['b', 'a', 'b'] });
      expect(dataset.tags).toEqual(['b', 'a']);
      const { body } = await space.editor.patch(`${DATASETS}/${dataset.dataset_id}`, {
        tags: ['c', 'c', 'a'],
      });
      expect(body.tags).toEqual(['c', 'a']);
    });

    it('accept values at the limits, and ignore read-only members', async () => {
      const answer = await space.post(DATASETS, {
        name: '😀'.repeat(255),
        metadata: { x: 'x'.repeat(16 * 1024 - 8) },
        tags: Array.from({ length: 100 }, (_, i) => `${i}`.padEnd(255, 'x')),
        record_count: 7,
      });
      expect(answer.status).toBe(201);
      expect(answer.body).toMatchObject({ record_count: 0 });
    });

    it('reject a very long list of tags quickly', async () => {
      const tags = Array.from({ length: 200_000 }, (_, i) => `t${i}`);
      expect(outcome(await space.post(DATASETS, { name: 'tags', tags }))).toEqual([400, 'invalid_request']);
    }, 20_000);
  });

  describe('with the same name', () => {
    it('return 409 on creation and on rename within a workspace', async () => {
      await space.dataset({ name: 'taken' });
      expect(outcome(await space.post(DATASETS, { name: 'taken' }))).toEqual([409, 'conflict']);
      const other = await space.dataset({ name: 'Taken' });
      const renamed = await space.editor.patch(`${DATASETS}/${other.dataset_id}`, { name: 'taken' });
      expect(outcome(renamed)).toEqual([409, 'conflict']);
      expect(await (await EvaluationWorkspace.open(app)).dataset({ name: 'taken' })).toBeDefined();
    });
  });

  describe('in a list', () => {
    it('are found by parts of a file name, path or URL', async () => {
      await space.dataset({ name: 'example_model-v2.jsonl', description: 'src/app.ts of user@example.com' });
      const parts = [
        'model',
        'jsonl',
        'v2',
        'example_model-v2.jsonl',
        'src/app',
        'app.ts',
        'ts',
        'example.com',
      ];
      for (const q of parts) {
        expect([q, await names(`q=${encodeURIComponent(q)}`)]).toEqual([q, ['example_model-v2.jsonl']]);
      }
    });

    it('are found by words and prefixes of name and description', async () => {
      await space.dataset({ name: 'World capitals', description: 'Ärger über it’s C:\\new files' });
      await space.dataset({ name: 'World rivers', description: null });
      expect(await names('q=world')).toEqual(['World rivers', 'World capitals']);
      for (const q of ['WORLD cap', 'capit', 'ärger', 'ÄRG', 'new', "it's", 'cap%20files']) {
        expect([q, await names(`q=${q}`)]).toEqual([q, ['World capitals']]);
      }
      for (const q of ['orld', 'world lakes', 'capital cities', 'x'.repeat(1000), '漢'.repeat(1000)]) {
        expect([q, await names(`q=${encodeURIComponent(q)}`)]).toEqual([q, []]);
      }
      for (const q of ["' | !(", ':*', '&', '\\', "a' & b", '<->', '']) {
        expect((await space.viewer.get(`${DATASETS}?q=${encodeURIComponent(q)}`)).status).toBe(200);
      }
    });

    it('are found by an exact tag, and by all filters together', async () => {
      await space.dataset({ name: 'one', tags: ['math', 'small'] });
      await space.dataset({ name: 'two', tags: ['math'] });
      await space.dataset({ name: 'three', tags: ['mathematics'] });
      expect(await names('tag=math')).toEqual(['two', 'one']);
      expect(await names('tag=math&q=one')).toEqual(['one']);
      expect(await names('tag=none')).toEqual([]);
    });

    it('sort by creation, update and name in either direction', async () => {
      const b = await space.dataset({ name: 'b' });
      await space.dataset({ name: 'a' });
      await space.dataset({ name: 'C' });
      await space.editor.patch(`${DATASETS}/${b.dataset_id}`, { description: 'changed' });
      expect(await names('')).toEqual(['C', 'a', 'b']);
      expect(await names('sort=-created_at')).toEqual(['C', 'a', 'b']);
      expect(await names('sort=created_at')).toEqual(['b', 'a', 'C']);
      expect(await names('sort=updated_at')).toEqual(['a', 'C', 'b']);
      expect(await names('sort=-updated_at')).toEqual(['b', 'C', 'a']);
      expect(await names('sort=name')).toEqual(['C', 'a', 'b']);
      expect(await names('sort=-name')).toEqual(['b', 'a', 'C']);
    });

    it('omit archived datasets by default, and are counted', async () => {
      await space.dataset({ name: 'kept' });
      const archived = await space.dataset({ name: 'gone' });
      await space.archive(`${DATASETS}/${archived.dataset_id}`);
      expect(await names('')).toEqual(['kept']);
      expect(await names('include_archived=false')).toEqual(['kept']);
      expect(await names('include_archived=true')).toEqual(['gone', 'kept']);
      const counted = await space.viewer.get<Page<Dataset>>(`${DATASETS}?limit=0&include_archived=true`);
      expect(counted.body).toEqual({
        items: [],
        page: { limit: 0, offset: 0, total: 2, next_cursor: null },
      });
    });

    it('are limited to the workspace', async () => {
      await space.dataset({ name: 'mine', tags: ['t'] });
      const elsewhere = [await space.sibling(), (await EvaluationWorkspace.open(app)).viewer];
      for (const caller of elsewhere) {
        for (const query of ['', 'q=mine', 'tag=t', 'sort=name', 'include_archived=true']) {
          const { body } = await caller.get<Page<Dataset>>(`${DATASETS}?${query}`);
          expect(body).toMatchObject({ items: [], page: { total: 0 } });
        }
      }
    });

    it.each(['named=x', 'tag=', `tag=${'x'.repeat(256)}`, `q=${'x'.repeat(1001)}`, 'q=%00', 'tag=a%00'])(
      'return 400 invalid_query for ?%s',
      async (query) => {
        expect(outcome(await space.viewer.get(`${DATASETS}?${query}`))).toEqual([400, 'invalid_query']);
      },
    );
  });

  describe('on PATCH', () => {
    it('apply a merge patch: null clears, metadata is merged, schemas are replaced', async () => {
      const before = await space.dataset({
        description: 'old',
        tags: ['a'],
        metadata: { keep: 1, drop: 2, deep: { keep: 1, drop: 2 } },
        input_schema: { type: 'object', title: 'old' },
      });
      const path = `${DATASETS}/${before.dataset_id}`;
      const schema = { properties: { x: { default: null } } };
      const patch = {
        name: 'renamed',
        metadata: { drop: null, deep: { drop: null, more: 3 } },
        input_schema: schema,
        record_count: 7,
      };
      const { status, headers, body } = await space.editor.patch<Dataset>(path, patch, {
        'content-type': 'application/merge-patch+json',
      });
      expect([status, headers.get('etag')]).toEqual([200, '"2"']);
      expect(body).toEqual({
        ...before,
        name: 'renamed',
        metadata: { keep: 1, deep: { keep: 1, more: 3 } },
        input_schema: schema,
        updated_at: body.updated_at,
      });
      expect(body.updated_at >= before.updated_at).toBe(true);
      expect((await space.viewer.get<Dataset>(path)).body).toEqual(body);
      const clear = { description: null, tags: null, metadata: null, input_schema: null };
      const cleared = await space.editor.patch<Dataset>(path, clear);
      expect(cleared.body).toMatchObject({ description: null, tags: [], metadata: {}, input_schema: null });
    });

    it('ignore read-only members', async () => {
      const before = await space.dataset({ name: 'read', record_count: 7 });
      const path = `${DATASETS}/${before.dataset_id}`;
      const sent = { ...before, created_at: '2020-01-01T00:00:00.000Z', description: 'changed' };
      const { status, body } = await space.editor.patch<Dataset>(path, sent);
      expect([status, body.description, body.created_at]).toEqual([200, 'changed', before.created_at]);
    });

    it.each<[string, Record<string, unknown>, number, string]>([
      ['no name', { name: null }, 400, 'invalid_request'],
      ['an empty name', { name: '' }, 400, 'invalid_request'],
      ['metadata that grows over 16 KiB', { metadata: { b: 'x'.repeat(9_000) } }, 400, 'invalid_request'],
      ['another workspace', { workspace_id: 'wsp_elsewhere' }, 422, 'validation_failed'],
      ['another id', { dataset_id: 'ds_other' }, 422, 'immutable_field'],
    ])('are unchanged after a rejected PATCH with %s', async (_, patch, status, code) => {
      const before = await space.dataset({ metadata: { a: 'x'.repeat(9_000) } });
      const path = `${DATASETS}/${before.dataset_id}`;
      const refused = await space.editor.patch(path, { description: 'changed', ...patch });
      expect(outcome(refused)).toEqual([status, code]);
      expect((await space.viewer.get(path)).body).toEqual(before);
    });
  });

  describe('on archiving', () => {
    it('reject writes to an archived dataset and its records, but not reads', async () => {
      const { dataset_id } = await space.dataset();
      const path = `${DATASETS}/${dataset_id}`;
      const { dataset_record_id } = await space.record(dataset_id);
      await space.archive(path);
      const writes: Answer<unknown>[] = [
        await space.editor.patch(path, { description: 'x' }),
        await space.post(`${path}/records`, { input: 1 }),
        await space.post(`${path}/records/bulk`, { items: [{ input: 1 }] }),
        await space.editor.patch(`${path}/records/${dataset_record_id}`, { input: 2 }),
        await space.evaluator.post(`${path}/records/${dataset_record_id}/archive`),
        await space.post('/eval/v1/experiments', { name: 'x', dataset_id }),
      ];
      for (const answer of writes) expect(outcome(answer)).toEqual([409, 'conflict']);
      for (const read of [path, `${path}/records`, `${path}/records/${dataset_record_id}`]) {
        expect((await space.viewer.get(read)).status).toBe(200);
      }
    });

    it('can be archived by evaluators, changed by editors and read by viewers', async () => {
      const { dataset_id } = await space.dataset();
      const path = `${DATASETS}/${dataset_id}`;
      const runtime = await space.organization.as('runtime');
      const refused: Answer<unknown>[] = [
        await space.editor.post(`${path}/archive`),
        await space.viewer.patch(path, { name: 'x' }),
        await space.viewer.post(DATASETS, { workspace_id: space.id, name: 'x' }),
        await runtime.get(path),
        await runtime.get(DATASETS),
      ];
      for (const answer of refused) expect(outcome(answer)).toEqual([403, 'access_denied']);
      expect((await space.viewer.get<Dataset>(path)).body.archived_at).toBeNull();
    });
  });

  const operations: [string, (caller: ApiClient, id: string) => Promise<Answer<unknown>>][] = [
    ['reading', (caller, id) => caller.get(`${DATASETS}/${id}`)],
    ['changing', (caller, id) => caller.patch(`${DATASETS}/${id}`, { name: 'stolen' })],
    ['archiving', (caller, id) => caller.post(`${DATASETS}/${id}/archive`)],
  ];

  it.each(operations)('return 404 if they are unknown or foreign: %s', async (_, attempt) => {
    const { dataset_id } = await space.dataset();
    const experiment = await space.experiment();
    const evaluator = await space.organization.as('evaluator');
    const attempts: [ApiClient, string][] = [
      ...[...UNKNOWN_IDS, experiment.experiment_id].map((id): [ApiClient, string] => [evaluator, id]),
      [(await EvaluationWorkspace.open(app)).evaluator, dataset_id],
      [evaluator.in(await space.organization.newWorkspace()), dataset_id],
    ];
    for (const [caller, id] of attempts) {
      expect([id, ...outcome(await attempt(caller, encodeURIComponent(decodeURIComponent(id))))]).toEqual([
        id,
        404,
        'not_found',
      ]);
    }
    const untouched = await space.viewer.get<Dataset>(`${DATASETS}/${dataset_id}`);
    expect(untouched.headers.get('etag')).toBe('"1"');
  });

  it('are checked in order: 404, then 412, then 409, then 422', async () => {
    const { dataset_id } = await space.dataset();
    const path = `${DATASETS}/${dataset_id}`;
    const edit = (at: string, etag: string) =>
      space.editor.patch(at, { workspace_id: 'wsp_elsewhere' }, { 'if-match': etag });
    expect((await edit(path, '"1"')).status).toBe(422);
    await space.archive(path);
    expect((await edit(path, '"2"')).status).toBe(409);
    expect((await edit(path, '"1"')).status).toBe(412);
    expect((await edit(`${DATASETS}/ds_x`, '"1"')).status).toBe(404);
    expect((await space.editor.patch(`${DATASETS}/ds_x`, { name: '' })).status).toBe(400);
    expect((await space.viewer.patch(path, { name: '' })).status).toBe(403);
  });

  it('count their live records, and change their ETag with each', async () => {
    const { dataset_id } = await space.dataset();
    const path = `${DATASETS}/${dataset_id}`;
    const first = await space.record(dataset_id);
    await space.post(`${path}/records/bulk`, { items: [{ input: 1 }, { wrong: 2 }, { input: 3 }] });
    const counted = await space.viewer.get<Dataset>(path);
    expect(counted.body.record_count).toBe(3);
    await space.archive(`${path}/records/${first.dataset_record_id}`);
    await space.archive(`${path}/records/${first.dataset_record_id}`);
    const after = await space.viewer.get<Dataset>(path, { 'if-none-match': counted.headers.get('etag')! });
    expect([after.status, after.body.record_count]).toEqual([200, 2]);
  });
});
