import { sharedApp } from '#testing';
import {
  type BulkResponse,
  type Dataset,
  type DatasetRecord,
  EvaluationWorkspace,
  outcome,
  places,
  type RecordVersion,
  statuses,
} from './evaluation.harness';

type Fields = Record<string, unknown>;

describe('records of a dataset with schemas', () => {
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
  const versionsOf = async (id: string): Promise<number[]> =>
    (await space.list<RecordVersion>(`${records}/${id}/versions`)).map((one) => one.version);

  const strict = { type: 'object', required: ['q'], properties: { q: { type: 'string' } } };

  it('must match them on create, in bulk and on PATCH', async () => {
    await space.editor.patch(`/eval/v1/datasets/${dataset.dataset_id}`, {
      input_schema: strict,
      expected_schema: { type: ['string', 'null'] },
    });
    const refused = await space.post(records, { input: { q: 1 }, expected: 2 });
    expect(outcome(refused)).toEqual([400, 'invalid_request']);
    expect(places(refused)).toEqual(['/input/q', '/expected']);
    const { dataset_record_id: id } = await record({ input: { q: 'a' } });
    expect(places(await patch(id, { input: {} }))).toEqual(['/input/q']);
    const answer = await bulk([{ input: { q: 'b' } }, { input: 'c' }, { input: { q: 'd' }, expected: [] }]);
    expect(statuses(answer)).toEqual([201, 400, 400]);
    const pointers = answer.body.items.map((one) => one.error?.errors?.[0]?.pointer);
    expect(pointers).toEqual([undefined, '/items/1/input', '/items/2/expected']);
    expect(await versionsOf(id)).toEqual([1]);
  });

  it('stay unchanged under a later schema, and can change in other members', async () => {
    const { dataset_record_id: id } = await record({ input: 'free' });
    const path = `/eval/v1/datasets/${dataset.dataset_id}`;
    expect((await space.editor.patch(path, { input_schema: strict })).status).toBe(200);
    expect((await read(id)).body.input).toBe('free');
    expect((await patch(id, {})).status).toBe(200);
    expect(outcome(await patch(id, { label: 'seen', input: 'free' }))).toEqual([200, undefined]);
    expect((await patch(id, { input: 'other' })).status).toBe(400);
    const existing = { external_id: 'known', input: 'free' };
    await patch(id, { external_id: 'known' });
    const writing = async (items: object[], on_conflict: string) =>
      statuses(await bulk(items, { on_conflict }));
    expect(await writing([existing, { input: 'free' }], 'skip')).toEqual([200, 400]);
    const changed = { ...existing, label: 'changed' };
    expect(await writing([changed, { ...existing, external_id: 'new' }], 'update')).toEqual([200, 400]);
    expect((await read(id)).body).toMatchObject({ input: 'free', label: 'changed' });
    // A rejected item does not reserve its external_id, so the second item gets it.
    expect(await writing([{ ...existing, input: 1 }, existing], 'update')).toEqual([400, 200]);
    await space.editor.patch(path, { input_schema: null });
    expect((await patch(id, { input: 'other' })).status).toBe(200);
  });

  it('cannot get an invalid schema (400)', async () => {
    for (const schema of [{ type: 'nothing' }, { $ref: 'https://example.com/schema' }, { pattern: '(' }]) {
      const answer = await space.post('/eval/v1/datasets', { name: 'unusable', input_schema: schema });
      expect(outcome(answer)).toEqual([400, 'invalid_request']);
      expect(places(answer)[0]).toMatch(/^\/input_schema/);
    }
    await space.archive(`/eval/v1/datasets/${dataset.dataset_id}`);
    const path = `/eval/v1/datasets/${dataset.dataset_id}`;
    const unusable = await space.editor.patch(path, { expected_schema: { type: 'nothing' } });
    expect(unusable.status).toBe(400);
  });
});
