import type { Database } from '#platform/db';
import { SpendRepository } from '../budgets/spend.repository';
import type { UsageRepository, UsageRow } from './usage.repository';
import { type UsedCall, UsageWriter } from './usage.writer';

const row: UsageRow = {
  workspace_id: 'wsp_1',
  day: '2026-11-20',
  model_id: 'model_1',
  principal_id: 'user',
  provider_id: 'prov_1',
  upstream_model: 'u',
  org_id: 'org_1',
  call_count: 1,
  failed_count: 0,
  cached_count: 0,
  attempts: 1,
  failed_attempts: 0,
  unpriced_count: 0,
  estimated_count: 0,
  input_tokens: 1,
  output_tokens: 2,
  cached_input_tokens: 0,
  cache_write_tokens: 0,
  cost_usd: 1,
  estimated_usd: 0,
};
const CALL: UsedCall = { row, others: [], serviceAccountId: null };

describe('usage', () => {
  const added: UsageRow[][] = [];
  let failures = 0;
  const repository = {
    add: (usage: UsageRow[]) => {
      if (failures > 0) return Promise.reject(new Error(`failure ${failures--}`));
      added.push(usage);
      return Promise.resolve([]);
    },
  } as unknown as UsageRepository;
  let writer: UsageWriter;

  beforeEach(() => {
    added.length = 0;
    writer = new UsageWriter(repository, new SpendRepository({} as Database));
  });

  it('becomes one row for calls that end while another is stored', async () => {
    await Promise.all([
      writer.add({ ...CALL, row: { ...row, model_id: 'first' } }),
      writer.add(CALL),
      writer.add(CALL),
      writer.add({ ...CALL, row: { ...row, failed_count: 1 } }),
    ]);
    expect(added).toEqual([
      [expect.objectContaining({ model_id: 'first', call_count: 1 })],
      [expect.objectContaining({ call_count: 3, failed_count: 1, cost_usd: 3 })],
    ]);
  });

  it('is counted once if it is stored by a second attempt', async () => {
    failures = 1;
    await Promise.all([writer.add(CALL), writer.add(CALL)]);
    expect(added.flat().map(({ call_count }) => call_count)).toEqual([1, 1]);
  });

  it('is also written for a call that ends just as the previous group is done', async () => {
    await writer.add(CALL);
    // synchronously, before any other task runs
    await writer.add(CALL);
    expect(added).toHaveLength(2);
  });
});
