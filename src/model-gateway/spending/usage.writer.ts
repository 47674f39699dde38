import { Injectable } from '@nestjs/common';
import { retry } from '#platform/concurrency';
import { rootLogger } from '#platform/logging';
import { SpentCache } from './spent.cache';
import { type SpendRow, type UsageRow, UsageWriteRepository } from './usage-write.repository';
import { USAGE_COUNTS, type UsageCounts, type UsedCall } from './usage.types';

/** Maximum calls per statement. */
const BATCH_MAX = 1_000;
/** Attempts to write a group. After that, its calls are only logged. */
const ATTEMPTS = 5;

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
    private readonly repository: UsageWriteRepository,
    private readonly spent: SpentCache,
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
  ...countsOf(call),
});

const countsOf = ({ usage, costUsd, isFailed, isCached }: UsedCall): UsageCounts => ({
  call_count: 1,
  failed_count: isFailed ? 1 : 0,
  cached_count: isCached ? 1 : 0,
  unpriced_count: costUsd === null ? 1 : 0,
  input_tokens: usage.inputTokens ?? 0,
  output_tokens: usage.outputTokens ?? 0,
  cached_input_tokens: usage.cachedInputTokens ?? 0,
  cache_write_tokens: usage.cacheWriteTokens ?? 0,
  cost_usd: costUsd ?? 0,
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
