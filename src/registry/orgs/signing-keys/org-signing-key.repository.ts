import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, OrgScopedRepository, sql, type SqlExecutor, type Tx, Where } from '#platform/db';
import { listPage, type RowPage } from '#platform/paging';
import type { SigningKeyListQueryDto } from './org-signing-key.dto';
import { OrgSigningKeyEntity } from './org-signing-key.entity';

/** A key that is not revoked. */
export interface PublishedKey {
  kid: string;
  org_id: string;
  x: string;
}

@Injectable()
export class OrgSigningKeyRepository extends OrgScopedRepository<OrgSigningKeyEntity> {
  constructor(database: Database) {
    super(database, OrgSigningKeyEntity, 'kid');
  }

  list(scope: OrgScope, query: SigningKeyListQueryDto): Promise<RowPage<OrgSigningKeyEntity>> {
    const where = new Where(scope.orgKey).addIndexed(query.name, (name) => sql`name COLLATE "C" = ${name}`);
    return listPage<OrgSigningKeyEntity>(this.database, { ...this.listed, where }, query);
  }

  /** Returns the key that signs, or null. */
  async findCurrent(
    scope: OrgScope,
    on: SqlExecutor = this.database,
  ): Promise<{ kid: string; private_jwk: string } | null> {
    const [row] = await on.query<{ kid: string; private_jwk: string }>(
      sql`SELECT kid, private_jwk FROM org_signing_keys
        WHERE org_id = ${scope.orgId} AND revoked_at IS NULL ORDER BY position DESC LIMIT 1`,
    );
    return row ?? null;
  }

  async countUnrevoked(tx: Tx, scope: OrgScope): Promise<number> {
    const [row] = await tx.query<{ count: number }>(
      sql`SELECT count(*) AS count FROM org_signing_keys WHERE org_id = ${scope.orgId} AND revoked_at IS NULL`,
    );
    return row!.count;
  }

  /**
   * Records that a key is added to the published set or removed from it, and returns the new number of keys in the set. Changes
   * of the set wait for each other across all organizations, so the number is exact.
   */
  async changePublished(tx: Tx, difference: 1 | -1): Promise<number> {
    const [row] = await tx.query<{ key_count: number }>(
      sql`UPDATE org_signing_key_set SET generation = generation + 1, key_count = key_count + ${difference}
        RETURNING key_count`,
    );
    return row!.key_count;
  }

  /** Returns a number that each change of the published set increments. */
  async generation(): Promise<number> {
    const [row] = await this.database.query<{ generation: number }>(
      sql`SELECT generation FROM org_signing_key_set`,
    );
    return row!.generation;
  }

  /** Returns the keys of all organizations that are not revoked, oldest first. */
  findPublished(): Promise<PublishedKey[]> {
    return this.database.query<PublishedKey>(
      sql`SELECT kid, org_id, x FROM org_signing_keys WHERE revoked_at IS NULL ORDER BY position`,
    );
  }
}
