import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Environment } from '#platform/config';
import { Database, type Tx } from '#platform/db';
import { checkIfMatch, checkImmutable, checkValues, patchMetadata, type Versioned } from '#platform/http';
import { newId } from '#platform/ids';
import { toRawJson } from '#platform/json';
import type { Page } from '#platform/paging';
import { checkNotMoved, readable, within, WorkspaceAccess } from '../access/workspace-access';
import { AuditLog, changesTold, given } from '../audit/audit-log';
import type { SearchDocument } from '../search/search-document';
import { SearchIndex } from '../search/search-index';
import { changesOf, checkLive } from '../shared/change';
import { type AppDto, type AppListQueryDto, type CreateAppDto, type PatchAppDto, toAppDto } from './app.dto';
import type { AppEntity } from './app.entity';
import { AppDeclarations } from './app-declarations';
import { AppRepository } from './app.repository';
import { ReconcileSteps } from './reconcile-steps';

export const KIND = 'app';

/** What apps declare. What comes of it is `AppSweep`'s. */
@Injectable()
export class AppService {
  constructor(
    private readonly environment: Environment,
    private readonly database: Database,
    private readonly access: WorkspaceAccess,
    private readonly apps: AppRepository,
    private readonly declarations: AppDeclarations,
    private readonly steps: ReconcileSteps,
    private readonly audit: AuditLog,
    private readonly index: SearchIndex,
  ) {}

  /**
   * Declares an app; nothing is made of it before it is swept. Errors: 400 for declarations that are not of the right
   * form, and an unknown workspace; 403; 409 when the slug is taken or the workspace archived; 422 for an unknown kind.
   */
  async create(scope: OrgScope, dto: CreateAppDto): Promise<Versioned<AppDto>> {
    await this.declarations.check(dto.resources);
    return this.database.transaction(async (tx) => {
      await this.access.enter(tx, scope, dto.workspace_id, ['editor']);
      this.declarations.checkKinds(dto.resources);
      // a path names an app by its slug: an ETag of one before names this one never
      const generation = (await this.apps.lastGeneration(tx, scope, dto.app)) + 1;
      const row = this.newRow(scope, dto, generation);
      await this.apps.insert(row, tx);
      const changes = given({ app: row.app, display_name: row.display_name });
      await this.audit.record(tx, scope, { ...audited(row), action: 'create', changes });
      await this.index.put(tx, scope, found(row));
      return versionedView(row);
    });
  }

  async list(scope: OrgScope, query: AppListQueryDto): Promise<Page<AppDto>> {
    const { rows, page } = await this.apps.list(scope, query);
    return { items: rows.map(toAppDto), page };
  }

  async get(scope: OrgScope, named: string): Promise<Versioned<AppDto>> {
    const place = await this.apps.placeOf(scope, named);
    return versionedView(readable(scope, place && (await this.apps.find(scope, place.app_id)), KIND, named));
  }

  /**
   * Changes an app; resources whose declarations are others then are `pending` until it is swept. Errors: 400, 404, 403,
   * 412 for a stale `If-Match`, 409 when it or its workspace is archived, 422 for an unknown kind or another slug.
   */
  async patch(
    scope: OrgScope,
    named: string,
    dto: PatchAppDto,
    ifMatch?: string,
  ): Promise<Versioned<AppDto>> {
    if (dto.resources) await this.declarations.check(dto.resources);
    return this.database.transaction(async (tx) => {
      const row = await this.lock(tx, scope, named, 'editor');
      checkIfMatch(ifMatch, row.generation);
      checkLive(row, KIND);
      checkNotMoved(row, dto.workspace_id);
      checkImmutable(row, dto, ['app_id', 'app']);
      checkValues(dto);
      if (dto.resources) this.declarations.checkKinds(dto.resources);
      const changes = changesOf(row, {
        display_name: dto.display_name,
        description: dto.description,
        metadata: dto.metadata === undefined ? undefined : patchMetadata(row.metadata, dto.metadata),
        resources: dto.resources && this.declarations.stored(dto.resources),
      });
      if (!changes) return versionedView(row);
      await this.audit.record(tx, scope, {
        ...audited(row),
        action: 'update',
        changes: changesTold(row, changes, ['display_name']),
      });
      if (dto.resources && changes.resources) {
        await this.markChanged(tx, scope, row, dto.resources);
        Object.assign(changes, {
          resource_count: dto.resources.length,
          sync_state: 'pending',
          sync_error: null,
        } satisfies Partial<AppEntity>);
      }
      await this.apps.update(tx, scope, row.app_id, changes);
      const changed = Object.assign(row, changes);
      await this.index.put(tx, scope, found(changed));
      return versionedView(changed);
    });
  }

