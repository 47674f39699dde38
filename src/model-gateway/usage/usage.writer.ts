import { Injectable } from '@nestjs/common';
import { retry } from '#platform/concurrency';
import { rootLogger } from '#platform/logging';
import { SpendRepository, type SpendRow } from '../budgets/spend.repository';
import type { Usage } from '../formats/usage';
import { USAGE_COUNTS, UsageRepository, type UsageRow } from './usage.repository';

/** Maximum calls per statement. */
const BATCH_MAX = 1_000;
/** Attempts to write a group. After that, its calls are only logged. */
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

interface PendingCall {
  call: UsedCall;
  at: Date;
  resolve: () => void;
}

/**
 * Adds calls to the usage in groups: while one group is written, the next one collects. A call is acknowledged once it is committed.
 * If the connection breaks during a commit, the group may be counted twice, because not counting it would be worse.
 */
@Injectable()
export class UsageWriter {
  private pending: PendingCall[] = [];
  private isWriting = false;

  constructor(
    private readonly repository: UsageRepository,
    private readonly spent: SpendRepository,
  ) {}

  /**
   * Adds a call. Resolves when it is committed. Also resolves if all attempts failed, because the client must still get an answer
   * that was paid for. The call is then in the log.
   */
  add(call: UsedCall): Promise<void> {
    return new Promise((resolve) => {
      this.pending.push({ call, at: new Date(), resolve });
      if (!this.isWriting) void this.write();
    });
  }

  /** Writes until no call is pending. Never rejects. */
  private async write(): Promise<void> {
    this.isWriting = true;
    // calls that end in the same turn of the event loop are one group
    await Promise.resolve();
    while (this.pending.length > 0) {
      const group = this.pending.splice(0, BATCH_MAX);
      try {
        await retry(() => this.store(group), { attempts: ATTEMPTS });
      } catch (err) {
        rootLogger.error(
          { err, calls: group.map(({ call }) => call) },
          'the usage of model calls could not be stored',
        );
      }
      group.forEach(({ resolve }) => resolve());
    }
    // in the same turn of the event loop as the last check of `pending`, so that no call is missed
    this.isWriting = false;
  }

  private async store(group: readonly PendingCall[]): Promise<void> {
    const usage = new Map<string, UsageRow>();
    const spending = new Map<string, SpendRow>();
    for (const { call, at } of group) {
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
