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
  /** The uploads that this process is receiving, by organization. */
  private readonly uploads = new Map<string, Uploads>();

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
   * Reserves bytes of an upload, so that concurrent uploads do not fill the disk before their commits are checked. Throws 413 if
   * they do not fit beside those of other uploads. Release the reservation when the bytes are counted or deleted.
   *
   * @param expected the number of bytes that will arrive, if it is known
   */
  async reserve(scope: Tenant, expected = 1): Promise<UploadReservation> {
    const { quota } = this;
    if (quota === null) return UNLIMITED;
    const { orgId } = scope;
    const used = await this.recent.find(orgId, () => this.usage.find(scope));
    const uploads = this.uploads.get(orgId) ?? { used, bytes: 0, count: 0 };
    uploads.used = Math.max(uploads.used, used);
    if (uploads.used + uploads.bytes + expected > quota) throw this.exceeded(uploads.used, uploads.bytes);
    this.uploads.set(orgId, uploads);
    uploads.count++;
    uploads.bytes += expected;
    let reserved = expected;
    let isReleased = false;
    return {
      grow: (size) => {
        const more = size - reserved;
        if (more <= 0) return;
        const others = uploads.bytes - reserved;
        if (uploads.used + others + size > quota) throw this.exceeded(uploads.used, others);
        uploads.bytes += more;
        reserved = size;
      },
      release: () => {
        if (isReleased) return;
        isReleased = true;
        uploads.bytes -= reserved;
        if (--uploads.count === 0) this.uploads.delete(orgId);
      },
    };
  }

  /**
   * Counts bytes that a transaction stores and that the organization did not have before, or with a negative number, bytes that
   * it deletes. Throws 413 before the commit if new bytes exceed the quota.
   */
  add(tx: Tx, scope: Tenant, bytes: number): void {
    if (bytes === 0) return;
    let added = this.added.get(tx);
    if (!added) this.added.set(tx, (added = new Map<string, number>()));
    const { orgId } = scope;
    if (!added.has(orgId)) tx.beforeCommit(() => this.write(tx, orgId, added.get(orgId)!));
    added.set(orgId, (added.get(orgId) ?? 0) + bytes);
  }

  /** Returns the 413 for bytes that do not fit. @param reserved the bytes of other uploads in progress */
  private exceeded(used: number, reserved = 0): Problem {
    const others =
      reserved === 0
        ? ''
        : ` Other uploads in progress have reserved ${reserved} more. Wait for them, or send fewer bytes.`;
    return new Problem(
      'payload_too_large',
      `Your organization has used ${used} of ${this.quota} bytes (\`FILE_QUOTA_BYTES\`) for files, packages and skills.${others} The upload does not fit. Send fewer bytes, or ask the operator for a larger quota. See \`GET /registry/v1/usage\`.`,
    );
  }

  private async write(tx: Tx, orgId: string, bytes: number): Promise<void> {
    const used = await this.usage.add(tx, { orgId }, bytes);
    const uploads = this.uploads.get(orgId);
    if (uploads) uploads.used = bytes > 0 ? Math.max(uploads.used, used) : used;
    if (bytes > 0 && this.quota !== null && used > this.quota) throw this.exceeded(used - bytes);
  }
}

/** The bytes of an upload that count against the quota while it is in progress. */
export interface UploadReservation {
  /** Reserves more bytes once the upload has more than expected. Throws 413 if they do not fit. */
  readonly grow: (size: number) => void;
  /** Call it when the bytes are counted or deleted. Later calls do nothing. */
  readonly release: () => void;
}

const UNLIMITED: UploadReservation = { grow: () => undefined, release: () => undefined };

/** The uploads of an organization that are in progress. */
interface Uploads {
  /** The stored bytes, as last known. */
  used: number;
  /** The reserved bytes. */
  bytes: number;
  count: number;
}
