import type { Database } from '#platform/db';
import { SpendRepository } from '../budgets/spend.repository';
import type { UsageRepository, UsageRow } from './usage.repository';
import { type UsedCall, UsageWriter } from './usage.writer';

const CALL: UsedCall = {
  orgId: 'org_1',
  workspaceId: 'wsp_1',
  principalId: 'user',
  serviceAccountId: null,
  modelId: 'model_1',
  providerId: 'prov_1',
  upstreamModel: 'u',
  usage: { inputTokens: 1, outputTokens: 2, cachedInputTokens: null, cacheWriteTokens: null },
  costUsd: 1,
  isFailed: false,
  isCached: false,
};

describe('usage', () => {
  const added: UsageRow[][] = [];
  const repository = {
    add: (usage: UsageRow[]) => {
      added.push(usage);
      return Promise.resolve([]);
    },
  } as unknown as UsageRepository;
  let writer: UsageWriter;

  beforeEach(() => {
    added.length = 0;
    writer = new UsageWriter(repository, new SpendRepository({} as Database));
  });

  it('becomes one row for calls that end together', async () => {
    await Promise.all([writer.add(CALL), writer.add(CALL), writer.add({ ...CALL, isFailed: true })]);
    expect(added).toEqual([[expect.objectContaining({ call_count: 3, failed_count: 1, cost_usd: 3 })]]);
  });

  it('is also written for a call that ends just as the previous group is done', async () => {
    await writer.add(CALL);
    // synchronously, before any other task runs
    await writer.add(CALL);
    expect(added).toHaveLength(2);
  });
});