  /** Archives an app; repeated, it answers the same. Its resources stay, `unmanaged`, and its slug is free again. */
  archive(scope: OrgScope, named: string, ifMatch?: string): Promise<Versioned<AppDto>> {
    return this.database.transaction(async (tx) => {
      const row = await this.lock(tx, scope, named, 'admin');
      if (!row.archived_at) checkIfMatch(ifMatch, row.generation);
      const changes = row.archived_at ? null : changesOf(row, { archived_at: new Date() });
      if (!changes) return versionedView(row);
      await this.apps.update(tx, scope, row.app_id, changes);
      await this.release(tx, scope, row);
      await this.audit.record(tx, scope, { ...audited(row), action: 'archive' });
      await this.index.remove(tx, scope, 'app', row.app_id);
      return versionedView(Object.assign(row, changes));
    });
  }

  private async release(tx: Tx, scope: OrgScope, { app_id, app, workspace_id }: AppEntity): Promise<void> {
    const changes = [{ member: 'app', before: app, after: null }];
    for (const step of this.steps.inOrder()) {
      const released = await step.release(tx, within(scope, workspace_id), { appId: app_id, app });
      const of = { action: 'update', type: step.kind, workspaceId: workspace_id, changes } as const;
      await this.audit.record(tx, scope, ...released.map((id) => ({ ...of, id })));
    }
  }

  private async lock(tx: Tx, scope: OrgScope, named: string, role: 'editor' | 'admin'): Promise<AppEntity> {
    const place = await this.apps.placeOf(scope, named, tx);
    const row = place && (await this.apps.lock(tx, scope, place.app_id, 'update'));
    return this.access.admit(tx, scope, row, KIND, named, [role]);
  }

  private async markChanged(
    tx: Tx,
    scope: OrgScope,
    row: AppEntity,
    resources: readonly unknown[],
  ): Promise<void> {
    const app = { appId: row.app_id, app: row.app };
    for (const [kind, names] of this.declarations.changed(row.resources, resources)) {
      if (names.length === 0) continue;
      await this.steps.of(kind).mark(tx, within(scope, row.workspace_id), app, names, 'pending');
    }
  }

  private newRow(scope: OrgScope, dto: CreateAppDto, generation: number): AppEntity {
    const now = new Date();
    return {
      app_id: newId('app'),
      org_id: scope.orgId,
      workspace_id: dto.workspace_id,
      app: dto.app,
      display_name: dto.display_name ?? null,
      description: dto.description ?? null,
      metadata: toRawJson(dto.metadata ?? {}),
      resources: this.declarations.stored(dto.resources),
      resource_count: dto.resources.length,
      sync_state: 'pending',
      sync_error: null,
      last_swept_at: null,
      next_sweep_at: new Date(now.getTime() + this.environment.RECONCILE_INTERVAL_SECONDS * 1000),
      generation,
      created_at: now,
      updated_at: now,
      created_by: scope.principalId,
      archived_at: null,
    };
  }
}

export const audited = (row: AppEntity) => ({
  type: 'app' as const,
  id: row.app_id,
  workspaceId: row.workspace_id,
});

const found = (row: AppEntity): SearchDocument => ({
  type: 'app',
  id: row.app_id,
  workspaceId: row.workspace_id,
  name: row.display_name ?? row.app,
  description: row.description,
  body: row.app,
  updatedAt: row.updated_at,
});

const versionedView = (row: AppEntity): Versioned<AppDto> => ({
  view: toAppDto(row),
  version: row.generation,
});
