import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, raw, type Sql, sql, type Tx, Where } from '#platform/db';
import { listPage, type OrderedListQueryDto, type RowPage } from '#platform/paging';
import type {
  ErasedCounts,
  ErasureEntity,
  ErasureProgress,
  ErasureStatus,
  ErasureSubject,
} from './erasure.entity';

/** The columns of the entity, without the lease. */
const COLUMNS = raw(
  'erasure_id, org_id, workspace_id, subject_kind, subject_hash, target, dry_run, erasure_status, counts, progress,' +
    ' last_error, created_at, updated_at, created_by, started_at, finished_at',
);

/**
 * How long a worker may be silent before another one continues its erasure, in seconds. A dry run counts a whole table with one
 * statement.
 */
const LEASE = raw(`CASE WHEN dry_run THEN interval '10 minutes' ELSE interval '1 minute' END`);

/** The erasures that have not ended. One without a lease waits; one with a lease but no token waits for its end. */
const OPEN = sql`SELECT org_id, erasure_id, last_error IS NOT NULL AS has_failed,
    lease_expires_at IS NULL OR lease_expires_at < now() AS is_waiting,
    (lease_token IS NOT NULL AND lease_expires_at >= now()) IS TRUE AS is_held
  FROM erasures WHERE erasure_status <> 'succeeded'`;

const isHeld = (erasureId: string, token: string): Sql =>
  sql`erasure_id = ${erasureId} AND lease_token = ${token} AND erasure_status = 'running'`;

/** The filters of a list. */
export interface ErasureFilters extends OrderedListQueryDto {
  workspace_id?: string;
  subject_kind?: ErasureSubject;
  erasure_status?: ErasureStatus;
}

@Injectable()
export class ErasureRepository {
  constructor(private readonly database: Database) {}

  /** Inserts an erasure. Returns false if one of the same subject has not ended. */
  async insert(tx: Tx, row: ErasureEntity): Promise<boolean> {
    const inserted = await tx.query(
      sql`INSERT INTO erasures (erasure_id, org_id, workspace_id, subject_kind, subject_hash, target, dry_run,
                                erasure_status, counts, created_at, updated_at, created_by)
        VALUES (${row.erasure_id}, ${row.org_id}, ${row.workspace_id}, ${row.subject_kind}, ${row.subject_hash},
                ${row.target?.text ?? null}::json, ${row.dry_run}, ${row.erasure_status}, '{}', ${row.created_at},
                ${row.updated_at}, ${row.created_by})
        ON CONFLICT (subject_hash, subject_kind, (coalesce(workspace_id, ''))) WHERE erasure_status <> 'succeeded' AND NOT dry_run DO NOTHING RETURNING 1`,
    );
    return inserted.length > 0;
  }

  /** Finds the erasure of the same subject, in the same workspace or in all, that has not ended. */
  async findOpen(
    tx: Tx,
    of: Pick<ErasureEntity, 'subject_kind' | 'subject_hash' | 'workspace_id'>,
  ): Promise<string | null> {
    const [row] = await tx.query<{ erasure_id: string }>(
      sql`SELECT erasure_id FROM erasures
        WHERE subject_hash = ${of.subject_hash} AND subject_kind = ${of.subject_kind}
          AND coalesce(workspace_id, '') = ${of.workspace_id ?? ''} AND erasure_status <> 'succeeded' AND NOT dry_run`,
    );
    return row?.erasure_id ?? null;
  }

  /** Counts the erasures of an organization that have not ended, up to a limit. */
  async countOpen(tx: Tx, { orgId }: Pick<OrgScope, 'orgId'>, limit: number): Promise<number> {
    const [row] = await tx.query<{ count: number }>(
      sql`SELECT count(*) AS count FROM (
          SELECT FROM erasures WHERE org_id = ${orgId} AND erasure_status IN ('queued', 'running') LIMIT ${limit}) open`,
    );
    return row!.count;
  }

  async find({ orgId }: Pick<OrgScope, 'orgId'>, id: string): Promise<ErasureEntity | null> {
    const [row] = await this.database.query<ErasureEntity>(
      sql`SELECT ${COLUMNS} FROM erasures WHERE erasure_id = ${id} AND org_id = ${orgId}`,
    );
    return row ?? null;
  }

  /** Finds an erasure of an organization, for platform principals. The organization may be gone. */
  async findOfOrganization(id: string): Promise<ErasureEntity | null> {
    const [row] = await this.database.query<ErasureEntity>(
      sql`SELECT ${COLUMNS} FROM erasures WHERE erasure_id = ${id} AND subject_kind = 'org'`,
    );
    return row ?? null;
  }

  /** Lists the erasures in the workspaces that the caller administers, and with admin in the organization all of them. */
  list(scope: OrgScope, query: ErasureFilters, subjectHash?: string): Promise<RowPage<ErasureEntity>> {
    const where = new Where(scope.orgKey);
    const administered = scope.workspacesWith('admin');
    if (administered) where.addScattered(sql`workspace_id = ANY (${[...administered]})`);
    where
      .addIndexed(query.workspace_id, (id) => sql`workspace_id = ${id}`)
      .addIndexed(query.subject_kind, (kind) => sql`subject_kind = ${kind}`)
      .addIndexed(query.erasure_status, (status) => sql`erasure_status = ${status}`)
      .addIndexed(subjectHash, (hash) => sql`subject_hash = ${hash}`);
    return listPage<ErasureEntity>(
      this.database,
      { columns: COLUMNS.text, from: 'erasures', where, id: 'erasure_id', createdAt: 'created_at' },
      query,
    );
  }

