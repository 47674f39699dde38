import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Environment } from '#platform/config';
import type { WorkspaceState } from './account-directory';

const MAX_ENTRIES = 10_000;

interface Entry {
  orgId: string;
  state: WorkspaceState;
  /** Milliseconds since 1970. */
  until: number;
}

/** Remembers workspaces that are there, for `AUTH_CACHE_SECONDS` or until one of their organization changes. */
@Injectable()
export class WorkspaceCache {
  private readonly entries = new LRUCache<string, Entry>({ max: MAX_ENTRIES });
  private readonly lifetimeMs: number;
  /** Raised by every `forget`: what was read before one must not be remembered after it. */
  private epoch = 0;

  constructor({ AUTH_CACHE_SECONDS }: Environment) {
    this.lifetimeMs = AUTH_CACHE_SECONDS * 1000;
  }

  /** The state of a workspace: remembered, or found out by `read`. Null where there is no such workspace. */
  async find(
    orgId: string,
    workspaceId: string,
    read: () => Promise<WorkspaceState | null>,
  ): Promise<WorkspaceState | null> {
    const place = `${orgId} ${workspaceId}`;
    const known = this.entries.get(place);
    if (known && known.until > Date.now()) return known.state;
    const { epoch } = this;
    const state = await read();
    if (state && epoch === this.epoch && this.lifetimeMs > 0) {
      this.entries.set(place, { orgId, state, until: Date.now() + this.lifetimeMs });
    }
    return state;
  }

  forget(orgId: string): void {
    this.epoch += 1;
    for (const [place, entry] of this.entries) if (entry.orgId === orgId) this.entries.delete(place);
  }

  clear(): void {
    this.epoch += 1;
    this.entries.clear();
  }
}
