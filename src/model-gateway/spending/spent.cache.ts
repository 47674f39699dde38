import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { UsageWriteRepository } from './usage-write.repository';
import type { SpendRow } from './usage-write.repository';

/** How long this process may overlook what other processes spend. */
const LIFETIME_MS = 1_000;
const SUBJECTS_MAX = 10_000;

/** A month as the database has it. */
export const monthOf = (at: Date): string => `${at.toISOString().slice(0, 7)}-01`;

/** What subjects with a budget have spent this month, and what their calls in flight may still cost. */
@Injectable()
export class SpentCache {
  private readonly spent = new LRUCache<string, number>({ max: SUBJECTS_MAX, ttl: LIFETIME_MS });
  private readonly reserved = new Map<string, Reserved>();

  constructor(private readonly repository: UsageWriteRepository) {}

  /** Returns the US dollars that each subject has spent this month (UTC). */
  async of(subjects: readonly string[]): Promise<Map<string, number>> {
    const month = monthOf(new Date());
    const spent = new Map(subjects.map((subject) => [subject, this.spent.get(key(subject, month))]));
    const unknown = subjects.filter((subject) => spent.get(subject) === undefined);
    if (unknown.length > 0) {
      const read = await this.repository.spent(unknown, month);
      const found = new Map(read.map(({ subject, spent_usd }) => [subject, spent_usd]));
      for (const subject of unknown) {
        // a call may have been recorded since the rows were read
        const known = this.spent.get(key(subject, month)) ?? 0;
        const usd = Math.max(found.get(subject) ?? 0, known);
        this.spent.set(key(subject, month), usd);
        spent.set(subject, usd);
      }
    }
    return new Map(subjects.map((subject) => [subject, spent.get(subject) ?? 0]));
  }

  /** Returns the US dollars that the calls of a subject in flight may still cost. */
  reservedBy(subject: string): number {
    return this.reserved.get(subject)?.usd ?? 0;
  }

  /** Counts the likely cost of a call until it has ended. Returns a function that ends it, once. */
  reserve(subjects: readonly string[], costUsd: number): () => void {
    for (const subject of subjects) {
      const { usd, calls } = this.reserved.get(subject) ?? NOTHING_RESERVED;
      this.reserved.set(subject, { usd: usd + costUsd, calls: calls + 1 });
    }
    let left = subjects;
    return () => {
      for (const subject of left) this.release(subject, costUsd);
      left = [];
    };
  }

  private release(subject: string, costUsd: number): void {
    const { usd, calls } = this.reserved.get(subject)!;
    // the last one ends what rounding has left
    if (calls === 1) this.reserved.delete(subject);
    else this.reserved.set(subject, { usd: usd - costUsd, calls: calls - 1 });
  }

  /** Takes over what the database has returned. */
  learn(rows: readonly SpendRow[]): void {
    for (const { subject, month, spent_usd } of rows) this.spent.set(key(subject, month), spent_usd);
  }
}

/** What is reserved for the calls of a subject in flight. */
interface Reserved {
  usd: number;
  calls: number;
}

const NOTHING_RESERVED: Reserved = { usd: 0, calls: 0 };

const key = (subject: string, month: string): string => `${subject} ${month}`;
