import { Injectable } from '@nestjs/common';
import { BriefCache } from '#platform/concurrency';
import { KeyLimitsRepository, type KeyLimitsRow } from './key-limits.repository';

/** What a gateway key may do. Shared by all callers, so it must not be changed. */
export type KeyLimits = Readonly<Omit<KeyLimitsRow, 'model_ids'>> & {
  /** The models that it may call and see. Null for all models of the workspace. */
  readonly model_ids: ReadonlySet<string> | null;
};

/** Finds the limits of service accounts that were made for the gateway. Caches each, and that there are none, for at most 1 s. */
@Injectable()
export class KeyDirectory {
  private readonly cache = new BriefCache<KeyLimits | null>();

  constructor(private readonly keys: KeyLimitsRepository) {}

  /** Returns the limits of a service account. Null for every other principal. */
  find(serviceAccountId: string): Promise<KeyLimits | null> {
    return this.cache.find(serviceAccountId, async () => {
      const row = await this.keys.find(serviceAccountId);
      return row && { ...row, model_ids: row.model_ids && new Set(row.model_ids) };
    });
  }

  /** Returns the same as `find`, at once, if it is cached. Undefined if it is not. */
  cached(serviceAccountId: string): KeyLimits | null | undefined {
    return this.cache.cached(serviceAccountId);
  }

  /** Drops the limits of a service account, because they have changed. */
  invalidate(serviceAccountId: string): void {
    this.cache.invalidate(serviceAccountId);
  }
}
