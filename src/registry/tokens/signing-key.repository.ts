import { Injectable } from '@nestjs/common';
import type { JWK } from 'jose';
import { Database, sql, type SqlExecutor, type Tx } from '#platform/db';
import type { SigningKeyEntity } from './signing-key.entity';

/** Advisory lock for creating keys: an arbitrary number, the same in every process. */
const ROTATION_LOCK = 7_160_301_450;

/** The key that currently signs, according to the database clock. */
export interface CurrentKey extends Pick<SigningKeyEntity, 'kid' | 'private_jwk'> {
  /** Whether the key has signed long enough and no later key exists. */
  due: boolean;
}

/** Uses the clock, not the start of the transaction, so that a process that waited for the lock sees the new key. */
@Injectable()
export class SigningKeyRepository {
  constructor(private readonly database: Database) {}

  /** Returns the key that currently signs. @param days how long a key signs */
  async findCurrent(days: number, on: SqlExecutor = this.database): Promise<CurrentKey | null> {
    const [row] = await on.query<CurrentKey>(
      sql`SELECT kid, private_jwk,
          signs_until IS NULL AND signs_from < clock_timestamp() - ${days} * interval '1 day' AS due
        FROM signing_keys
        WHERE signs_from <= clock_timestamp() AND (signs_until IS NULL OR signs_until > clock_timestamp())
        ORDER BY signs_from DESC, kid LIMIT 1`,
    );
    return row ?? null;
  }

  /** Returns the public keys of all tokens that may be valid. @param graceSeconds how long keys stay after they last signed */
  async findPublic(graceSeconds: number): Promise<JWK[]> {
    const rows = await this.database.query<{ public_jwk: JWK }>(
      sql`SELECT public_jwk FROM signing_keys
        WHERE signs_until IS NULL OR signs_until > clock_timestamp() - ${graceSeconds} * interval '1 second'
        ORDER BY signs_from DESC, kid`,
    );
    return rows.map((row) => row.public_jwk);
  }

  /** Locks the creation of keys for one process at a time, until its transaction ends. */
  async lock(tx: Tx): Promise<void> {
    await tx.query(sql`SELECT pg_advisory_xact_lock(${ROTATION_LOCK})`);
  }

  /** Adds a key that replaces the current one after `afterSeconds`, and deletes keys whose tokens have all expired. */
  async add(
    tx: Tx,
    key: { kid: string; publicJwk: JWK; sealed: string },
    afterSeconds: number,
    graceSeconds: number,
  ): Promise<void> {
    await tx.query(
      sql`UPDATE signing_keys SET signs_until = clock_timestamp() + ${afterSeconds} * interval '1 second'
        WHERE signs_until IS NULL`,
    );
    await tx.query(
      sql`INSERT INTO signing_keys (kid, public_jwk, private_jwk, signs_from)
        VALUES (${key.kid}, ${JSON.stringify(key.publicJwk)}, ${key.sealed},
          clock_timestamp() + ${afterSeconds} * interval '1 second')`,
    );
    await tx.query(
      sql`DELETE FROM signing_keys WHERE signs_until < clock_timestamp() - ${graceSeconds} * interval '1 second'`,
    );
  }
}
