import { sharedApp } from '#testing';
import { RecordRepository } from '../../../src/evaluation/datasets/records/record.repository';
import { type BulkResponse, EvaluationWorkspace, outcome, places, statuses } from './evaluation.harness';
import { importRecords, jsonLines, recordsOf } from './record-transfer.fixture';

/** Returns a schema that takes practically forever to validate a string. Null is valid at once. */
function costly(): object {
  const $defs: Record<string, unknown> = { d60: { type: 'string' } };
  for (let i = 0; i < 60; i++) {
    $defs[`d${i}`] = { allOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] };
  }
  return { $defs, anyOf: [{ type: 'null' }, { $ref: '#/$defs/d0' }] };
}

describe('records that are slow to validate, or large', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
  });
  afterEach(() => jest.restoreAllMocks());

  it.each(['skip', 'update'])('are rejected with the first 100 faulty lines: %s', async (onConflict) => {
    const { dataset_id: id } = await space.dataset({ input_schema: { type: 'object' } });
    const lines = Array.from({ length: 2_000 }, (_, i) => ({ external_id: `r${i}`, input: 'no object' }));
    const refused = await importRecords(space.editor, id, jsonLines(lines), `on_conflict=${onConflict}`);
    expect(outcome(refused)).toEqual([400, 'invalid_request']);
    expect(places(refused)).toEqual(lines.slice(0, 100).map((_, i) => `/lines/${i + 1}/input`));
  });

  it('are 400 when validation takes too long, without blocking others', async () => {
    const { dataset_id: hostile } = await space.dataset({ input_schema: costly() });
    const other = await EvaluationWorkspace.open(app);
    const { dataset_id: id } = await other.dataset({ input_schema: { type: 'string' } });
    const ended: string[] = [];
    const noted = <Result>(name: string, call: Promise<Result>): Promise<Result> =>
      call.finally(() => ended.push(name));
    const items = [{ input: 'a' }, { input: null }];
    const [bulk, accepted, refused] = await Promise.all([
      noted('hostile', space.post<BulkResponse>(`${recordsOf(hostile)}/bulk`, { items })),
      noted('other', other.post(recordsOf(id), { input: 'a' })),
      noted('other', other.post(recordsOf(id), { input: 1 })),
    ]);
    expect(ended).toEqual(['other', 'other', 'hostile']);
    expect(statuses(bulk)).toEqual([400, 201]);
    const [fault] = bulk.body.items[0]!.error!.errors!;
    expect(fault).toEqual({
      pointer: '/items/0/input',
      detail: 'takes too long to validate against this schema',
    });
    expect([accepted.status, places(refused)]).toEqual([201, ['/input']]);
    const imported = await importRecords(space.editor, hostile, jsonLines([{ input: 'a' }]));
    expect([...outcome(imported), ...places(imported)]).toEqual([400, 'invalid_request', '/lines/1/input']);
  });

  it('are read for an import in batches of a bounded size', async () => {
    const { dataset_id: id } = await space.dataset();
    const input = 'x'.repeat(5 * 1024 * 1024);
    for (const external_id of ['a', 'b', 'c']) {
      expect((await space.post(recordsOf(id), { input, external_id })).status).toBe(201);
    }
    const reads = jest.spyOn(app.get<RecordRepository>(RecordRepository), 'findByExternalIds');
    const lines = ['a', 'b', 'c'].map((external_id) => ({ input: 1, external_id }));
    const updated = await importRecords(space.editor, id, jsonLines(lines), 'on_conflict=update');
    expect(updated.body).toMatchObject({ updated_count: 3 });
    expect(reads.mock.calls.map(([, , , ids]) => ids)).toEqual([['a', 'b'], ['c']]);
  });

  it('are returned by a bulk create up to a size, and the other items are 413', async () => {
    const { dataset_id: id } = await space.dataset();
    const input = 'x'.repeat(9 * 1024 * 1024);
    for (const external_id of ['a', 'b', 'c']) {
      expect((await space.post(recordsOf(id), { input, external_id })).status).toBe(201);
    }
    const items = ['a', 'b', 'c', 'new'].map((external_id) => ({ input: 1, external_id }));
    const writing = (on_conflict: string, some: object[] = items) =>
      space.post<BulkResponse>(`${recordsOf(id)}/bulk`, { items: some, on_conflict });
    const skipped = await writing('skip');
    expect(statuses(skipped)).toEqual([200, 200, 413, 201]);
    expect(skipped.body.items[1]!.record!.input).toHaveLength(input.length);
    expect(skipped.body.items[2]!.error).toMatchObject({ code: 'payload_too_large' });
    expect(statuses(await writing('skip', [items[2]!]))).toEqual([200]);
    expect(statuses(await writing('error'))).toEqual([409, 409, 409, 409]);
    expect(statuses(await writing('update'))).toEqual([200, 200, 413, 413]);
    expect(statuses(await writing('update'))).toEqual([200, 200, 200, 200]);
  });
});
