import { Injectable } from '@nestjs/common';
import { Database, sql } from '#platform/db';

/** A row of `model_spend`. */
export interface SpendRow {
  /** The id of a model, a workspace or a service account. */
  subject: string;
  /** The first day of the month. */
  month: string;
  spent_usd: number;
}

/** The amount that was spent in the current month (UTC), and what remains of the budget. */
export interface MonthlySpend {
  /** Such as `2026-11`. */
  month: string;
  spent_usd: number;
  /** Null if there is no budget. */
  remaining_usd: number | null;
}

/** Returns the first day of a time's month (UTC), as `model_spend` has it. */
export const firstDayOf = (time: Date): string => `${time.toISOString().slice(0, 7)}-01`;

/** Reads the amounts that models, workspaces and service accounts have spent. */
@Injectable()
export class SpendRepository {
  constructor(private readonly database: Database) {}

  /** Returns the spending of the current month, and what remains of a budget in US dollars. */
  async currentMonth(subject: string, budget: number | null): Promise<MonthlySpend> {
    const firstDay = firstDayOf(new Date());
    const [row] = await this.spent([subject], firstDay);
    const spent = row?.spent_usd ?? 0;
    const remaining = budget === null ? null : roundedUsd(Math.max(0, budget - spent));
    return { month: firstDay.slice(0, 7), spent_usd: roundedUsd(spent), remaining_usd: remaining };
  }

  /** Returns the spending of a month, without subjects that have spent nothing. */
  spent(subjects: readonly string[], firstDay: string): Promise<SpendRow[]> {
    return this.database.query<SpendRow>(
      sql`SELECT subject, month::text, spent_usd FROM model_spend
        WHERE subject = ANY (${[...subjects]}::text[]) AND month = ${firstDay}::date`,
    );
  }
}

/** Rounds US dollars to 12 decimal places, because sums of floating-point numbers have rounding noise. */
const roundedUsd = (usd: number): number => Math.round(usd * 1e12) / 1e12;
