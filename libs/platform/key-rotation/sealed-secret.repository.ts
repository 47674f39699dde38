import { Injectable } from '@nestjs/common';
import { Environment } from '#platform/config';
import { Database, raw, sql, WatchedClient } from '#platform/db';
import type { SealedColumn } from '#platform/secrets';

/** Key of the advisory lock for rotations: an arbitrary number, the same in every process. */
const ROTATION_LOCK = 7_160_301_451;

/** A stored secret. */
export interface SealedSecret {
  /** The id of its row. */
  id: string;
  sealed: string;
}

/** A stored secret, and the same secret sealed with another key. */
export interface ResealedSecret extends SealedSecret {
  resealed: string;
}

/** Reads and replaces the sealed secrets of any column. */
@Injectable()
export class SealedSecretRepository {
  constructor(
    private readonly environment: Environment,
    private readonly database: Database,
  ) {}

  /**
   * Runs `work` while no other process does. The lock has a connection of its own, because `work` may need the whole pool.
   *
   * @returns null if another process runs it
   */
  async whileLocked<Result>(work: () => Promise<Result>): Promise<Result | null> {
    const session = new WatchedClient({ connectionString: this.environment.DATABASE_URL });
    await session.connect();
    try {
      const { rows } = await session.query<{ locked: boolean }>(
        sql`SELECT pg_try_advisory_lock(${ROTATION_LOCK}) AS locked`,
      );
      return rows[0]!.locked ? await work() : null;
    } finally {
      await session.end();
    }
  }

  /** Counts the secrets of a column, and those that are not sealed with this key. */
  async count({ table, sealedBy }: SealedColumn, keyId: string): Promise<{ total: number; left: number }> {
    const column = raw(sealedBy);
    const [row] = await this.database.query<{ total: number; left: number }>(
      sql`SELECT count(*)::int AS total, (count(*) FILTER (WHERE ${column} <> ${keyId}))::int AS left
        FROM ${raw(table)} WHERE ${column} IS NOT NULL`,
    );
    return row!;
  }

  /** Returns secrets that are sealed with a key, in the order of their ids. @param after the last id of the batch before */
  find(
    { table, column, key, sealedBy }: SealedColumn,
    keyId: string,
    after: string,
    limit: number,
  ): Promise<SealedSecret[]> {
    return this.database.query<SealedSecret>(
      sql`SELECT ${raw(key)} AS id, ${raw(column)} AS sealed FROM ${raw(table)}
        WHERE ${raw(sealedBy)} = ${keyId} AND ${raw(key)} > ${after} ORDER BY ${raw(key)} LIMIT ${limit}`,
    );
  }

  /** Replaces secrets, except those that have changed since they were read. Returns their number. */
  async replace({ table, column, key }: SealedColumn, secrets: readonly ResealedSecret[]): Promise<number> {
    const values = (member: keyof ResealedSecret) => secrets.map((secret) => secret[member]);
    const rows = await this.database.write(
      sql`UPDATE ${raw(table)} AS stored SET ${raw(column)} = secret.resealed
        FROM unnest(${values('id')}::text[], ${values('sealed')}::text[], ${values('resealed')}::text[])
          AS secret (id, sealed, resealed)
        WHERE stored.${raw(key)} = secret.id AND stored.${raw(column)} = secret.sealed
        RETURNING true`,
    );
    return rows.length;
  }
}
