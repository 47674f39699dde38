import { Injectable } from '@nestjs/common';
import { Batcher, FairLimiter, retry } from '#platform/concurrency';
import { rootLogger } from '#platform/logging';
import { type AddedSpending, SpendRepository } from '../budgets/spend.repository';
import { USAGE_COUNTS, USAGE_KEY, UsageRepository, type UsageRow } from './usage.repository';

/** Maximum calls per statement. */
const BATCH_MAX = 1_000;
/** Attempts to write a batch. After that, its calls are only logged. */
const ATTEMPTS = 5;

/** A call that has ended, with its usage as a row. */
export interface UsedCall {
  row: UsageRow;
  /** The attempts at other targets than that of the row. */
  others: readonly UsageRow[];
  /** The principal if it is a service account, which may have a budget. */
  serviceAccountId: string | null;
}

/**
 * Adds calls to the usage in batches. If the connection breaks during a commit, the batch may be counted twice, because not
 * counting it would be worse.
 */
@Injectable()
export class UsageWriter {
  private readonly batches = new Batcher<UsedCall, void>({
    run: (calls) => this.write(calls),
    max: BATCH_MAX,
    shared: { limiter: new FairLimiter({ concurrency: 1 }), owner: 'model usage' },
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
    return this.batches.add([call.row.org_id], call);
  }

  private async write(calls: readonly UsedCall[]): Promise<void[]> {
    await retry(() => this.store(calls), { attempts: ATTEMPTS }).catch((err: unknown) =>
      rootLogger.error({ err, calls }, 'the usage of model calls could not be stored'),
    );
    return [];
  }

  private async store(calls: readonly UsedCall[]): Promise<void> {
    const usage = new Map<string, UsageRow>();
    const spending = new Map<string, AddedSpending>();
    for (const call of calls) {
      addUsage(usage, call.row);
      for (const row of call.others) addUsage(usage, row);
      addSpending(spending, call);
    }
    this.spent.update(await this.repository.add([...usage.values()], [...spending.values()]));
  }
}

function addUsage(usage: Map<string, UsageRow>, row: UsageRow): void {
  const key = JSON.stringify(USAGE_KEY.map((column) => row[column]));
  const sum = usage.get(key);
  if (sum) for (const count of USAGE_COUNTS) sum[count] += row[count];
  else usage.set(key, { ...row });
}

/** Adds a cost to the model, the workspace and the account, because each may get a budget later. */
function addSpending(spending: Map<string, AddedSpending>, { row, serviceAccountId }: UsedCall): void {
  if (row.cost_usd === 0) return;
  const month = `${row.day.slice(0, 7)}-01`;
  const { org_id, workspace_id } = row;
  for (const subject of [row.model_id, workspace_id, serviceAccountId]) {
    if (subject === null) continue;
    const key = `${subject} ${month}`;
    const place = { org_id, workspace_id: subject === serviceAccountId ? null : workspace_id };
    const spent = spending.get(key) ?? { subject, month, spent_usd: 0, ...place };
    spent.spent_usd += row.cost_usd;
    spending.set(key, spent);
  }
}
