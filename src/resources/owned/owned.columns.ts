import type { OrgScope } from '#platform/auth';
import { newId } from '#platform/ids';
import { stamps } from '../change';
import type { AcquiredFrom } from '../packages/packager';
import type { SyncState } from './owned.entity';

/** The app that declares a resource. */
export interface OwningApp {
  appId: string;
  /** Its slug. */
  app: string;
}

/** Returns the columns of a new resource, except its id and its content. @param owner the app that declares it, if any */
export const newOwned = (scope: OrgScope, workspaceId: string, owner?: OwningApp) => ({
  ...stamps(scope),
  org_id: scope.orgId,
  workspace_id: workspaceId,
  version_ordinal: 1,
  version_id: newId('ver'),
  app_id: owner?.appId ?? null,
  app: owner?.app ?? null,
  sync_state: (owner ? 'synced' : 'unmanaged') as SyncState,
  acquired_from: null as AcquiredFrom | null,
  generation: 1,
});

/**
 * Returns the `sync_state` that follows from a change of a resource: `drifted` if an app owns it. Archiving, restoring and
 * moving labels do not change the state. Use it as `ResourceKind.derived`.
 */
export const markDrifted = <Row extends { app_id: string | null; sync_state: SyncState }>(
  row: Row,
  changed: Partial<Row>,
): Partial<Row> =>
  (row.app_id === null || 'archived_at' in changed || 'labels' in changed
    ? {}
    : { sync_state: 'drifted' }) as Partial<Row>;
