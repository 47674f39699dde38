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
  private readonly reserved = new Map<string, number>();

  constructor(private readonly repository: UsageWriteRepository) {}

  /** Returns the US dollars that each subject has spent and reserved this month (UTC). */
  async of(subjects: readonly string[]): Promise<Map<string, number>> {
    const month = monthOf(new Date());
    const spent = new Map(subjects.map((subject) => [subject, this.spent.get(key(subject, month))]));
    const unknown = subjects.filter((subject) => spent.get(subject) === undefined);
    if (unknown.length > 0) {
      for (const { subject, spent_usd } of await this.repository.spent(unknown, month))
        spent.set(subject, spent_usd);
      for (const subject of unknown) this.spent.set(key(subject, month), spent.get(subject) ?? 0);
    }
    return new Map(
      subjects.map((subject) => [subject, (spent.get(subject) ?? 0) + (this.reserved.get(subject) ?? 0)]),
    );
  }

  /** Counts the likely cost of a call until it has ended. Returns a function that ends it. */
  reserve(subjects: readonly string[], costUsd: number): () => void {
    const add = (amount: number): void => {
      for (const subject of subjects) {
        const sum = (this.reserved.get(subject) ?? 0) + amount;
        if (sum > 1e-12) this.reserved.set(subject, sum);
        else this.reserved.delete(subject);
      }
    };
    add(costUsd);
    return () => add(-costUsd);
  }

  /** Takes over what a transaction has returned. */
  learn(rows: readonly SpendRow[]): void {
    for (const { subject, month, spent_usd } of rows) this.spent.set(key(subject, month), spent_usd);
  }
}

const key = (subject: string, month: string): string => `${subject} ${month}`;
