import { Injectable } from '@nestjs/common';
import { mayRead, type OrgScope, WORKSPACE_HEADER } from '#platform/auth';
import type { Tx } from '#platform/db';
import { patchMetadata, Versioned, versionShowing } from '#platform/http';
import { newId } from '#platform/ids';
import { toRawJson } from '#platform/json';
import { toPage } from '#platform/paging';
import { problem } from '#platform/problem';
import {
  type AnyOf,
  type AuditAction,
  type AuditChange,
  checkFaults,
  NamedResources,
  type OnConflict,
  OrgResourceService,
  OWNED_READERS,
  type ResourceKind,
  ResourceKit,
  stamps,
} from '../../resources';
import { SpendRepository } from '../budgets/spend.repository';
import type { ProviderKind } from '../providers/provider.entity';
import { ProviderRepository } from '../providers/provider.repository';
import { KeyLimitsRepository } from '../keys/key-limits.repository';
import { ModelDirectory } from './model-directory';
import { storedTarget } from './model-target.dto';
import {
  type ModelDto,
  type ModelPageDto,
  type TargetStates,
  toModelDto,
  toModelPage,
} from './model-view.dto';
import {
  COOLDOWN_DEFAULT_SECONDS,
  type CreateModelDto,
  type ModelListQueryDto,
  PatchModelDto,
  RETRIES_DEFAULT,
  TIMEOUT_DEFAULT_MS,
} from './model.dto';
import type { ModelEntity, ModelTarget, Strategy } from './model.entity';
import { ModelRepository } from './model.repository';
import { TargetFailureRepository } from './target-failure.repository';

const MODEL: ResourceKind<ModelEntity, ModelDto> = {
  noun: 'model',
  type: 'model',
  readers: OWNED_READERS,
  id: 'model_id',
  generation: 'generation',
  immutable: ['model_id'],
  auditedFields: [
    'name',
    'strategy',
    'targets',
    'retries',
    'timeout_ms',
    'cooldown_s',
    'monthly_budget_usd',
    'cache_ttl_seconds',
    'capture_content',
    'record_spans',
  ],
  createdFields: ['name', 'strategy', 'targets', 'monthly_budget_usd', 'capture_content'],
  unique: { constraint: 'models_name', field: 'name', inPaths: true },
  toView: (row) => toModelDto(row),
};

/** Manages the models that clients call by name. Only admins change them. A key without the area `read` sees only its own models. */
@Injectable()
export class ModelService extends OrgResourceService<ModelEntity, ModelDto> {
  constructor(
    kit: ResourceKit,
    private readonly models: ModelRepository,
    private readonly directory: ModelDirectory,
    private readonly failures: TargetFailureRepository,
    private readonly keys: KeyLimitsRepository,
    private readonly providers: ProviderRepository,
    private readonly spend: SpendRepository,
  ) {
    super(kit, models, MODEL);
    kit.allowed.add('models', new NamedResources('models', 'model_id'));
    kit.references.add({
      nouns: ['provider'],
      find: async (tx, scope, _noun, id, limit) => {
        const ids = await this.models.findTargeting(tx, scope, id, limit);
        return ids.map((model) => ({ noun: 'model', id: model }));
      },
    });
  }

  /** Creates a model. Errors: 400 for unknown providers, targets that the strategy does not allow or an unknown workspace; 403; 409; those of `patch`. */
  create(scope: OrgScope, dto: CreateModelDto, onConflict?: OnConflict): Promise<Versioned<ModelDto>> {
    return this.createOr(
      scope,
      onConflict,
      dto,
      () => this.createNew(scope, dto),
      PatchModelDto,
      (id, patch) => this.patch(scope, id, patch),
    );
  }

