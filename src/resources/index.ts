export {
  type AnyOf,
  checkNotMoved,
  demandRole,
  readable,
  whereReadable,
  within,
  WorkspaceAccess,
} from './access/workspace-access';
export { LiveWorkspaceRepository } from './access/live-workspace.repository';
export { AuditLog, type Audited, given } from './audit-log/audit-log';
export {
  AUDIT_ACTIONS,
  type AuditAction,
  type AuditChange,
  AUDITED_TYPES,
  type AuditedType,
  AuditEntryEntity,
} from './audit-log/audit-entry.entity';
export { type BulkItem, BULK_MAX, checkItem, failedItem, repeatedItem, withinItems } from './bulk';
export { auditedChanges, changedColumns, checkLive, markDrifted, stamps, versionEtag } from './change';
export { IsDescription, IsMetadataFilter, IsName, IsRoles, STATUSES } from './fields';
export { OWNED_FIELDS, OwnedDto, OwnedListQueryDto, PLACED_FIELDS, PlacedDto } from './owned/owned.dto';
export { OwnedEntity, PlacedEntity, type SyncState } from './owned/owned.entity';
export { type ComparedRow, OWNED_READERS, OwnedRepository } from './owned/owned.repository';
export {
  type Declared,
  DECLARED_KINDS,
  type DeclaredKind,
  ReconcileStep,
  ReconcileRefused,
  type ReconcileResult,
  type ReconciledApp,
} from './reconcile/reconcile-step';
export { ReconcileSteps } from './reconcile/reconcile-steps';
export { pagesOf, planReconcile } from './reconcile/reconcile-plan';
export {
  type ResourceAction,
  type ResourceKind,
  ResourceKit,
  type ResourceRows,
  type ResourceRow,
  ResourceService,
} from './resource.service';
export { OrgResourceService } from './org-resource.service';
export { WorkspaceResourceService } from './workspace-resource.service';
export { ResourcesModule } from './resources.module';
export { BUILTIN_DIMENSIONS, embedBuiltin } from './search-index/builtin.embedder';
export {
  BUILTIN_IDENTITY,
  embeddingIdentity,
  normalized,
  PART,
  partsLiteral,
} from './search-index/embedding';
export {
  cutText,
  EMBEDDED_MAX,
  embeddedText,
  markOf,
  SEARCH_TYPES,
  type SearchDocument,
  type SearchType,
} from './search-index/search-document';
export { SearchIndex } from './search-index/search-index';
export { VersionTable } from './owned/version-table';
export { pick, STAMP_FIELDS, StampsDto } from './view.dto';
export { checkWorkspaceOfCreate, checkWorkspaceOfSearch } from './workspace-body';
