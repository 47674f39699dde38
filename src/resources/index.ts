export {
  type AllowedKind,
  type AllowedKindName,
  AllowedKinds,
  type AllowedResource,
} from './access/allowed-kinds';
export { NamedResources } from './access/named-resources.repository';
export { type AnyOf, holdsAny, requireRole } from './access/any-of';
export { checkNotMoved, narrowScope, readable, WorkspaceAccess } from './access/workspace-access';
export {
  readableWorkspaces,
  whereReadable,
  WorkspaceAccessRepository,
} from './access/workspace-access.repository';
export { AuditLog, type AuditRecord, createdChanges } from './audit-log/audit-log.repository';
export {
  AUDIT_ACTIONS,
  type AuditAction,
  type AuditChange,
  AUDITED_TYPES,
  type AuditedType,
  AuditEntryEntity,
} from './audit-log/audit-entry.entity';
export { type BulkItem, BULK_MAX, checkItem, failedItem, repeatedItem, toItemProblem } from './bulk';
export { auditedChanges, changedColumns, checkLive, stamps, versionEtag } from './change';
export {
  ERASURE_STATUSES,
  ERASURE_SUBJECTS,
  type ErasedCounts,
  type ErasureEntity,
  type ErasureStatus,
  type ErasureSubject,
  REQUESTED_SUBJECTS,
} from './erasure/erasure.entity';
export { acceptedErasure, ERASURE_RESPONSE, ErasureDto, toErasureDto } from './erasure/erasure.dto';
export { type ErasureItemKind, ErasureItems } from './erasure/erasure-items.repository';
export { type ErasureBatch, type ErasureRun, type ErasureStep, ErasureSteps } from './erasure/erasure-steps';
export { WorkspaceCopiesStep } from './erasure/workspace-copies.step';
export { ERASURE, type ErasureRequest, Erasures } from './erasure/erasures';
export { ResourcesWorkerModule } from './resources.worker.module';
export { checkFaults } from './faults';
export { IsDescription, IsFilter, IsMetadataFilter, IsName, IsRoles, STATUSES } from './fields';
export { sha256Of, sha256OrNull } from './owned/digests';
export { LabelController, TakesVersionName } from './owned/label.routes';
export { IsLabels, IsVersionName, isVersionName, LabelledDto, VERSION_NAME_RULE } from './owned/labelled.dto';
export { LabelledEntity, newLabelled } from './owned/labelled.entity';
export { LabelledService } from './owned/labelled.service';
export { markDrifted, newOwned, type OwningApp } from './owned/owned.columns';
export { OwnedDto, OwnedListQueryDto, UNVERSIONED_MEMBERS } from './owned/owned.dto';
export { OwnedEntity, PlacedEntity, type SyncState } from './owned/owned.entity';
export { type ComparedRow, OWNED_READERS, OwnedRepository, type PinnedRow } from './owned/owned.repository';
export { OwnedPackager } from './owned/owned.packager';
export { OwnedService } from './owned/owned.service';
export {
  LABEL_MAX,
  LABEL_PATTERN,
  type Labels,
  LATEST,
  ordinalOf,
  pathVersion,
  sortedLabels,
  type VersionName,
} from './owned/version-name';
export { ORDINAL_MAX, VersionTable, type VersionReference } from './owned/version-table.repository';
export { AcquiredFromDto } from './packages/acquired-from.dto';
export {
  clashOf,
  comparePaths,
  faultOfPath,
  foldedPath,
  quotedPath,
  sourceDigest,
} from './packages/file-paths';
export { findCopies } from './packages/installed-copies.repository';
export { jsonFile, readJsonFile, textFile } from './packages/package-json';
export {
  type AcquiredFrom,
  type AgentProfileSource,
  ARTIFACT_KINDS,
  type ArtifactKind,
  type ArtifactReference,
  type CopySource,
  type InstalledArtifact,
  installedArtifact,
  type InstalledCopy,
  type PackageFile,
  type PackedComponent,
  type PackedFiles,
  type Packager,
  Packagers,
  type PinnedArtifact,
  type UnpackedComponent,
  type UnpackedFile,
} from './packages/packager';
export { slugOf } from './packages/slug';
export { faultsInSpec } from './reconcile/spec-faults';
export { DECLARED_KINDS, type DeclaredKind, ReconcilePlan } from './reconcile/reconcile-plan';
export { type Matched, OwnedReconcileStep, type ReconcileDraft } from './reconcile/owned-reconcile.step';
export { type Reference, References, type ReferenceSource } from './references/references';
export {
  type Declared,
  type DeclarationFault,
  ReconcileError,
  type ReconcileResult,
  type ReconcileStep,
  ReconcileSteps,
} from './reconcile/reconcile-step';
export {
  CreatesNamed,
  CreationQueryDto,
  DeletionQueryDto,
  DescribedBodyDto,
  DescribedPatchDto,
  MetadataBodyDto,
  MetadataPatchDto,
  type OnConflict,
  OrgResourceDto,
  PlacedDto,
} from './resource.dto';
export type { PatchBody, ResourceAction, ResourceKind, ResourceRow, ResourceRows } from './resource-kind';
export { type CreateBody, type Deletion, ResourceKit, ResourceService } from './resource.service';
export { DeleteRoute, IF_MATCH, LifecycleController } from './lifecycle.routes';
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
  documentOf,
  EMBEDDED_MAX,
  embeddedText,
  SEARCH_TYPES,
  type SearchDocument,
  type SearchType,
  wordPrefixOf,
} from './search-index/search-document';
export { SearchIndex } from './search-index/search-index';
export { baseUrlFaults, originOf, storedBaseUrl } from './targets/base-url';
export { headersFaults, headersFaultsTogether, parsedHeaders, patchedHeaders } from './targets/extra-headers';
export { type AuthInput, bearerFault, TargetAuth, withoutAuth } from './targets/target-auth';
export {
  BASE_URL_MAX,
  HeadersProperty,
  IsAuthSecret,
  IsLimit,
  IsTimeout,
  type MemberOptions,
  PatchedHeadersProperty,
  REQUESTS_PER_MINUTE_MAX,
  TIMEOUT_MIN_MS,
} from './targets/target.dto';
export { NameConflict, withUniqueName } from './unique-name';
export { pick, StampsDto } from './view.dto';
export { checkWorkspaceOfCreate, checkWorkspaceOfSearch } from './workspace-body';
