import { Injectable } from '@nestjs/common';
import { LoadingCache } from '#platform/concurrency';
import { KeyLimitsRepository, type KeyLimitsRow } from './key-limits.repository';

/** The limits of a gateway key. All callers share the object, so it must not be modified. */
export type KeyLimits = Readonly<Omit<KeyLimitsRow, 'model_ids'>> & {
  /** The models that the key may call and see. Null means all models of the workspace. */
  readonly model_ids: ReadonlySet<string> | null;
};

/** Looks up the limits of service accounts that are gateway keys. Caches them, or their absence, for at most 1 s. */
@Injectable()
export class KeyDirectory {
  private readonly cache = new LoadingCache<KeyLimits | null>();

  constructor(private readonly keys: KeyLimitsRepository) {}

  /** Returns the limits of a gateway key, or null for any other principal. */
  find(serviceAccountId: string): Promise<KeyLimits | null> {
    return this.cache.find(serviceAccountId, async () => {
      const row = await this.keys.find(serviceAccountId);
      return row && { ...row, model_ids: row.model_ids && new Set(row.model_ids) };
    });
  }

  /** Returns the same as `find` synchronously, or undefined if it is not cached. */
  getCached(serviceAccountId: string): KeyLimits | null | undefined {
    return this.cache.getCached(serviceAccountId);
  }

  /** Removes the changed limits of a service account from the cache. */
  invalidate(serviceAccountId: string): void {
    this.cache.invalidate(serviceAccountId);
  }
}
