import type { Scope } from '#platform/auth';
import { ComputationPool } from '#platform/concurrency';
import { RawJson } from '#platform/json';
import { DatasetSchemas, type RecordSchemas } from './dataset-schemas';

const SCOPE = { orgId: 'a', workspaceId: 'a' } as Scope;
const NEVER = new AbortController().signal;
const text = (schema: object): RawJson => new RawJson(JSON.stringify(schema));

describe('DatasetSchemas', () => {
  const pool = new ComputationPool();
  const schemas = new DatasetSchemas(pool);
  afterEach(() => jest.restoreAllMocks());
  afterAll(() => pool.close());

  it('sends each schema and each distinct value once, and returns the faults of each record', async () => {
    const run = jest.spyOn(pool, 'run');
    const recordSchemas: RecordSchemas = {
      input_schema: text({ type: 'string' }),
      expected_schema: text({ type: 'number' }),
    };
    const records = [{ input: 'a', expected: 1 }, { input: 'a', expected: 'a' }, { input: 2 }];
    const faults = await schemas.faultsOf(SCOPE, recordSchemas, records, NEVER);
    expect(faults.map((ofRecord) => ofRecord.map((one) => 'pointer' in one && one.pointer))).toEqual([
      [],
      ['/expected'],
      ['/input'],
    ]);
    expect(run.mock.calls.map(([, , , , input]) => input)).toEqual([
      {
        schemas: ['{"type":"string"}', '{"type":"number"}'],
        values: [
          { schema: 0, value: '"a"' },
          { schema: 1, value: '1' },
          { schema: 1, value: '"a"' },
          { schema: 0, value: '2' },
        ],
      },
    ]);
  });

  it('frees its threads and queue slots when the client disconnects', async () => {
    const client = new AbortController();
    const reason = new Error('the client has disconnected');
    const recordSchemas: RecordSchemas = { input_schema: text({ type: 'string' }), expected_schema: null };
    const outcomes = Promise.allSettled([
      schemas.check(SCOPE, text({ type: 'string' }), '/input_schema', client.signal),
      schemas.faultsOf(SCOPE, recordSchemas, [{ input: 'a' }], client.signal),
      schemas.withCheck(SCOPE, client.signal, async (check) => {
        await Promise.resolve();
        check.faultsIn(recordSchemas, { input: 'b' });
        check.finish();
      }),
    ]);
    client.abort(reason);
    expect(await outcomes).toEqual(new Array(3).fill({ status: 'rejected', reason }));
    expect(await schemas.faultsOf(SCOPE, recordSchemas, [{ input: 'a' }], NEVER)).toEqual([[]]);
  });
});
