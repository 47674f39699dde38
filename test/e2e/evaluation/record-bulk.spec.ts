import { sharedApp } from '#testing';
import {
  type BulkResponse,
  type Dataset,
  type DatasetRecord,
  EvaluationWorkspace,
  outcome,
  type Page,
  places,
  statuses,
} from './evaluation.harness';

type Fields = Record<string, unknown>;

describe('records in bulk', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;
  let dataset: Dataset;
  let records: string;

  beforeEach(async () => {
    space = await EvaluationWorkspace.open(app);
    dataset = await space.dataset();
    records = `/eval/v1/datasets/${dataset.dataset_id}/records`;
  });

  const bulk = (items: unknown, fields: Fields = {}) =>
    space.post<BulkResponse>(`${records}/bulk`, { items, ...fields });
  const counted = async (): Promise<number | null> =>
    (await space.viewer.get<Page<DatasetRecord>>(`${records}?limit=0`)).body.page.total;

  it('get one outcome each, in the order sent', async () => {
    const answer = await bulk(Array.from({ length: 100 }, (_, i) => ({ input: i, external_id: `row ${i}` })));
    expect(statuses(answer)).toEqual(Array.from({ length: 100 }, () => 201));
    expect(answer.body.items.map((one) => one.record?.input)).toEqual(
      Array.from({ length: 100 }, (_, i) => i),
    );
    const listed = await space.list<DatasetRecord>(`${records}?sort=created_at&limit=500`);
    expect(listed).toEqual(answer.body.items.map((one) => one.record));
    expect(listed.every((one) => one.version === 1)).toBe(true);
  });

  it('fail independently, each with its faults', async () => {
    const answer = await bulk([
      { input: 'good' },
      { label: 'no input' },
      { input: 1, source_kind: 'guess' },
      'not an object',
      null,
      { input: 1, tags: 'none', label: 7 },
      { input: 'good too', workspace_id: 'ignored', created_at: 'ignored' },
      { input: 'unknown', colour: 'red' },
    ]);
    expect(statuses(answer)).toEqual([201, 400, 422, 400, 400, 400, 201, 400]);
    expect(answer.body.items[1]!.error).toMatchObject({
      status: 400,
      code: 'invalid_request',
      title: 'Invalid request',
      errors: [{ pointer: '/items/1/input' }],
    });
    expect(answer.body.items[2]!.error).toMatchObject({
      code: 'validation_failed',
      errors: [{ pointer: '/items/2/source_kind' }],
    });
    const pointers = answer.body.items[5]!.error!.errors!.map((one) => one.pointer);
    expect(new Set(pointers)).toEqual(new Set(['/items/5/tags', '/items/5/label']));
    expect(await counted()).toBe(2);
    expect((await space.viewer.get<Dataset>(records.replace('/records', ''))).body.record_count).toBe(2);
  });

  it.each<[string, unknown]>([
    ['an empty array', []],
    ['101 records', Array.from({ length: 101 }, (_, input) => ({ input }))],
    ['an object instead of an array', { 0: { input: 1 } }],
    ['no items member', undefined],
  ])('return 400 as a whole for %s', async (_, items) => {
    const answer = await bulk(items);
    expect([...outcome(answer), ...new Set(places(answer))]).toEqual([400, 'invalid_request', '/items']);
    expect(await counted()).toBe(0);
  });

  it('are rejected as a whole for another workspace or an unknown dataset', async () => {
    expect((await bulk([{ input: 1 }], { workspace_id: 'wsp_x' })).status).toBe(400);
    expect((await bulk([{ input: 1 }], { workspace_id: undefined })).status).toBe(400);
    const missing = await space.post('/eval/v1/datasets/ds_x/records/bulk', { items: [{ input: 1 }] });
    expect(outcome(missing)).toEqual([404, 'not_found']);
    const stranger = await EvaluationWorkspace.open(app);
    expect((await stranger.post(`${records}/bulk`, { items: [{ input: 1 }] })).status).toBe(404);
    expect(await counted()).toBe(0);
  });

  describe('with the external_id of a live record', () => {
    let present: DatasetRecord;
    beforeEach(async () => {
      present = await space.record(dataset.dataset_id, { input: 'old', label: 'l', external_id: 'known' });
    });
    const items = [
      { input: 'new', external_id: 'known' },
      { input: 'added', external_id: 'unknown' },
      { input: 'also added' },
    ];
    const current = async () =>
      (await space.viewer.get<DatasetRecord>(`${records}/${present.dataset_record_id}`)).body;

    it('return 409 by default', async () => {
      for (const fields of [{}, { on_conflict: 'error' }]) {
        const answer = await bulk([items[0]], fields);
        expect(statuses(answer)).toEqual([409]);
        expect(answer.body.items[0]!.error!.code).toBe('conflict');
      }
      expect(statuses(await bulk(items))).toEqual([409, 201, 201]);
      expect(await current()).toEqual(present);
    });

    it('keep that record unchanged with "skip"', async () => {
      const answer = await bulk(items, { on_conflict: 'skip' });
      expect(statuses(answer)).toEqual([200, 201, 201]);
      expect(answer.body.items[0]!.record).toEqual(present);
      expect(await current()).toEqual(present);
    });

    it('create a version of that record with "update" if something changes', async () => {
      const answer = await bulk(items, { on_conflict: 'update' });
      expect(statuses(answer)).toEqual([200, 201, 201]);
      expect(answer.body.items[0]!.record).toMatchObject({
        dataset_record_id: present.dataset_record_id,
        version: 2,
        input: 'new',
        label: null,
      });
      expect(await current()).toEqual(answer.body.items[0]!.record);
      const etag = (await space.viewer.get(`/eval/v1/datasets/${dataset.dataset_id}`)).headers.get('etag');
      const again = await bulk(items.slice(0, 2), { on_conflict: 'update' });
      expect(again.body.items.map((one) => [one.status_code, one.record?.version])).toEqual([
        [200, 2],
        [200, 1],
      ]);
      const unchanged = await space.viewer.get(`/eval/v1/datasets/${dataset.dataset_id}`);
      expect(unchanged.headers.get('etag')).toBe(etag);
      expect(await counted()).toBe(3);
    });

    it('ignore other datasets and archived records', async () => {
      const other = await space.dataset();
      const path = `/eval/v1/datasets/${other.dataset_id}/records/bulk`;
      expect(statuses(await space.post<BulkResponse>(path, { items: [items[0]] }))).toEqual([201]);
      await space.archive(`${records}/${present.dataset_record_id}`);
      expect(statuses(await bulk([items[0]]))).toEqual([201]);
    });

    it('return 422 as a whole for an unknown on_conflict', async () => {
      const answer = await bulk(items, { on_conflict: 'replace' });
      expect([...outcome(answer), ...places(answer)]).toEqual([422, 'validation_failed', '/on_conflict']);
      expect((await bulk(items, { on_conflict: 1 })).status).toBe(400);
    });
  });

  it.each(['error', 'skip', 'update'])(
    'store only the first of two with the same external_id (%s)',
    async (on_conflict) => {
      const answer = await bulk(
        [
          { input: 1, external_id: 'twice' },
          { input: 2, external_id: 'twice' },
          { input: 3, external_id: 'Twice' },
        ],
        { on_conflict },
      );
      expect(statuses(answer)).toEqual([201, 409, 201]);
      expect(answer.body.items[1]!.error!.detail).toContain('items/0');
      expect(await counted()).toBe(2);
    },
  );

  it('are each written once by concurrent clients, in any order', async () => {
    const rows = Array.from({ length: 40 }, (_, i) => ({ input: i, external_id: `row ${i}` }));
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, client) => bulk(client % 2 === 0 ? rows : [...rows].reverse())),
    );
    const all = answers.flatMap((answer) => statuses(answer));
    expect(all.filter((status) => status === 201)).toHaveLength(40);
    expect(all.filter((status) => status === 409)).toHaveLength(200);
    const { body } = await space.viewer.get<Dataset>(`/eval/v1/datasets/${dataset.dataset_id}`);
    expect([body.record_count, await counted()]).toEqual([40, 40]);
  });
});
