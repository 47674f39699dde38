import { createTestApp, type TestApp } from '#testing';
import { DatasetSchemas } from '../../../src/evaluation/datasets/dataset-schemas';
import { RecordRepository } from '../../../src/evaluation/records/record.repository';
import { Pace } from '#platform/turns';
import { type BulkAnswer, EvaluationWorkspace, outcome, places, statuses } from './evaluation.harness';
import { importing, jsonLines, recordsOf } from './record-transfer.fixture';

/** A schema that a value of it costs a while to validate, and then is not shown to be valid. */
function costly(): object {
  const $defs: Record<string, unknown> = { d60: { type: 'string' } };
  for (let i = 0; i < 60; i++) {
    $defs[`d${i}`] = { allOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] };
  }
  return { $defs, $ref: '#/$defs/d0' };
}

describe('records that take long to check, or much room', () => {
  let app: TestApp;
  let space: EvaluationWorkspace;

  beforeAll(async () => {
    app = await createTestApp();
    space = await EvaluationWorkspace.open(app);
  });
  afterEach(() => jest.restoreAllMocks());
  afterAll(() => app.close());

  it.each(['skip', 'update'])(
    'keep a dataset from others no longer than it takes to find the faults that are told: %s',
    async (onConflict) => {
      const { dataset_id: id } = await space.dataset({ input_schema: { type: 'object' } });
      const lines = Array.from({ length: 2_000 }, (_, i) => ({ external_id: `r${i}`, input: 'no object' }));
      const checks = jest.spyOn(app.get<DatasetSchemas>(DatasetSchemas), 'faultsIn');
      const refused = await importing(space.editor, id, jsonLines(lines), `on_conflict=${onConflict}`);
      expect(outcome(refused)).toEqual([400, 'invalid_request']);
      expect(places(refused)).toEqual(lines.slice(0, 100).map((_, i) => `/lines/${i + 1}/input`));
      expect(checks).toHaveBeenCalledTimes(2_000 + 100);
    },
  );

  it('leave others their turn between the items of a bulk, and the lines of an import', async () => {
    const { dataset_id: id } = await space.dataset({ input_schema: costly() });
    const schemas = app.get<DatasetSchemas>(DatasetSchemas);
    const check = schemas.faultsIn.bind(schemas);
    const turnsOf = async (write: () => Promise<unknown>): Promise<number> => {
      let turn = 0;
      const turns: number[] = [];
      jest.spyOn(schemas, 'faultsIn').mockImplementation((...given) => {
        turns.push(turn);
        return check(...given);
      });
      // however fast the machine is
      jest.spyOn(Pace.prototype, 'isDue').mockReturnValue(true);
      let isOver = false;
      const count = (): void => {
        turn++;
        if (!isOver) setImmediate(count);
      };
      count();
      await write().finally(() => (isOver = true));
      jest.restoreAllMocks();
      return new Set(turns).size;
    };
    const items = Array.from({ length: 12 }, (_, i) => ({ external_id: `c${i}`, input: 'a' }));
    const bulk = await turnsOf(async () => {
      const answer = await space.post<BulkAnswer>(`${recordsOf(id)}/bulk`, { items });
      expect(new Set(statuses(answer))).toEqual(new Set([400]));
    });
    expect(bulk).toBe(12);
    const imported = await turnsOf(async () => {
      const answer = await importing(space.editor, id, jsonLines(items), 'on_conflict=update');
      expect(places(answer)).toHaveLength(12);
    });
    expect(imported).toBe(24);
  });

  it('are read for an import as far as there is room, however short the lines are', async () => {
    const { dataset_id: id } = await space.dataset();
    const input = 'x'.repeat(5 * 1024 * 1024);
    for (const external_id of ['a', 'b', 'c']) {
      expect((await space.post(recordsOf(id), { input, external_id })).status).toBe(201);
    }
    const reads = jest.spyOn(app.get<RecordRepository>(RecordRepository), 'findByExternalIds');
    const lines = ['a', 'b', 'c'].map((external_id) => ({ input: 1, external_id }));
    const updated = await importing(space.editor, id, jsonLines(lines), 'on_conflict=update');
    expect(updated.body).toMatchObject({ updated_count: 3 });
    expect(reads.mock.calls.map(([, , , ids]) => ids)).toEqual([['a', 'b'], ['c']]);
  });

  it('are answered by a bulk as far as there is room, and the other items are told to come alone', async () => {
    const { dataset_id: id } = await space.dataset();
    const input = 'x'.repeat(9 * 1024 * 1024);
    for (const external_id of ['a', 'b', 'c']) {
      expect((await space.post(recordsOf(id), { input, external_id })).status).toBe(201);
    }
    const items = ['a', 'b', 'c', 'new'].map((external_id) => ({ input: 1, external_id }));
    const writing = (on_conflict: string, some: object[] = items) =>
      space.post<BulkAnswer>(`${recordsOf(id)}/bulk`, { items: some, on_conflict });
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
