import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { SingleFlight } from '#platform/concurrency';
import { Environment } from '#platform/config';
import type { Principal } from '#platform/scope';

/** About 1 KiB each: a principal with a few memberships. */
const MAX_ENTRIES = 10_000;

interface Entry {
  principal: Principal;
  /** Milliseconds since 1970. */
  until: number;
}

/**
 * Remembers, by SHA-256 hash of the token or key, what it was verified to be: until it expires, for
 * `AUTH_CACHE_SECONDS` at most, and only successes. Concurrent first verifications of one token are one.
 */
@Injectable()
export class PrincipalCache {
  private readonly entries = new LRUCache<string, Entry>({ max: MAX_ENTRIES });
  private readonly verifications = new SingleFlight<Principal>();
  private readonly lifetimeMs: number;
  /** Raised by every `forget`: what was read before one must not be remembered after it. */
  private epoch = 0;

  constructor({ AUTH_CACHE_SECONDS }: Environment) {
    this.lifetimeMs = AUTH_CACHE_SECONDS * 1000;
  }

  /** What is remembered of a token. */
  recall(token: string): Principal | undefined {
    return this.known(keyOf(token));
  }

  /** What a token amounts to: remembered, or found out by `verify`. */
  async find(token: string, verify: () => Promise<Principal>): Promise<Principal> {
    const key = keyOf(token);
    return this.known(key) ?? this.verifications.run(key, undefined, () => this.verifyAndKeep(key, verify));
  }

  /**
   * Drops what is remembered of an organization, because something about its accounts has changed.
   * @param orgId empty for platform principals.
   */
  forget(orgId: string): void {
    this.forgetWhere((principal) => (principal.orgId ?? '') === orgId);
  }

  /** Drops everything. */
  clear(): void {
    this.forgetWhere(() => true);
  }

  private known(key: string): Principal | undefined {
    const entry = this.entries.get(key);
    if (!entry || entry.until > Date.now()) return entry?.principal;
    this.entries.delete(key);
    return undefined;
  }

  private forgetWhere(applies: (principal: Principal) => boolean): void {
    this.epoch += 1;
    this.verifications.clear();
    for (const [key, { principal }] of this.entries) if (applies(principal)) this.entries.delete(key);
  }

  private async verifyAndKeep(key: string, verify: () => Promise<Principal>): Promise<Principal> {
    const { epoch } = this;
    const principal = await verify();
    const now = Date.now();
    const until = Math.min(now + this.lifetimeMs, principal.credential.expiresAt?.getTime() ?? Infinity);
    if (epoch === this.epoch && until > now) this.entries.set(key, { principal, until });
    return principal;
  }
}

const keyOf = (token: string): string => hash('sha256', token, 'base64');
