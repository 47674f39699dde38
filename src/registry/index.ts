export { bootstrap, type Bootstrapped, type BootstrapOptions } from './bootstrap';
export {
  type AnyOf,
  checkNotMoved,
  readable,
  whereReadable,
  within,
  WorkspaceAccess,
} from './access/workspace-access';
export { WorkspaceAccessModule } from './access/workspace-access.module';
export { OwnedRepository } from './apps/owned.repository';
export {
  type Declared,
  DECLARED_KINDS,
  type DeclaredKind,
  ReconcileStep,
  SweepRefused,
  type Swept,
  type SweptApp,
  SYNC_STATES,
  type SyncState,
} from './apps/reconcile-step';
export { ReconcileSteps } from './apps/reconcile-steps';
export { ReconcileStepsModule } from './apps/reconcile-steps.module';
export { planSweep, type SweepPlan, type SweptRow } from './apps/sweep-plan';
export { AuditLog, changesTold, given } from './audit/audit-log';
export type { AuditChange } from './audit/audit-entry.entity';
export { AuditLogModule } from './audit/audit-log.module';
export type { SearchDocument } from './search/search-document';
export { SearchIndex } from './search/search-index';
export { SearchIndexModule } from './search/search-index.module';
export { changesOf, checkLive } from './shared/change';
export { IsDescription, IsName } from './shared/fields';
export { RegistryHttpModule } from './registry.http.module';
export { RegistryModule } from './registry.module';
export { RegistryWorkerModule } from './registry.worker.module';
export { SearchModule } from './search/search.module';
export { SearchService } from './search/search.service';
export { LiveWorkspaceModule } from './workspaces/live-workspace.module';
export { LiveWorkspaceRepository } from './workspaces/live-workspace.repository';
