import { Injectable } from '@nestjs/common';
import type { JWK } from 'jose';
import { Database, type SqlExecutor, type Tx } from '#platform/db';
import type { SigningKeyEntity } from './signing-key.entity';

/** Advisory lock under which keys are made: any number, the same in every process. */
const ROTATION_LOCK = 7_160_301_448;

/** The key that signs at present, by the clock of the database, which all processes share. */
export interface CurrentKey extends Pick<SigningKeyEntity, 'kid' | 'private_jwk'> {
  /** It has signed for as long as it should, and no later key is announced. */
  due: boolean;
}

/**
 * Times are those of the clock and not of the transaction (`now()`): whoever waited for the lock must see the key that
 * was made meanwhile.
 */
@Injectable()
export class SigningKeyRepository {
  constructor(private readonly database: Database) {}

  /** @param days for which a key should sign. */
  async findCurrent(days: number, on: SqlExecutor = this.database): Promise<CurrentKey | null> {
    const [row] = await on.query<CurrentKey>(
      `SELECT kid, private_jwk, signs_until IS NULL AND signs_from < clock_timestamp() - $1 * interval '1 day' AS due
       FROM signing_keys
       WHERE signs_from <= clock_timestamp() AND (signs_until IS NULL OR signs_until > clock_timestamp())
       ORDER BY signs_from DESC, kid LIMIT 1`,
      [days],
    );
    return row ?? null;
  }

  /** The public keys of all that a token may still be signed with. @param graceSeconds kept after the last signature. */
  async findPublic(graceSeconds: number): Promise<JWK[]> {
    const rows = await this.database.query<{ public_jwk: JWK }>(
      `SELECT public_jwk FROM signing_keys
       WHERE signs_until IS NULL OR signs_until > clock_timestamp() - $1 * interval '1 second'
       ORDER BY signs_from DESC, kid`,
      [graceSeconds],
    );
    return rows.map((row) => row.public_jwk);
  }

  /** Lets one process at a time make a key, until its transaction ends. */
  async lock(tx: Tx): Promise<void> {
    await tx.query('SELECT pg_advisory_xact_lock($1)', [ROTATION_LOCK]);
  }

  /**
   * Adds a key that signs after a while, when the present ones stop; and removes those that nobody can hold a token
   * of any more.
   */
  async add(
    tx: Tx,
    key: { kid: string; publicJwk: JWK; sealed: string },
    afterSeconds: number,
    graceSeconds: number,
  ): Promise<void> {
    await tx.query(
      `UPDATE signing_keys SET signs_until = clock_timestamp() + $1 * interval '1 second' WHERE signs_until IS NULL`,
      [afterSeconds],
    );
    await tx.query(
      `INSERT INTO signing_keys (kid, public_jwk, private_jwk, signs_from)
       VALUES ($1, $2, $3, clock_timestamp() + $4 * interval '1 second')`,
      [key.kid, JSON.stringify(key.publicJwk), key.sealed, afterSeconds],
    );
    await tx.query(
      `DELETE FROM signing_keys WHERE signs_until < clock_timestamp() - $1 * interval '1 second'`,
      [graceSeconds],
    );
  }
}
