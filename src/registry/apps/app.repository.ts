import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, OrgRepository, type SqlExecutor, type Tx, Where } from '#platform/db';
import { listPage, type RowPage } from '#platform/paging';
import { explainConstraint } from '#platform/problem';
import { whereReadable } from '../access/workspace-access';
import type { AppListQueryDto } from './app.dto';
import { AppEntity } from './app.entity';
import { APP_SORTS } from './app-sorts';

explainConstraint('apps_app', 'conflict', 'The organization has an app of this slug already.');

const COLUMNS = `app_id, org_id, workspace_id, app, display_name, description, metadata, resources, resource_count,
  sync_state, sync_error, last_swept_at, generation, created_at, updated_at, created_by, archived_at`;

const CLAIM_DUE = {
  name: 'app.claim-due',
  // of each organization the app that waits longest, then the next of each: a backlog of one holds up no other
  text: `WITH due AS MATERIALIZED (
      SELECT app_id, next_sweep_at, row_number() OVER (PARTITION BY org_id ORDER BY next_sweep_at, app_id) AS place
      FROM apps WHERE archived_at IS NULL AND next_sweep_at <= now()
    ), taken AS MATERIALIZED (
      SELECT app.app_id FROM due JOIN apps app ON app.app_id = due.app_id
      WHERE app.archived_at IS NULL AND app.next_sweep_at <= now()
      ORDER BY due.place, due.next_sweep_at LIMIT $1 FOR UPDATE OF app SKIP LOCKED
    )
    UPDATE apps SET next_sweep_at = now() + $2 * interval '1 second' FROM taken
    WHERE apps.app_id = taken.app_id RETURNING apps.app_id, org_id, workspace_id, app`,
};

/** An app that a worker is to sweep. */
export type DueApp = Pick<AppEntity, 'app_id' | 'org_id' | 'workspace_id' | 'app'>;

export type AppPlace = Pick<AppEntity, 'app_id' | 'workspace_id'>;

@Injectable()
export class AppRepository extends OrgRepository<AppEntity> {
  constructor(database: Database) {
    super(database, AppEntity, 'app_id');
  }

  list(scope: OrgScope, query: AppListQueryDto): Promise<RowPage<AppEntity>> {
    const where = whereReadable(scope, query.workspace_id)
      .addSearch(query.q)
      .addIf(query.app, 'app = ?')
      .addIf(query.sync_state, 'sync_state = ?');
    return listPage<AppEntity>(
      this.database,
      {
        columns: COLUMNS,
        from: 'apps',
        where,
        id: 'app_id',
        sorts: APP_SORTS,
        archivedAt: 'archived_at',
        bytes: 'bytes',
      },
      query,
    );
  }

  /**
   * The app that a path names, and where it lies: by its slug, which is the live one's, or by its id, which no slug looks
   * like. What it declares may be large, and is not read.
   */
  async placeOf(scope: OrgScope, named: string, on: SqlExecutor = this.database): Promise<AppPlace | null> {
    const where = new Where(scope.orgKey);
    if (named.startsWith('app_')) where.add('app_id = ?', named);
    else where.add('app = ?', named).add('archived_at IS NULL');
    const [row] = await on.query<AppPlace>(
      `SELECT app_id, workspace_id FROM apps WHERE ${where.toString()}`,
      where.values,
    );
    return row ?? null;
  }

  /** The highest generation that archived apps of this slug came to; 0 without one. */
  async lastGeneration(tx: Tx, scope: OrgScope, slug: string): Promise<number> {
    const where = new Where(scope.orgKey).add('app = ?', slug);
    const [row] = await tx.query<{ last: number | null }>(
      `SELECT max(generation) AS last FROM apps WHERE ${where.toString()}`,
      where.values,
    );
    return row?.last ?? 0;
  }

  /** Has this transaction sweep an app, and no other until it ends. @returns false where another one does. */
  async takeSweep(tx: Tx, scope: OrgScope, appId: string): Promise<boolean> {
    const [row] = await tx.query<{ taken: boolean }>(
      'SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS taken',
      [`app sweep ${scope.orgId} ${appId}`],
    );
    return row?.taken === true;
  }

  /**
   * Takes apps whose time has come, until the next time: of each organization the one that waits longest, first of those
   * that had none taken for longest. Two workers never take the same.
   */
  claimDue(limit: number, intervalSeconds: number): Promise<DueApp[]> {
    return this.database.query<DueApp>(CLAIM_DUE, [limit, intervalSeconds]);
  }
}
