import { Injectable } from '@nestjs/common';
import { LoadingCache } from '#platform/concurrency';
import { SecretBox } from '#platform/secrets';
import { parsedHeaders } from '../../resources';
import { API_SECRET } from './api-auth';
import type { ApiEntity } from './api.entity';
import { ApiRepository } from './api.repository';

/** An API to call. It may be archived (`archived_at`). All callers share the object, so it must not be modified. */
export type ApiTarget = Readonly<
  Omit<ApiEntity, 'headers'> & {
    headers: Readonly<Record<string, string>>;
    /** `base_url`, parsed. */
    base: URL;
    is_workspace_archived: boolean;
  }
>;

/** Looks up registered APIs for calls. Caches existing APIs for at most 1 s. Each takes a few KiB, and at most about 150 KiB. */
@Injectable()
export class ApiDirectory {
  private readonly targets = new LoadingCache<ApiTarget | null>({
    lifetimeMs: (target) => (target ? 1_000 : 0),
  });

  constructor(
    private readonly apis: ApiRepository,
    private readonly box: SecretBox,
  ) {}

  /**
   * Returns an API of an organization, archived or not, without an access check, and at once if it is cached. Returns null if
   * it does not exist.
   */
  find(orgId: string, apiId: string): ApiTarget | Promise<ApiTarget | null> {
    const key = keyOf(orgId, apiId);
    const read = async (): Promise<ApiTarget | null> => {
      const row = await this.apis.findTarget(orgId, apiId);
      return row && { ...row, headers: parsedHeaders(row.headers), base: new URL(row.base_url) };
    };
    return this.targets.getCached(key) ?? this.targets.find(key, read);
  }

  /** Removes a changed API from the cache. Later calls of `find` read it again. */
  invalidate(orgId: string, apiId: string): void {
    this.targets.invalidate(keyOf(orgId, apiId));
  }

  /**
   * Returns the secret of an API, or null if it has none.
   *
   */
  secretOf({ api_id, auth_secret }: Pick<ApiTarget, 'api_id' | 'auth_secret'>): string | null {
    return auth_secret === null ? null : this.box.open(auth_secret, API_SECRET.of(api_id));
  }
}

const keyOf = (orgId: string, apiId: string): string => `${orgId} ${apiId}`;
