import { Injectable } from '@nestjs/common';
import { Database, prepared, raw, sql } from '#platform/db';
import { toJsonText } from '#platform/json';
import { USAGE_COUNTS, type UsageCounts } from './usage.types';

/** A row of `model_usage`. */
export interface UsageRow extends UsageCounts {
  workspace_id: string;
  day: string;
  model_id: string;
  principal_id: string;
  provider_id: string;
  upstream_model: string;
  org_id: string;
}

/** A row of `model_spend`. */
export interface SpendRow {
  subject: string;
  /** The first day of the month. */
  month: string;
  spent_usd: number;
}

const KEY = ['workspace_id', 'day', 'model_id', 'principal_id', 'provider_id', 'upstream_model'];
const COLUMNS = [...KEY, 'org_id', ...USAGE_COUNTS].join(', ');
const ADDED = USAGE_COUNTS.map((column) => `${column} = model_usage.${column} + excluded.${column}`).join(
  ', ',
);

/** Adds calls to the usage and to the spending. */
@Injectable()
export class UsageWriteRepository {
  constructor(private readonly database: Database) {}

  /**
   * Adds rows in one statement. There must be at most one row per key. Rows are written in the order of their keys, so that
   * processes do not deadlock.
   *
   * @returns the spending afterwards
   */
  add(usage: readonly UsageRow[], spending: readonly SpendRow[]): Promise<SpendRow[]> {
    return this.database.query<SpendRow>(
      prepared(
        'model-usage.add',
        sql`WITH upserted AS (
            INSERT INTO model_usage (${raw(COLUMNS)})
            SELECT ${raw(COLUMNS)} FROM json_populate_recordset(NULL::model_usage, ${toJsonText(usage)})
            ORDER BY ${raw(KEY.join(', '))}
            ON CONFLICT (${raw(KEY.join(', '))}) DO UPDATE SET ${raw(ADDED)}
          )
          INSERT INTO model_spend (subject, month, spent_usd)
          SELECT subject, month, spent_usd FROM json_populate_recordset(NULL::model_spend, ${toJsonText(spending)})
          ORDER BY subject, month
          ON CONFLICT (subject, month) DO UPDATE SET spent_usd = model_spend.spent_usd + excluded.spent_usd
          RETURNING subject, month::text, spent_usd`,
      ),
    );
  }

  /** Returns the amounts that subjects have spent in a month, without subjects that have spent nothing. */
  spent(subjects: readonly string[], month: string): Promise<SpendRow[]> {
    return this.database.query<SpendRow>(
      sql`SELECT subject, month::text, spent_usd FROM model_spend
        WHERE subject = ANY (${[...subjects]}::text[]) AND month = ${month}::date`,
    );
  }
}
