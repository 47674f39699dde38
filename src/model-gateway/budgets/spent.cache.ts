import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { firstDayOf, SpendRepository, type SpendRow } from './spend.repository';

/** How long this process may miss the spending of other processes. */
const LIFETIME_MS = 1_000;
const SUBJECTS_MAX = 10_000;

/** Caches the spending of subjects with a budget this month, and reserves the cost of their calls in flight. */
@Injectable()
export class SpentCache {
  private readonly spent = new LRUCache<string, number>({ max: SUBJECTS_MAX, ttl: LIFETIME_MS });
  private readonly reserved = new Map<string, Reserved>();

  constructor(private readonly repository: SpendRepository) {}

  /** Returns the US dollars that each subject has spent this month (UTC). */
  async of(subjects: readonly string[]): Promise<Map<string, number>> {
    const month = firstDayOf(new Date());
    const spent = new Map(subjects.map((subject) => [subject, this.spent.get(key(subject, month))]));
    const unknown = subjects.filter((subject) => spent.get(subject) === undefined);
    if (unknown.length > 0) {
      const rows = await this.repository.spent(unknown, month);
      const stored = new Map(rows.map(({ subject, spent_usd }) => [subject, spent_usd]));
      for (const subject of unknown) {
        // a call may have been recorded since the rows were read
        const cached = this.spent.get(key(subject, month)) ?? 0;
        const usd = Math.max(stored.get(subject) ?? 0, cached);
        this.spent.set(key(subject, month), usd);
        spent.set(subject, usd);
      }
    }
    return new Map(subjects.map((subject) => [subject, spent.get(subject) ?? 0]));
  }

  /** Returns the US dollars that are reserved for the calls of a subject in flight. */
  reservedBy(subject: string): number {
    return this.reserved.get(subject)?.usd ?? 0;
  }

  /** Reserves the likely cost of a call. Returns a function that releases it. Further calls of the function have no effect. */
  reserve(subjects: readonly string[], costUsd: number): () => void {
    for (const subject of subjects) {
      const { usd, calls } = this.reserved.get(subject) ?? NOTHING_RESERVED;
      this.reserved.set(subject, { usd: usd + costUsd, calls: calls + 1 });
    }
    let reserved = subjects;
    return () => {
      for (const subject of reserved) this.release(subject, costUsd);
      reserved = [];
    };
  }

  private release(subject: string, costUsd: number): void {
    const { usd, calls } = this.reserved.get(subject)!;
    // the last call also removes rounding errors
    if (calls === 1) this.reserved.delete(subject);
    else this.reserved.set(subject, { usd: usd - costUsd, calls: calls - 1 });
  }

  /** Updates the cache with rows from the database. */
  update(rows: readonly SpendRow[]): void {
    for (const { subject, month, spent_usd } of rows) this.spent.set(key(subject, month), spent_usd);
  }
}

/** The reservation for a subject's calls in flight. */
interface Reserved {
  usd: number;
  calls: number;
}

const NOTHING_RESERVED: Reserved = { usd: 0, calls: 0 };

const key = (subject: string, month: string): string => `${subject} ${month}`;
