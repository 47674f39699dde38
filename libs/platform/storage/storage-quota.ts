import { Injectable } from '@nestjs/common';
import { LoadingCache } from '#platform/concurrency';
import { Database, sql, type SqlExecutor, type Tx } from '#platform/db';
import { Problem } from '#platform/problem';
import type { OrgScope } from '#platform/scope';

type Tenant = Pick<OrgScope, 'orgId'>;

/** Counts the bytes that organizations store. Uses one row for each organization. */
@Injectable()
export class StorageUsageRepository {
  constructor(private readonly database: Database) {}

  /** Returns the bytes of an organization. */
  async find({ orgId }: Tenant, on: SqlExecutor = this.database): Promise<number> {
    const [row] = await on.query<{ bytes: number }>(
      sql`SELECT bytes FROM storage_usage WHERE org_id = ${orgId}`,
    );
    return row?.bytes ?? 0;
  }

  /** Adds bytes, and returns the sum. Locks the row of the organization until the transaction ends. */
  async add(tx: Tx, { orgId }: Tenant, bytes: number): Promise<number> {
    const [row] = await tx.query<{ bytes: number }>(
      sql`INSERT INTO storage_usage AS present (org_id, bytes) VALUES (${orgId}, ${bytes})
        ON CONFLICT (org_id) DO UPDATE SET bytes = present.bytes + excluded.bytes
        RETURNING bytes`,
    );
    return row!.bytes;
  }
}

/**
 * Limits the bytes of files, packages and skill contents that an organization stores (`FILE_QUOTA_BYTES`). Equal bytes count
 * once, because they are stored once. The sum is a counter, which changes with the bytes in one transaction.
 */
@Injectable()
export class StorageQuota {
  /** The new bytes of open transactions, by organization. */
  private readonly added = new WeakMap<Tx, Map<string, number>>();
  /** The bytes of organizations, up to a second old, for the check before an upload. The check before the commit is exact. */
  private readonly recent = new LoadingCache<number>();

  /** @param quota in bytes; null for none */
  constructor(
    private readonly usage: StorageUsageRepository,
    readonly quota: number | null,
  ) {}

  /** Returns the bytes that an organization stores. */
  used(scope: Tenant): Promise<number> {
    return this.usage.find(scope);
  }

  /**
   * Returns the number of bytes that still fit, as of the last second. Throws 413 if no byte fits, or fewer than expected.
   *
   * @param expected the number of bytes that will arrive, if it is known
   */
  async left(scope: Tenant, expected = 1): Promise<number> {
    if (this.quota === null) return Infinity;
    const used = await this.recent.find(scope.orgId, () => this.usage.find(scope));
    if (used + expected > this.quota) throw this.exceeded(used);
    return this.quota - used;
  }

  /**
   * Counts bytes that a transaction stores and that the organization did not have before. Throws 413 before the commit if they
   * exceed the quota.
   */
  add(tx: Tx, scope: Tenant, bytes: number): void {
    if (bytes === 0) return;
    let added = this.added.get(tx);
    if (!added) this.added.set(tx, (added = new Map<string, number>()));
    const { orgId } = scope;
    if (!added.has(orgId)) tx.beforeCommit(() => this.write(tx, orgId, added.get(orgId)!));
    added.set(orgId, (added.get(orgId) ?? 0) + bytes);
  }

  /** Returns the 413 for bytes that do not fit. */
  exceeded(used: number): Problem {
    return new Problem(
      'payload_too_large',
      `The quota of your organization for files, packages and skills (FILE_QUOTA_BYTES) is ${this.quota} bytes, of which ${used} are used. The upload does not fit. Send fewer bytes, or ask the operator for a larger quota. See GET /registry/v1/usage.`,
    );
  }

  private async write(tx: Tx, orgId: string, bytes: number): Promise<void> {
    const used = await this.usage.add(tx, { orgId }, bytes);
    if (this.quota !== null && used > this.quota) throw this.exceeded(used - bytes);
  }
}
