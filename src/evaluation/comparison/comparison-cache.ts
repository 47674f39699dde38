import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Scope } from '#platform/auth';
import type { PreparedComparison } from './prepared-comparison';
import { SharedWork } from './shared-work';

const MEMORY_MAX = 64 * 1024 * 1024;

/** Prepares a comparison, or takes the one that is kept, with its statistics where they are asked for. */
export type PrepareWork = (
  kept: () => PreparedComparison | undefined,
  signal: AbortSignal,
) => Promise<PreparedComparison>;

/**
 * Keeps comparisons of frozen experiments, whose results never change, so that the pages after the first cost no more
 * than their results. Of the same comparison asked for at once, one is worked out.
 */
@Injectable()
export class ComparisonCache {
  private readonly kept = new LRUCache<string, PreparedComparison>({
    maxSize: MEMORY_MAX,
    sizeCalculation: (prepared) => 1 + prepared.heldBytes,
  });
  private readonly underWay = new SharedWork<PreparedComparison>();

  /**
   * The comparison of frozen experiments: kept, or from now on.
   *
   * @param withStatistics whether they are to be `known`
   * @param work is done for all who ask for the same meanwhile, and ends by its signal when all of them are gone. It is
   *   told what is kept when it begins in earnest, after its turn has come.
   * @throws the reason of `signal`, at once; else what `work` does
   */
  async of(
    scope: Scope,
    experimentIds: readonly string[],
    withStatistics: boolean,
    signal: AbortSignal,
    work: PrepareWork,
  ): Promise<PreparedComparison> {
    const key = [scope.workspaceId, ...experimentIds].join(' ');
    const kept = this.kept.get(key);
    if (kept && (kept.known || !withStatistics)) return kept;
    return this.underWay.get(`${withStatistics} ${key}`, signal, async (ending) => {
      const prepared = await work(() => this.kept.get(key), ending);
      // one with statistics is not replaced by one that may lack them
      if (!this.kept.peek(key)?.known) this.kept.set(key, prepared);
      return prepared;
    });
  }

  /** Bytes that are accounted for. */
  get size(): number {
    return this.kept.calculatedSize;
  }
}
