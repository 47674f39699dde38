import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Scope } from '#platform/auth';
import type { Pace } from '../statistics/pace';
import type { ComparedScorer, PreparedComparison } from './prepared-comparison';
import { SharedWork } from './shared-work';

const MEMORY_MAX = 64 * 1024 * 1024;

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
  private readonly preparing = new SharedWork<PreparedComparison>();
  private readonly comparing = new SharedWork<readonly ComparedScorer[]>();

  /** What is kept of a comparison of frozen experiments. */
  find(scope: Scope, experimentIds: readonly string[]): PreparedComparison | undefined {
    return this.kept.get(keyOf(scope, experimentIds));
  }

  /** The comparison of frozen experiments: kept, or from now on. */
  async prepare(
    scope: Scope,
    experimentIds: readonly string[],
    work: () => Promise<PreparedComparison>,
  ): Promise<PreparedComparison> {
    const key = keyOf(scope, experimentIds);
    return (
      this.kept.get(key) ??
      this.preparing.get(key, async () => {
        const prepared = await work();
        this.kept.set(key, prepared);
        return prepared;
      })
    );
  }

  /** The statistics of one that is kept. */
  async compare(
    scope: Scope,
    experimentIds: readonly string[],
    prepared: PreparedComparison,
    pace: Pace,
  ): Promise<readonly ComparedScorer[]> {
    return prepared.known ?? this.comparing.get(keyOf(scope, experimentIds), () => prepared.compare(pace));
  }

  /** Bytes that are accounted for. */
  get size(): number {
    return this.kept.calculatedSize;
  }
}

const keyOf = (scope: Scope, experimentIds: readonly string[]): string =>
  [scope.workspaceId, ...experimentIds].join(' ');
