import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { toJsonText } from '#platform/json';

/** Twice as many as an app may declare, so that none of one sweep is forgotten before its end; some MiB. */
const KNOWN_MAX = 20_000;

/**
 * What declarations without a fault come to: the source digests of their skills, by the SHA-256 of name and spec. To
 * write and read a SKILL.md takes some hundred times as long as that, and most of what sweeps see has not changed.
 */
export class DeclaredDigests {
  private readonly known = new LRUCache<string, string>({ max: KNOWN_MAX });

  get(name: string, spec: object): string | undefined {
    return this.known.get(keyOf(name, spec));
  }

  set(name: string, spec: object, digest: string): void {
    this.known.set(keyOf(name, spec), digest);
  }
}

const keyOf = (name: string, spec: object): string =>
  createHash('sha256')
    .update(toJsonText([name, spec]))
    .digest('base64');