  /**
   * Claims the next erasure that no worker holds: of the organization with the fewest erasures in progress, its oldest one
   * first, but those that have failed last. Returns `none` if no erasure waits; `full` if all that wait are of
   * `fullOrgs`, or another worker has claimed the next one.
   */
  async claim(token: string, fullOrgs: readonly string[]): Promise<ErasureEntity | 'none' | 'full'> {
    const [row] = await this.database.query<ErasureEntity & { is_waiting: boolean }>(
      sql`WITH open AS MATERIALIZED (${OPEN}), next AS (
          SELECT (array_agg(erasure_id ORDER BY has_failed, erasure_id) FILTER (WHERE is_waiting))[1] AS erasure_id
          FROM open WHERE org_id <> ALL (${fullOrgs}::text[])
          GROUP BY org_id HAVING bool_or(is_waiting)
          ORDER BY count(*) FILTER (WHERE is_held), random() LIMIT 1
        ), claimed AS (
          UPDATE erasures
          SET erasure_status = 'running', started_at = coalesce(started_at, now()), lease_token = ${token},
              lease_expires_at = now() + ${LEASE}, updated_at = now()
          WHERE erasure_id = (SELECT erasure_id FROM next) AND erasure_status <> 'succeeded'
            AND (lease_expires_at IS NULL OR lease_expires_at < now())
          RETURNING ${COLUMNS}
        )
        SELECT claimed.*, EXISTS (SELECT FROM open WHERE is_waiting) AS is_waiting
        FROM (VALUES (true)) one LEFT JOIN claimed ON true`,
    );
    const { is_waiting, ...erasure } = row!;
    return erasure.erasure_id ? erasure : is_waiting ? 'full' : 'none';
  }

  /** Whether an organization waits for its first erasure in progress. */
  async isOrgWaiting(): Promise<boolean> {
    const rows = await this.database.query(
      sql`SELECT FROM (${OPEN}) open GROUP BY org_id HAVING bool_or(is_waiting) AND NOT bool_or(is_held) LIMIT 1`,
    );
    return rows.length > 0;
  }

  /**
   * Records a batch, in its transaction. Returns false if this worker has lost the erasure: the batch must then be rolled
   * back.
   */
  async advance(
    tx: Tx,
    id: string,
    token: string,
    counts: ErasedCounts,
    progress: ErasureProgress | null,
  ): Promise<boolean> {
    const advanced = await tx.query(
      sql`UPDATE erasures
        SET counts = ${JSON.stringify(counts)}::jsonb, progress = ${progress && JSON.stringify(progress)}::jsonb,
            last_error = NULL, lease_expires_at = now() + ${LEASE}, updated_at = now()
        WHERE ${isHeld(id, token)} RETURNING 1`,
    );
    return advanced.length > 0;
  }

  /** Lets the statements of a dry run take as long as its lease. */
  async allowLongCounts(tx: Tx): Promise<void> {
    await tx.query(`SET LOCAL statement_timeout = '9 min'`);
  }

  /** Ends an erasure and forgets its subject, also if it was the workspace or the organization. */
  async finish(tx: Tx, id: string, token: string, counts: ErasedCounts): Promise<boolean> {
    const finished = await tx.query(
      sql`UPDATE erasures
        SET erasure_status = 'succeeded', counts = ${JSON.stringify(counts)}::jsonb, target = NULL, progress = NULL,
            last_error = NULL, lease_token = NULL, lease_expires_at = NULL, finished_at = now(), updated_at = now(),
            org_id = CASE WHEN subject_kind = 'org' AND NOT dry_run THEN NULL ELSE org_id END,
            workspace_id = CASE WHEN subject_kind = 'workspace' AND NOT dry_run THEN NULL ELSE workspace_id END
        WHERE ${isHeld(id, token)} RETURNING 1`,
    );
    return finished.length > 0;
  }

  /**
   * Releases an erasure, so that any worker can continue it.
   *
   * @param waitMs time until a worker can continue it, in ms
   */
  async release(id: string, token: string, error: string | null, waitMs: number): Promise<void> {
    await this.database.query(
      sql`UPDATE erasures
        SET lease_token = NULL, lease_expires_at = now() + ${waitMs} * interval '1 millisecond',
            last_error = coalesce(${error}, last_error), updated_at = now()
        WHERE ${isHeld(id, token)}`,
    );
  }

  /** Finds erasures that no worker holds, the oldest first. */
  findWaiting(tx: Tx, limit: number): Promise<{ erasure_id: string }[]> {
    return tx.query(
      sql`SELECT erasure_id FROM erasures
        WHERE erasure_status <> 'succeeded' AND (lease_expires_at IS NULL OR lease_expires_at < now())
        ORDER BY erasure_id LIMIT ${limit}`,
    );
  }
}
