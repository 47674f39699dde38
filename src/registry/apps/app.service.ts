import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Environment } from '#platform/config';
import type { Tx } from '#platform/db';
import { patchMetadata, type Versioned } from '#platform/http';
import { newId } from '#platform/ids';
import { toRawJson } from '#platform/json';
import type { Page } from '#platform/paging';
import {
  auditedChanges,
  changedColumns,
  documentOf,
  narrowScope,
  type OnConflict,
  OrgResourceService,
  ReconcileSteps,
  type ResourceKind,
  ResourceKit,
  stamps,
} from '../../resources';
import { type AppDto, type AppListQueryDto, type CreateAppDto, PatchAppDto, toAppDto } from './app.dto';
import type { AppEntity, ReleasedResource } from './app.entity';
import { AppDeclarations } from './app-declarations';
import { AppRepository } from './app.repository';

const APP: ResourceKind<AppEntity, AppDto> = {
  noun: 'app',
  type: 'app',
  id: 'app_id',
  generation: 'generation',
  immutable: ['app_id', 'app'],
  // `resource_count` changes only with `resources`.
  auditedChanges: (row, { resource_count: _, ...changed }) => auditedChanges(row, changed, ['display_name']),
  createdFields: ['app', 'display_name'],
  unique: { constraint: 'apps_app', field: 'app', within: 'organization' },
  derived: (_row, { resources }) => (resources ? { sync_state: 'pending', sync_error: null } : {}),
  search: {
    type: 'app',
    document: (row) => documentOf('app', row.app_id, { ...row, name: row.display_name ?? row.app }, row.app),
  },
  toView: toAppDto,
};

/** Manages apps and their declarations, which `AppReconcileService` applies. Finds apps by slug or id. */
@Injectable()
export class AppService extends OrgResourceService<AppEntity, AppDto> {
  constructor(
    kit: ResourceKit,
    private readonly environment: Environment,
    private readonly apps: AppRepository,
    private readonly declarations: AppDeclarations,
    private readonly steps: ReconcileSteps,
  ) {
    super(kit, apps, APP);
  }

  /**
   * Declares an app, which the next reconcile applies. Errors: 400 for malformed declarations and an unknown workspace, 403
   * also for kinds that the caller may not declare, 409 if the slug is taken or the workspace is archived, 422 for an unknown
   * kind; those of `patch`.
   */
  create(scope: OrgScope, dto: CreateAppDto, onConflict?: OnConflict): Promise<Versioned<AppDto>> {
    return this.createOr(
      scope,
      onConflict,
      dto,
      () => this.createNew(scope, dto),
      PatchAppDto,
      (id, patch) => this.patch(scope, id, patch),
    );
  }

  private async createNew(scope: OrgScope, dto: CreateAppDto): Promise<Versioned<AppDto>> {
    await this.declarations.check(dto.resources);
    return this.createIn(scope, dto.workspace_id, async (_workspace, tx) => {
      this.declarations.checkMayDeclare(scope, dto.workspace_id, null, dto.resources);
      this.declarations.checkKinds(dto.resources);
      const interval = this.environment.RECONCILE_INTERVAL_SECONDS * 1000;
      return {
        ...stamps(scope),
        app_id: newId('app'),
        org_id: scope.orgId,
        workspace_id: dto.workspace_id,
        app: dto.app,
        display_name: dto.display_name ?? null,
        description: dto.description ?? null,
        metadata: toRawJson(dto.metadata ?? {}),
        resources: this.declarations.toStored(dto.resources),
        resource_count: dto.resources.length,
        sync_state: 'pending',
        sync_error: null,
        last_reconciled_at: null,
        next_reconcile_at: new Date(Date.now() + interval),
        released: null,
        // A slug may have named other apps before, whose ETags must never match this one.
        generation: (await this.apps.lastGeneration(tx, scope, dto.app)) + 1,
      };
    });
  }

