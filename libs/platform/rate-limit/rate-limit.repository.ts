import { Injectable } from '@nestjs/common';
import { Database } from '#platform/db';

/** The counters in PostgreSQL. `PostgresStore` writes them. */
@Injectable()
export class RateLimitRepository {
  constructor(private readonly database: Database) {}

  /** Deletes the counters of ended windows. */
  async deleteExpired(): Promise<void> {
    await this.database.query(
      'DELETE FROM rate_limits WHERE expire < (extract(epoch FROM now()) * 1000)::bigint',
    );
  }
}
