import { Injectable } from '@nestjs/common';
import { Database, sql } from '#platform/db';

const FOREIGN_KEY_VIOLATION = '23503';

/** The secret of the installation, and the keys of the ring that are in use. */
export interface StoredInstallationSecret {
  /** Sealed with the key that seals every new secret; null before the first start. */
  secret: string | null;
  /** The ids of the keys with which any stored secret may be sealed. */
  key_ids: string[];
}

/** Reads and writes the secret of the installation. The key that seals it is the one that all processes seal with. */
@Injectable()
export class InstallationSecretRepository {
  constructor(private readonly database: Database) {}

  async find(): Promise<StoredInstallationSecret> {
    const [row] = await this.database.query<StoredInstallationSecret>(
      sql`SELECT secret, ARRAY(SELECT key_id FROM secrets_keys ORDER BY key_id) AS key_ids FROM installation`,
    );
    return row!;
  }

  /** Stores the secret of a new installation, unless another process was first. */
  async create(sealed: string, keyId: string): Promise<void> {
    await this.database.write(
      sql`WITH first AS (UPDATE installation SET secret = ${sealed} WHERE secret IS NULL RETURNING true)
        INSERT INTO secrets_keys (key_id) SELECT ${keyId} FROM first`,
    );
  }

  /** Replaces the sealed secret by the same secret, sealed with another key. All processes seal with that key from then on. */
  async reseal(before: string, sealed: string, keyId: string): Promise<void> {
    await this.database.write(
      sql`WITH changed AS (UPDATE installation SET secret = ${sealed} WHERE secret = ${before} RETURNING true)
        INSERT INTO secrets_keys (key_id) SELECT ${keyId} FROM changed ON CONFLICT DO NOTHING`,
    );
  }

  /** Takes all keys but one out of use. @returns a table with a secret that is still sealed with another one; null without any */
  async retireAllBut(keyId: string): Promise<string | null> {
    try {
      await this.database.write(sql`DELETE FROM secrets_keys WHERE key_id <> ${keyId}`);
      return null;
    } catch (error) {
      const { code, table } = error as { code?: string; table?: string };
      if (code !== FOREIGN_KEY_VIOLATION) throw error;
      return table!;
    }
  }
}