  async list(scope: OrgScope, query: AppListQueryDto): Promise<Page<AppDto>> {
    return this.page(await this.apps.list(scope, query));
  }

  /**
   * Changes an app. Resources whose declarations change are `pending` until the next reconcile. Errors: 400 for malformed
   * declarations, 403 for changed declarations of a kind that the caller may not declare, 422 for an unknown kind, and the
   * errors of every change.
   */
  async patch(
    scope: OrgScope,
    idOrSlug: string,
    dto: PatchAppDto,
    ifMatch?: string,
  ): Promise<Versioned<AppDto>> {
    if (dto.resources) await this.declarations.check(dto.resources);
    return this.transaction(scope, async (tx) => {
      const row = await this.lock(tx, scope, idOrSlug, 'update');
      if (dto.resources) {
        const { workspace_id, resources } = row;
        this.declarations.checkMayDeclare(scope, workspace_id, resources, dto.resources);
      }
      const metadata = patchMetadata(row.metadata, dto.metadata);
      await this.checkChange(tx, scope, row, dto, ifMatch);
      if (dto.resources) this.declarations.checkKinds(dto.resources);
      const resources = dto.resources && this.declarations.toStored(dto.resources);
      if (dto.resources && changedColumns(row, { resources })) {
        await this.markChanged(tx, scope, row, dto.resources);
      }
      const columns = {
        display_name: dto.display_name,
        description: dto.description,
        metadata,
        resources,
        resource_count: dto.resources?.length,
      };
      return this.versioned(await this.write(tx, scope, row, columns, 'update'));
    });
  }

  /** Releases the app's resources, which become `unmanaged`. */
  protected override async onArchive(tx: Tx, scope: OrgScope, row: AppEntity): Promise<Partial<AppEntity>> {
    const released: ReleasedResource[] = [];
    for (const step of this.steps.list()) {
      const resources = await step.rows.release(tx, narrowScope(scope, row.workspace_id), row.app_id);
      released.push(...resources.map((one) => ({ ...one, kind: step.kind })));
    }
    await this.recordOwner(tx, scope, row, released, { before: row.app, after: null });
    return { released };
  }

  /** Takes back the resources that the archived app released, if they are live and still unmanaged. */
  protected override async onRestore(tx: Tx, scope: OrgScope, row: AppEntity): Promise<Partial<AppEntity>> {
    const adopted: ReleasedResource[] = [];
    for (const step of this.steps.list()) {
      const released = (row.released ?? []).filter(({ kind }) => kind === step.kind);
      const app = { appId: row.app_id, app: row.app };
      const ids = new Set(await step.rows.adopt(tx, narrowScope(scope, row.workspace_id), app, released));
      adopted.push(...released.filter(({ id }) => ids.has(id)));
    }
    await this.recordOwner(tx, scope, row, adopted, { before: null, after: row.app });
    const generation = await this.apps.lastGeneration(tx, scope, row.app);
    return { released: null, sync_state: 'pending', sync_error: null, generation };
  }

  private recordOwner(
    tx: Tx,
    scope: OrgScope,
    { workspace_id: workspaceId }: AppEntity,
    resources: readonly ReleasedResource[],
    owner: { before: string | null; after: string | null },
  ): Promise<void> {
    const changes = [{ member: 'app', ...owner }];
    const entries = resources.map(
      ({ kind: type, id }) => ({ action: 'update', type, id, workspaceId, changes }) as const,
    );
    return this.kit.audit.record(tx, scope, ...entries);
  }

  private async markChanged(
    tx: Tx,
    scope: OrgScope,
    row: AppEntity,
    resources: readonly unknown[],
  ): Promise<void> {
    const workspace = narrowScope(scope, row.workspace_id);
    for (const [kind, names] of this.declarations.changedNames(row.resources, resources)) {
      if (names.length === 0) continue;
      await this.steps.of(kind).rows.mark(tx, workspace, row.app_id, names, 'pending');
    }
  }
}
