import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Scope } from '#platform/auth';
import { ComputingTurns } from './computing-turns';
import type { PreparedComparison } from './prepared-comparison';

const MEMORY_MAX = 64 * 1024 * 1024;
/** What a result takes besides its scores: its id, its key and where it belongs. */
const RESULT_BYTES = 300;
/** What a scorer takes for each case besides its scores: their difference. */
const DIFFERENCE_BYTES = 8;

/**
 * Keeps comparisons of frozen experiments, whose results never change, so that the pages after the first cost no more
 * than their results. Of the same comparison asked for at once, one is worked out.
 */
@Injectable()
export class ComparisonCache {
  private readonly kept = new LRUCache<string, PreparedComparison>({
    maxSize: MEMORY_MAX,
    sizeCalculation: sizeOf,
  });
  private readonly underWay = new Map<string, Promise<PreparedComparison>>();

  constructor(private readonly turns: ComputingTurns) {}

  /** @param isFrozen both experiments are: what is worked out stays true. */
  async get(
    scope: Scope,
    experimentIds: readonly string[],
    isFrozen: boolean,
    work: () => Promise<PreparedComparison>,
  ): Promise<PreparedComparison> {
    if (!isFrozen) return this.turns.take(scope.workspaceId, work);
    const key = [scope.workspaceId, ...experimentIds].join(' ');
    const kept = this.kept.get(key);
    if (kept) return kept;
    let promise = this.underWay.get(key);
    if (!promise) {
      promise = this.turns.take(scope.workspaceId, work).finally(() => this.underWay.delete(key));
      this.underWay.set(key, promise);
    }
    const found = await promise;
    this.kept.set(key, found);
    return found;
  }
}

function sizeOf({ cases, scorers }: PreparedComparison): number {
  const { candidate, baseline } = cases;
  const results = candidate.scored.resultIds.length + baseline.scored.resultIds.length;
  const scores = candidate.scored.scoreBytes + baseline.scored.scoreBytes;
  return 1 + results * RESULT_BYTES + scores + cases.keys.length * scorers.length * DIFFERENCE_BYTES;
}
