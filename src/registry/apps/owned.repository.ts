import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import type { SyncState } from './reconcile-step';

/** A table of resources that apps declare: it has `app_id`, `app` and `sync_state`. */
export interface OwnedTable {
  table: string;
  /** The column of their ids. */
  id: string;
  /** The column of the name by which the app declares them: one of its own, where people may rename them. */
  declaredName: 'name' | 'declared_name';
  /** A column that is emptied where one is archived. */
  secret?: string;
}

/**
 * How resources of one kind stand to the app that declares them. The live ones that have to do with a change are locked in
 * the order of their ids, as by all who change many.
 */
export abstract class OwnedRepository {
  private readonly statements: Record<'mark' | 'mend' | 'release' | 'settle' | 'archive', string>;

  protected constructor(table: OwnedTable) {
    this.statements = statementsOf(table);
  }

  /**
   * Sets the state of the app's live resources that have another: of those declared by these names, or of all of them
   * (null).
   */
  async mark(
    tx: Tx,
    scope: Scope,
    appId: string,
    names: readonly string[] | null,
    state: SyncState,
  ): Promise<void> {
    await tx.query(this.statements.mark, [scope.workspaceId, appId, new Date(), names, state]);
  }

  /** Sets the app's live resources that are `failed` back to `pending`, but for those declared by these names. */
  async mend(tx: Tx, scope: Scope, appId: string, names: readonly string[]): Promise<void> {
    await tx.query(this.statements.mend, [scope.workspaceId, appId, new Date(), names]);
  }

  /** Has the app's live resources be nobody's. @returns their ids. */
  async release(tx: Tx, scope: Scope, appId: string): Promise<string[]> {
    const rows = await tx.query<{ id: string }>(this.statements.release, [
      scope.workspaceId,
      appId,
      new Date(),
    ]);
    return rows.map(({ id }) => id);
  }

  /** Has resources that are as declared be `synced`. @param ids of those that are locked */
  async settle(tx: Tx, scope: Scope, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await tx.query(this.statements.settle, [scope.workspaceId, ids, new Date()]);
  }

  /** They are then as they are declared: not at all. @param ids of those that are locked */
  async archive(tx: Tx, scope: Scope, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await tx.query(this.statements.archive, [scope.workspaceId, ids, new Date()]);
  }
}

function statementsOf({ table, id, declaredName, secret }: OwnedTable) {
  const update = (condition: string, changes: string): string => `WITH locked AS MATERIALIZED (
      SELECT ${id} FROM ${table}
      WHERE workspace_id = $1 AND app_id = $2 AND archived_at IS NULL AND ${condition}
      ORDER BY ${id} FOR UPDATE
    )
    UPDATE ${table} owned SET ${changes}, generation = generation + 1, updated_at = $3
    FROM locked WHERE owned.${id} = locked.${id} AND owned.workspace_id = $1`;
  const settle = (changes: string): string => `UPDATE ${table}
    SET sync_state = 'synced'${changes}, generation = generation + 1, updated_at = $3
    WHERE ${id} = ANY ($2::text[]) AND workspace_id = $1`;
  const nobody = declaredName === 'name' ? '' : `, ${declaredName} = NULL`;
  return {
    mark: update(
      `sync_state <> $5 AND ($4::text[] IS NULL OR ${declaredName} = ANY ($4::text[]))`,
      'sync_state = $5',
    ),
    mend: update(`sync_state = 'failed' AND ${declaredName} <> ALL ($4::text[])`, `sync_state = 'pending'`),
    release: `${update('true', `app_id = NULL, app = NULL, sync_state = 'unmanaged'${nobody}`)}
      RETURNING owned.${id} AS id`,
    settle: settle(''),
    archive: settle(`, archived_at = $3${secret ? `, ${secret} = NULL` : ''}`),
  };
}
