import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import {
  Database,
  OrgScopedRepository,
  prepared,
  raw,
  sql,
  type SqlExecutor,
  type Tx,
  Where,
} from '#platform/db';
import { listPage, type RowPage } from '#platform/paging';
import { whereReadable } from '../../resources';
import { APP_SORTS, type AppListQueryDto } from './app.dto';
import { AppEntity } from './app.entity';

/** The columns that the API shows. */
const COLUMNS = `app_id, org_id, workspace_id, app, display_name, description, metadata, resources, resource_count,
  sync_state, sync_error, last_reconciled_at, generation, created_at, updated_at, created_by, archived_at`;

/** An app that is due for a reconcile. */
export type DueApp = Pick<AppEntity, 'app_id' | 'org_id' | 'workspace_id'>;

export type AppLocation = Pick<AppEntity, 'app_id' | 'workspace_id'>;

/** Finds apps by id or slug. An id begins with `app_`, and a slug contains no underscore. */
@Injectable()
export class AppRepository extends OrgScopedRepository<AppEntity> {
  constructor(database: Database) {
    super(database, AppEntity, 'app_id');
  }

  override async find(scope: OrgScope, idOrSlug: string, on?: SqlExecutor): Promise<AppEntity | null> {
    const location = await this.locate(scope, idOrSlug, on);
    return location && super.find(scope, location.app_id, on);
  }

  override async lock(
    tx: Tx,
    scope: OrgScope,
    idOrSlug: string,
    mode: 'share' | 'update',
  ): Promise<AppEntity | null> {
    const location = await this.locate(scope, idOrSlug, tx);
    return location && super.lock(tx, scope, location.app_id, mode);
  }

  list(scope: OrgScope, query: AppListQueryDto): Promise<RowPage<AppEntity>> {
    const where = whereReadable(scope, query.workspace_id)
      .addSearch(query.q)
      .addIndexedInParts(query.app, (app) => sql`app = ${app}`)
      .addIndexedInParts(query.name, (name) => sql`app = ${name}`)
      .addIndexed(query.sync_state, (state) => sql`sync_state = ${state}`);
    return listPage<AppEntity>(
      this.database,
      { ...this.listed, columns: COLUMNS, where, sorts: APP_SORTS, bytes: 'bytes' },
      query,
    );
  }

  /**
   * Returns the id and the workspace of an app by its id or slug, without its declarations, which may be large. A slug names the
   * live app, or else the one that was archived last.
   */
  async locate(
    scope: OrgScope,
    idOrSlug: string,
    on: SqlExecutor = this.database,
  ): Promise<AppLocation | null> {
    const column = idOrSlug.startsWith('app_') ? 'app_id' : 'app';
    const where = new Where(scope.orgKey).add(sql`${raw(column)} = ${idOrSlug}`);
    const [row] = await on.query<AppLocation>(
      sql`SELECT app_id, workspace_id FROM apps WHERE ${where.sql}
        ORDER BY archived_at DESC NULLS FIRST, app_id DESC LIMIT 1`,
    );
    return row ?? null;
  }

  /** Returns the highest generation of the apps that have or had this slug, or 0. */
  async lastGeneration(tx: Tx, scope: OrgScope, slug: string): Promise<number> {
    const where = new Where(scope.orgKey).add(sql`app = ${slug}`);
    const [row] = await tx.query<{ last: number | null }>(
      sql`SELECT max(generation) AS last FROM apps WHERE ${where.sql}`,
    );
    return row?.last ?? 0;
  }

  /** Locks the app for a reconcile until the transaction ends. @returns false if another transaction holds the lock */
  async tryLockReconcile(tx: Tx, scope: OrgScope, appId: string): Promise<boolean> {
    const key = `app reconcile ${scope.orgId} ${appId}`;
    const [row] = await tx.query<{ locked: boolean }>(
      sql`SELECT pg_try_advisory_xact_lock(hashtextextended(${key}, 0)) AS locked`,
    );
    return row?.locked === true;
  }

  /**
   * Claims apps that are due, and schedules their next reconcile. Organizations take turns, each with the app that has waited
   * longest, so that a backlog delays only its own organization. Two workers never claim the same app.
   */
  claimDue(limit: number, intervalSeconds: number): Promise<DueApp[]> {
    const statement = sql`WITH due AS MATERIALIZED (
        SELECT app_id, next_reconcile_at, row_number() OVER (PARTITION BY org_id ORDER BY next_reconcile_at, app_id) AS place
        FROM apps WHERE archived_at IS NULL AND next_reconcile_at <= now()
      ), locked AS MATERIALIZED (
        SELECT app.app_id, due.place, due.next_reconcile_at FROM due JOIN apps app ON app.app_id = due.app_id
        WHERE app.archived_at IS NULL AND app.next_reconcile_at <= now()
        ORDER BY due.place, due.next_reconcile_at LIMIT ${limit} FOR UPDATE OF app SKIP LOCKED
      ), claimed AS (
        UPDATE apps SET next_reconcile_at = now() + ${intervalSeconds} * interval '1 second' FROM locked
        WHERE apps.app_id = locked.app_id
        RETURNING apps.app_id, org_id, workspace_id, locked.place, locked.next_reconcile_at AS due_at
      )
      SELECT app_id, org_id, workspace_id FROM claimed ORDER BY place, due_at`;
    return this.database.query<DueApp>(prepared('app.claim-due', statement));
  }
}