  private createNew(scope: OrgScope, dto: CreateModelDto): Promise<Versioned<ModelDto>> {
    const strategy = dto.strategy ?? (dto.targets.length === 1 ? 'single' : 'fallback');
    checkTargetCount(strategy, dto.targets.length);
    const newRow = async (tx: Tx): Promise<ModelEntity> => ({
      ...stamps(scope),
      model_id: newId('model'),
      org_id: scope.orgId,
      workspace_id: dto.workspace_id,
      name: dto.name,
      description: dto.description ?? null,
      strategy,
      ...(await this.targetColumns(tx, dto.workspace_id, dto.targets.map(storedTarget))),
      retries: dto.retries ?? RETRIES_DEFAULT,
      timeout_ms: dto.timeout_ms ?? TIMEOUT_DEFAULT_MS,
      cooldown_s: dto.cooldown_s ?? COOLDOWN_DEFAULT_SECONDS,
      monthly_budget_usd: dto.monthly_budget_usd ?? null,
      cache_ttl_seconds: dto.cache_ttl_seconds ?? null,
      capture_content: dto.capture_content ?? false,
      record_spans: dto.record_spans ?? true,
      metadata: toRawJson(dto.metadata ?? {}),
      generation: 1,
    });
    return this.createIn(scope, dto.workspace_id, (_, tx) => newRow(tx), ['admin']);
  }

  async list(scope: OrgScope, query: ModelListQueryDto): Promise<ModelPageDto> {
    const rows = await this.models.list(scope, query, visibleIds(scope));
    const states = await this.statesOf(scope, rows.rows);
    return toModelPage(toPage(rows, (row) => toModelDto(row, states)));
  }

  /**
   * Returns a model by its id or its name. Errors: 404; 400 for a name that several workspaces have.
   *
   * @param workspaceId the only workspace in which a name is looked up. Default: that of a gateway key, else all of the caller
   */
  override async get(scope: OrgScope, idOrName: string, workspaceId?: string): Promise<Versioned<ModelDto>> {
    if (!idOrName.startsWith('model_')) {
      const within = workspaceId ?? (await this.keys.find(scope.principalId))?.workspace_id;
      return this.shown(scope, await this.findByName(scope, within, idOrName, visibleIds(scope)));
    }
    return this.shown(scope, await this.find(scope, idOrName));
  }

  /** Changes a model. Errors: 400 for unknown providers or targets that the strategy does not allow, and the errors of `change`. */
  patch(scope: OrgScope, id: string, dto: PatchModelDto, ifMatch?: string): Promise<Versioned<ModelDto>> {
    return this.change(scope, id, dto, ifMatch, async (row, tx) => {
      const targets = dto.targets?.map(storedTarget);
      if (targets ?? dto.strategy) {
        checkTargetCount(dto.strategy ?? row.strategy, (targets ?? row.targets).length);
      }
      return {
        name: dto.name,
        description: dto.description,
        strategy: dto.strategy,
        ...(targets && (await this.targetColumns(tx, row.workspace_id, targets, row.targets))),
        retries: dto.retries,
        timeout_ms: dto.timeout_ms,
        cooldown_s: dto.cooldown_s,
        monthly_budget_usd: dto.monthly_budget_usd,
        cache_ttl_seconds: dto.cache_ttl_seconds,
        capture_content: dto.capture_content,
        record_spans: dto.record_spans,
        metadata: patchMetadata(row.metadata, dto.metadata),
      };
    });
  }

  protected override readable(scope: OrgScope, row: ModelEntity | null, id: string): ModelEntity {
    const ids = visibleIds(scope);
    if (ids && row && !ids.includes(row.model_id)) throw problem.notFound('model', id);
    return super.readable(scope, row, id);
  }

  /** Shows the states of the targets, which the ETag covers. */
  protected override async shown(scope: OrgScope, row: ModelEntity): Promise<Versioned<ModelDto>> {
    const view = toModelDto(row, await this.statesOf(scope, [row]));
    const failed = view.targets.map(({ state, last_error_at }) => last_error_at && [state, last_error_at]);
    const erased = view.targets.map((target) => target.erased ?? false);
    const states = [failed.some(Boolean) ? { failed } : {}, erased.some(Boolean) ? { erased } : {}];
    return new Versioned(view, versionShowing(row.generation, states.map(toRawJson)));
  }

