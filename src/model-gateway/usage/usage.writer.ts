import { Injectable } from '@nestjs/common';
import { Batcher, retry } from '#platform/concurrency';
import { rootLogger } from '#platform/logging';
import { SpendRepository, type SpendRow } from '../budgets/spend.repository';
import type { Usage } from '../formats/usage';
import { USAGE_COUNTS, UsageRepository, type UsageRow } from './usage.repository';

/** Maximum calls per statement. */
const BATCH_MAX = 1_000;
/** Attempts to write a batch. After that, its calls are only logged. */
const ATTEMPTS = 5;

/** One call to add to the usage. */
export interface UsedCall {
  orgId: string;
  workspaceId: string;
  principalId: string;
  /** The principal if it is a service account, which may have a budget. */
  serviceAccountId: string | null;
  modelId: string;
  /** Empty for an answer from the cache, and for a call that reached no provider. */
  providerId: string;
  upstreamModel: string;
  usage: Usage;
  /** Null if the price is unknown. */
  costUsd: number | null;
  isFailed: boolean;
  isCached: boolean;
}

interface EndedCall {
  call: UsedCall;
  at: Date;
}

/**
 * Adds calls to the usage in batches. If the connection breaks during a commit, the batch may be counted twice, because not
 * counting it would be worse.
 */
@Injectable()
export class UsageWriter {
  private readonly batches = new Batcher<EndedCall, void>({
    run: (calls) => this.write(calls),
    max: BATCH_MAX,
    isSequential: true,
  });

  constructor(
    private readonly repository: UsageRepository,
    private readonly spent: SpendRepository,
  ) {}

  /**
   * Adds a call. Resolves when it is committed. Also resolves if all attempts failed, because the client must still get an answer
   * that was paid for. The call is then in the log.
   */
  add(call: UsedCall): Promise<void> {
    return this.batches.add([], { call, at: new Date() });
  }

  private async write(calls: readonly EndedCall[]): Promise<void[]> {
    await retry(() => this.store(calls), { attempts: ATTEMPTS }).catch((err: unknown) =>
      rootLogger.error(
        { err, calls: calls.map(({ call }) => call) },
        'the usage of model calls could not be stored',
      ),
    );
    return [];
  }

  private async store(calls: readonly EndedCall[]): Promise<void> {
    const usage = new Map<string, UsageRow>();
    const spending = new Map<string, SpendRow>();
    for (const { call, at } of calls) {
      const day = at.toISOString().slice(0, 10);
      const row = rowOf(call, day);
      const key = JSON.stringify([
        row.workspace_id,
        day,
        row.model_id,
        row.principal_id,
        row.provider_id,
        row.upstream_model,
      ]);
      const existing = usage.get(key);
      if (existing) for (const count of USAGE_COUNTS) existing[count] += row[count];
      else usage.set(key, row);
      addSpending(spending, call, `${day.slice(0, 7)}-01`);
    }
    this.spent.update(await this.repository.add([...usage.values()], [...spending.values()]));
  }
}

const rowOf = (call: UsedCall, day: string): UsageRow => ({
  workspace_id: call.workspaceId,
  day,
  model_id: call.modelId,
  principal_id: call.principalId,
  provider_id: call.providerId,
  upstream_model: call.upstreamModel,
  org_id: call.orgId,
  call_count: 1,
  failed_count: call.isFailed ? 1 : 0,
  cached_count: call.isCached ? 1 : 0,
  unpriced_count: call.costUsd === null ? 1 : 0,
  input_tokens: call.usage.inputTokens ?? 0,
  output_tokens: call.usage.outputTokens ?? 0,
  cached_input_tokens: call.usage.cachedInputTokens ?? 0,
  cache_write_tokens: call.usage.cacheWriteTokens ?? 0,
  cost_usd: call.costUsd ?? 0,
});

/** Adds a cost to the model, the workspace and the account, because each may get a budget later. */
function addSpending(spending: Map<string, SpendRow>, call: UsedCall, month: string): void {
  if (!call.costUsd) return;
  for (const subject of [call.modelId, call.workspaceId, call.serviceAccountId]) {
    if (subject === null) continue;
    const key = `${subject} ${month}`;
    const row = spending.get(key) ?? { subject, month, spent_usd: 0 };
    row.spent_usd += call.costUsd;
    spending.set(key, row);
  }
}
