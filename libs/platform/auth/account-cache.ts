import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { LoadingCache } from '#platform/concurrency';
import { Environment } from '#platform/config';
import type { Principal } from '#platform/scope';
import type { WorkspaceState } from './account-directory';

/** Maximum number of entries of each kind. A principal with a few memberships takes about 1 KiB. */
const MAX_ENTRIES = 10_000;

/**
 * Caches principals and workspaces for at most `AUTH_CACHE_SECONDS`, and only those that exist. Principals are keyed by
 * the SHA-256 hash of their token or API key, and expire with it.
 */
@Injectable()
export class AccountCache {
  private readonly principals: LoadingCache<Principal>;
  private readonly workspaces: LoadingCache<WorkspaceState | null>;
  private readonly lifetimeMs: number;

  constructor({ AUTH_CACHE_SECONDS }: Environment) {
    this.lifetimeMs = AUTH_CACHE_SECONDS * 1000;
    this.principals = new LoadingCache({
      max: MAX_ENTRIES,
      weightOf: ({ allow }) => (allow ? 1 + Math.ceil(JSON.stringify(allow).length / 1024) : 1),
      lifetimeMs: ({ credential: { expiresAt } }) =>
        Math.min(this.lifetimeMs, (expiresAt?.getTime() ?? Infinity) - Date.now()),
    });
    this.workspaces = new LoadingCache({
      max: MAX_ENTRIES,
      lifetimeMs: (workspace) => (workspace ? this.lifetimeMs : 0),
    });
  }

  /** Returns the cached principal of a credential. */
  getPrincipal(credential: string): Principal | undefined {
    return this.principals.getCached(keyOf(credential));
  }

  /** Returns the principal of a credential. If it is not cached, calls `verify` and caches the result. */
  findPrincipal(credential: string, verify: () => Promise<Principal>): Promise<Principal> {
    return this.lifetimeMs === 0 ? verify() : this.principals.find(keyOf(credential), verify);
  }

  /** Returns the state of a workspace, from the cache or from `read`. Null if the workspace does not exist. */
  findWorkspace(
    orgId: string,
    workspaceId: string,
    read: () => Promise<WorkspaceState | null>,
  ): WorkspaceState | Promise<WorkspaceState | null> {
    if (this.lifetimeMs === 0) return read();
    const key = `${orgId} ${workspaceId}`;
    return this.workspaces.getCached(key) ?? this.workspaces.find(key, read);
  }

  /**
   * Drops all entries of an organization, because its accounts or workspaces have changed.
   *
   * @param orgId empty for platform principals
   */
  invalidate(orgId: string): void {
    this.principals.invalidateAll((_, principal) => (principal.orgId ?? '') === orgId);
    this.workspaces.invalidateAll((key) => key.startsWith(`${orgId} `));
  }

  /** Drops all entries. */
  clear(): void {
    this.principals.invalidateAll();
    this.workspaces.invalidateAll();
  }
}

let last = { credential: '', key: '' };

/** Remembers the last key, because a request looks up its principal more than once and hashing costs more than that. */
function keyOf(credential: string): string {
  if (last.credential !== credential) last = { credential, key: hash('sha256', credential, 'base64') };
  return last.key;
}
