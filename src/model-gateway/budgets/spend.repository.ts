import { Injectable } from '@nestjs/common';
import { Database, sql } from '#platform/db';
import { roundedUsd } from './month';

/** Reads the amounts that were spent in a month. */
@Injectable()
export class SpendRepository {
  constructor(private readonly database: Database) {}

  /**
   * Returns the amount that a model, workspace or service account has spent in a month, in US dollars.
   *
   * @param subject the id of the model, workspace or service account
   * @param month such as `2026-11`
   */
  async spentBy(subject: string, month: string): Promise<number> {
    const [row] = await this.database.query<{ spent_usd: number }>(
      sql`SELECT spent_usd FROM model_spend WHERE subject = ${subject} AND month = ${`${month}-01`}::date`,
    );
    return roundedUsd(row?.spent_usd ?? 0);
  }
}
