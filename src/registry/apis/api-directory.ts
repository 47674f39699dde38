import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { SingleFlight } from '#platform/concurrency';
import { SecretBox } from '#platform/secrets';
import { parsedHeaders } from '../../resources';
import { secretUse } from './api-auth';
import type { ApiEntity } from './api.entity';
import { ApiRepository } from './api.repository';

/** Entries of the cache. An API takes a few KiB, and at most about 150 KiB. */
const MAX_ENTRIES = 1_000;
/** The time for which other processes may use an API's state from before a change. */
const LIFETIME_MS = 1_000;

/** An API to call. It may be archived (`archived_at`). All callers share the object, so it must not be modified. */
export type ApiTarget = Readonly<
  Omit<ApiEntity, 'headers'> & {
    headers: Readonly<Record<string, string>>;
    /** `base_url`, parsed. */
    base: URL;
    is_workspace_archived: boolean;
  }
>;

/** Looks up registered APIs for calls. Caches existing APIs for at most 1 s. */
@Injectable()
export class ApiDirectory {
  private readonly targets = new LRUCache<string, ApiTarget>({ max: MAX_ENTRIES, ttl: LIFETIME_MS });
  private readonly loads = new SingleFlight<ApiTarget | null>();
  /** Incremented by each invalidation, so that a row read before an invalidation is not cached after it. */
  private epoch = 0;

  constructor(
    private readonly apis: ApiRepository,
    private readonly box: SecretBox,
  ) {}

  /** Returns an API of an organization, archived or not, without an access check. Returns null if it does not exist. */
  async find(orgId: string, apiId: string): Promise<ApiTarget | null> {
    return this.getCached(orgId, apiId) ?? this.load(orgId, apiId);
  }

  /** Returns an API synchronously if it is cached. */
  getCached(orgId: string, apiId: string): ApiTarget | undefined {
    const target = this.targets.get(apiId);
    return target?.org_id === orgId ? target : undefined;
  }

  private load(orgId: string, apiId: string): Promise<ApiTarget | null> {
    return this.loads.run(`${orgId} ${apiId}`, undefined, async () => {
      const { epoch } = this;
      const row = await this.apis.findTarget(orgId, apiId);
      if (row === null) return null;
      const target = { ...row, headers: parsedHeaders(row.headers), base: new URL(row.base_url) };
      if (epoch === this.epoch) this.targets.set(apiId, target);
      return target;
    });
  }

  /** Removes a changed API from the cache. Later calls of `find` read it again. */
  invalidate(apiId: string): void {
    this.epoch += 1;
    this.loads.clear();
    this.targets.delete(apiId);
  }

  /**
   * Returns the secret of an API, or null if it has none.
   *
   * @throws SealedSecretError if it was sealed under another `SECRETS_KEY` or for another API
   */
  secretOf({ api_id, auth_secret }: Pick<ApiTarget, 'api_id' | 'auth_secret'>): string | null {
    return auth_secret === null ? null : this.box.open(auth_secret, secretUse(api_id));
  }
}