  private async statesOf(scope: OrgScope, rows: readonly ModelEntity[]): Promise<TargetStates> {
    const ids = rows.map(({ model_id }) => model_id);
    const providers = rows.flatMap(({ targets }) => targets.map(({ provider_id }) => provider_id));
    const [failures, erased] = await Promise.all([
      ids.length === 0 ? [] : this.failures.find(scope, ids),
      this.providers.missing(scope, providers),
    ]);
    return { failures, erased };
  }

  /** Deletes what the model has spent. Its usage stays, because it is the workspace's. */
  protected override async onDelete(tx: Tx, scope: OrgScope, { model_id }: ModelEntity): Promise<void> {
    await this.spend.delete(tx, model_id);
    tx.afterCommit(() => this.directory.invalidate(scope.orgId));
  }

  protected override rolesFor(): AnyOf {
    return ['admin'];
  }

  protected override insert(tx: Tx, scope: OrgScope, row: ModelEntity): Promise<ModelEntity> {
    tx.afterCommit(() => this.directory.invalidate(scope.orgId));
    return super.insert(tx, scope, row);
  }

  protected override write(
    tx: Tx,
    scope: OrgScope,
    row: ModelEntity,
    patch: Partial<ModelEntity>,
    action: AuditAction,
  ): Promise<ModelEntity> {
    tx.afterCommit(() => this.directory.invalidate(scope.orgId));
    return super.write(tx, scope, row, patch, action);
  }

  /** Leaves out `owned_by`, because it follows from the targets. */
  protected override auditedChanges(row: ModelEntity, changed: Partial<ModelEntity>): AuditChange[] {
    return super.auditedChanges(row, changed).filter(({ member }) => member !== 'owned_by');
  }

  private async findByName(
    scope: OrgScope,
    workspaceId: string | undefined,
    name: string,
    ids: readonly string[] | null,
  ): Promise<ModelEntity> {
    const [model, other] = await this.models.findByName(scope, workspaceId, name, ids);
    if (!model) throw problem.notFound('model', name);
    if (!other) return model;
    const examples = [model, other].map(
      ({ model_id, workspace_id }) => `${model_id} (workspace ${workspace_id})`,
    );
    throw problem.invalidRequest(
      `Several workspaces have a model with this name, such as ${examples.join(' and ')}. ` +
        `Send the \`model_id\` instead of the name, or the workspace in ${WORKSPACE_HEADER}.`,
    );
  }

  /**
   * Returns the columns for targets. Their providers must be live and in the workspace. Errors: 400.
   *
   * @param current the current targets, whose providers may stay even if they are archived
   */
  private async targetColumns(
    tx: Tx,
    workspaceId: string,
    targets: ModelTarget[],
    current: readonly ModelTarget[] = [],
  ): Promise<Pick<ModelEntity, 'targets' | 'owned_by'>> {
    const ids = targets.map(({ provider_id }) => provider_id);
    const providers = await this.models.lockProviders(tx, workspaceId, ids);
    const currentIds = new Set(current.map(({ provider_id }) => provider_id));
    const usable = new Map<string, ProviderKind>(
      providers
        .filter(({ provider_id, archived_at }) => archived_at === null || currentIds.has(provider_id))
        .map(({ provider_id, kind }) => [provider_id, kind]),
    );
    const detail = 'must be a provider in the workspace, and must not be archived';
    checkFaults(
      ids.flatMap((id, at) => (usable.has(id) ? [] : [{ pointer: `/targets/${at}/provider_id`, detail }])),
    );
    return { targets, owned_by: usable.get(ids[0]!)! };
  }
}

/**
 * Returns the models that the caller's key may see, or null for all models that the roles allow. A key that may not read sees
 * the models that it may call.
 */
const visibleIds = (scope: OrgScope): readonly string[] | null =>
  mayRead(scope) ? null : (scope.allow?.models ?? null);

function checkTargetCount(strategy: Strategy, count: number): void {
  if (strategy !== 'single' || count === 1) return;
  const detail =
    'must have exactly one target if the strategy is `single`. For several targets, set the strategy to `fallback` or `weighted`';
  checkFaults([{ pointer: '/targets', detail }]);
}
