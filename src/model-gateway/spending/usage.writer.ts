import { Injectable } from '@nestjs/common';
import { retry } from '#platform/concurrency';
import { rootLogger } from '#platform/logging';
import { SpentCache } from './spent.cache';
import { type SpendRow, type UsageRow, UsageWriteRepository } from './usage-write.repository';
import { USAGE_COUNTS, type UsageCounts, type UsedCall } from './usage.types';

/** Calls that one statement adds. */
const BATCH_MAX = 1_000;
/** How often a group is written before its calls are only logged. */
const ATTEMPTS = 5;

interface Waiting {
  call: UsedCall;
  at: Date;
  resolve: () => void;
}

/**
 * Adds calls to the usage in groups: while one group is written, the next one gathers. A call is acknowledged once it is committed.
 * If the connection breaks during a commit, the group may be counted twice, because not to count it would be worse.
 */
@Injectable()
export class UsageWriter {
  private waiting: Waiting[] = [];
  private isWriting = false;

  constructor(
    private readonly repository: UsageWriteRepository,
    private readonly spent: SpentCache,
  ) {}

  /**
   * Adds a call. Resolves when it is committed, or when the database has refused it several times: an answer that was paid for is
   * not withheld. The log then has the call.
   */
  add(call: UsedCall): Promise<void> {
    return new Promise((resolve) => {
      this.waiting.push({ call, at: new Date(), resolve });
      if (!this.isWriting) void this.write();
    });
  }

  /** Writes until nothing waits. Never rejects. */
  private async write(): Promise<void> {
    this.isWriting = true;
    // calls that end in the same turn of the event loop are one group
    await Promise.resolve();
    while (this.waiting.length > 0) {
      const group = this.waiting.splice(0, BATCH_MAX);
      try {
        await retry(() => this.store(group), { attempts: ATTEMPTS });
      } catch (err) {
        rootLogger.error(
          { err, calls: group.map(({ call }) => call) },
          'the usage of models could not be stored',
        );
      }
      group.forEach(({ resolve }) => resolve());
    }
    // in the same turn as the last look at what waits, so that no call is forgotten
    this.isWriting = false;
  }

  private async store(group: readonly Waiting[]): Promise<void> {
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
      const known = usage.get(key);
      if (known) for (const count of USAGE_COUNTS) known[count] += row[count];
      else usage.set(key, row);
      addSpending(spending, call, `${day.slice(0, 7)}-01`);
    }
    this.spent.learn(await this.repository.add([...usage.values()], [...spending.values()]));
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

/** A cost counts for the model, the workspace and the account, whichever of them has a budget now or later. */
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
