import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { SingleFlight } from '#platform/concurrency';
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
  private readonly principals: OrgCache<Principal>;
  private readonly workspaces: OrgCache<WorkspaceState>;

  constructor({ AUTH_CACHE_SECONDS }: Environment) {
    this.principals = new OrgCache(AUTH_CACHE_SECONDS * 1000);
    this.workspaces = new OrgCache(AUTH_CACHE_SECONDS * 1000);
  }

  /** Returns the cached principal of a credential. */
  getPrincipal(credential: string): Principal | undefined {
    return this.principals.get(keyOf(credential));
  }

  /** Returns the principal of a credential. If it is not cached, calls `verify` and caches the result. */
  async findPrincipal(credential: string, verify: () => Promise<Principal>): Promise<Principal> {
    const key = keyOf(credential);
    return (
      this.principals.get(key) ??
      this.principals.load(key, verify, (principal) => ({
        orgId: principal.orgId ?? '',
        expiresAt: principal.credential.expiresAt,
      }))
    );
  }

  /** Returns the cached state of a workspace. */
  getWorkspace(orgId: string, workspaceId: string): WorkspaceState | undefined {
    return this.workspaces.get(`${orgId} ${workspaceId}`);
  }

  /** Returns the state of a workspace, from the cache or from `read`. Null if the workspace does not exist. */
  async findWorkspace(
    orgId: string,
    workspaceId: string,
    read: () => Promise<WorkspaceState | null>,
  ): Promise<WorkspaceState | null> {
    const key = `${orgId} ${workspaceId}`;
    return this.workspaces.get(key) ?? this.workspaces.load(key, read, () => ({ orgId, expiresAt: null }));
  }

  /**
   * Drops all entries of an organization, because its accounts or workspaces have changed.
   *
   * @param orgId empty for platform principals
   */
  invalidate(orgId: string): void {
    this.principals.invalidate((entry) => entry.orgId === orgId);
    this.workspaces.invalidate((entry) => entry.orgId === orgId);
  }

  /** Drops all entries. */
  clear(): void {
    this.principals.invalidate(() => true);
    this.workspaces.invalidate(() => true);
  }
}

interface Entry<Value> {
  value: Value;
  orgId: string;
  /** Milliseconds since 1970. */
  until: number;
}

/** Caches values of organizations. Concurrent loads of the same key share one read. */
class OrgCache<Value extends object> {
  private readonly entries = new LRUCache<string, Entry<Value>>({ max: MAX_ENTRIES });
  private readonly loads = new SingleFlight<Value | null>();
  /** Incremented by each invalidation. A value read before an invalidation must not be cached after it. */
  private epoch = 0;

  constructor(private readonly lifetimeMs: number) {}

  get(key: string): Value | undefined {
    const entry = this.entries.get(key);
    if (!entry || entry.until > Date.now()) return entry?.value;
    this.entries.delete(key);
    return undefined;
  }

  /**
   * Loads a value, or joins the load in flight for this key. Null and errors are not cached. With a lifetime of 0, each
   * call reads.
   */
  load<Loaded extends Value | null>(
    key: string,
    read: () => Promise<Loaded>,
    describe: (value: Value) => { orgId: string; expiresAt: Date | null },
  ): Promise<Loaded> {
    if (this.lifetimeMs === 0) return read();
    const loading = this.loads.run(key, undefined, async () => {
      const { epoch } = this;
      const value = await read();
      if (value !== null && epoch === this.epoch) this.set(key, value, describe(value));
      return value;
    });
    return loading as Promise<Loaded>;
  }

  invalidate(applies: (entry: Entry<Value>) => boolean): void {
    this.epoch += 1;
    this.loads.clear();
    for (const [key, entry] of this.entries) if (applies(entry)) this.entries.delete(key);
  }

  private set(
    key: string,
    value: Value,
    { orgId, expiresAt }: { orgId: string; expiresAt: Date | null },
  ): void {
    const now = Date.now();
    const until = Math.min(now + this.lifetimeMs, expiresAt?.getTime() ?? Infinity);
    if (until > now) this.entries.set(key, { value, orgId, until });
  }
}

let last = { credential: '', key: '' };

/** Remembers the last key, because a request looks up its principal more than once and hashing costs more than that. */
function keyOf(credential: string): string {
  if (last.credential !== credential) last = { credential, key: hash('sha256', credential, 'base64') };
  return last.key;
}
