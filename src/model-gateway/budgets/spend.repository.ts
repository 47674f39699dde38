import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Database, sql, type Tx } from '#platform/db';
import type { MonthlySpendDto } from './budget.dto';

/** How long this process may miss the spending of other processes. */
const LIFETIME_MS = 1_000;
const SUBJECTS_MAX = 10_000;

/** The spending of a subject in a month. */
export interface SpendRow {
  /** The id of a model, a workspace or a service account. */
  subject: string;
  /** The first day of the month. */
  month: string;
  spent_usd: number;
}

/** Spending to add, as a row of `model_spend`. */
export interface AddedSpending extends SpendRow {
  org_id: string;
  /** Null for a service account, which may belong to several workspaces. */
  workspace_id: string | null;
}

/** Returns the first day of a time's month (UTC), as `model_spend` has it. */
export const firstDayOf = (time: Date): string => `${time.toISOString().slice(0, 7)}-01`;

/** Reads the amounts that models, workspaces and service accounts have spent. Caches the amounts that calls need. */
@Injectable()
export class SpendRepository {
  private readonly cache = new LRUCache<string, number>({ max: SUBJECTS_MAX, ttl: LIFETIME_MS });

  constructor(private readonly database: Database) {}

  /** Returns the spending of the current month, and what remains of a budget in US dollars. */
  async currentMonth(subject: string, budget: number | null): Promise<MonthlySpendDto> {
    const firstDay = firstDayOf(new Date());
    const [row] = await this.read([subject], firstDay);
    const spent = row?.spent_usd ?? 0;
    const remaining = budget === null ? null : roundedUsd(Math.max(0, budget - spent));
    return { month: firstDay.slice(0, 7), spent_usd: roundedUsd(spent), remaining_usd: remaining };
  }

  /** Returns the US dollars that each subject has spent this month (UTC), for calls. */
  async spentBy(subjects: readonly string[]): Promise<Map<string, number>> {
    const month = firstDayOf(new Date());
    const spent = new Map(subjects.map((subject) => [subject, this.cache.get(key(subject, month))]));
    const unknown = subjects.filter((subject) => spent.get(subject) === undefined);
    if (unknown.length > 0) {
      const rows = await this.read(unknown, month);
      const stored = new Map(rows.map(({ subject, spent_usd }) => [subject, spent_usd]));
      for (const subject of unknown) {
        // a call may have been recorded since the rows were read
        const cached = this.cache.get(key(subject, month)) ?? 0;
        const usd = Math.max(stored.get(subject) ?? 0, cached);
        this.cache.set(key(subject, month), usd);
        spent.set(subject, usd);
      }
    }
    return new Map(subjects.map((subject) => [subject, spent.get(subject) ?? 0]));
  }

  /** Updates the cache with rows from the database. */
  update(rows: readonly SpendRow[]): void {
    for (const { subject, month, spent_usd } of rows) this.cache.set(key(subject, month), spent_usd);
  }

  /** Deletes the spending of a subject that is deleted. */
  async delete(tx: Tx, subject: string): Promise<void> {
    await tx.query(sql`DELETE FROM model_spend WHERE subject = ${subject}`);
  }

  /** Returns the spending of a month, without subjects that have spent nothing. */
  private read(subjects: readonly string[], firstDay: string): Promise<SpendRow[]> {
    return this.database.query<SpendRow>(
      sql`SELECT subject, month::text, spent_usd FROM model_spend
        WHERE subject = ANY (${[...subjects]}::text[]) AND month = ${firstDay}::date`,
    );
  }
}

const key = (subject: string, month: string): string => `${subject} ${month}`;

/** Rounds US dollars to 12 decimal places, because sums of floating-point numbers have rounding noise. */
const roundedUsd = (usd: number): number => Math.round(usd * 1e12) / 1e12;
