import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { patchMetadata, Versioned } from '#platform/http';
import { newId } from '#platform/ids';
import { RawJson, sha256OfJson, toRawJson } from '#platform/json';
import type { Page } from '#platform/paging';
import { type FieldError, Problem, problem } from '#platform/problem';
import {
  checkWorkspaceOfCreate,
  type CreateBody,
  type OnConflict,
  type ResourceKind,
  ResourceKit,
  stamps,
  WorkspaceResourceService,
} from '../../resources';
import { checkSelectionValues, conditionErrors, parseConditions } from '../../telemetry';
import { type ScorerEntity, ScorerRepository } from '../scorers';
import { type Selection, type TargetRef, TargetSelector } from '../scoring';
import {
  type AnnotationQueueDto,
  type AnnotationQueueListQueryDto,
  type AnnotationSourceDto,
  type CreateAnnotationQueueDto,
  ITEMS_MAX,
  PatchAnnotationQueueDto,
  toAnnotationQueueDto,
  withClaims,
} from './annotation-queue.dto';
import type { AnnotationQueueEntity } from './annotation-queue.entity';
import { AnnotationQueueRepository, type NewItem } from './annotation-queue.repository';

const QUEUE: ResourceKind<AnnotationQueueEntity, AnnotationQueueDto> = {
  noun: 'annotation queue',
  type: 'annotation_queue',
  id: 'queue_id',
  generation: 'generation',
  immutable: ['queue_id', 'scores_per_item'],
  auditedFields: ['name', 'description', 'assignees'],
  createdFields: ['name', 'scorer_ids', 'scores_per_item'],
  unique: { constraint: 'annotation_queues_name', field: 'name', inPaths: true },
  toView: toAnnotationQueueDto,
};

/** Queues of traces or results that people score. Archiving one ends the work on it. */
@Injectable()
export class AnnotationQueueService extends WorkspaceResourceService<
  AnnotationQueueEntity,
  AnnotationQueueDto
> {
  constructor(
    kit: ResourceKit,
    private readonly queues: AnnotationQueueRepository,
    private readonly scorers: ScorerRepository,
    private readonly selector: TargetSelector,
  ) {
    super(kit, queues, QUEUE);
  }

  /**
   * Creates a queue, and selects its items. Errors: 400 for a source without exactly one selector, and for scorers that are
   * not of kind `human`; 404 naming unknown scorers, traces and experiments; 409 for an archived scorer and a name that is
   * taken; 422 for unknown values, and for a source that selects nothing or more than 10,000 items; those of `patch`.
   */
  create(
    scope: Scope,
    dto: CreateAnnotationQueueDto,
    signal: AbortSignal,
    onConflict?: OnConflict,
  ): Promise<Versioned<AnnotationQueueDto>> {
    const create = () => this.createNew(scope, dto, signal);
    return this.createOr(
      scope,
      onConflict,
      dto as object as CreateBody<AnnotationQueueEntity>,
      create,
      PatchAnnotationQueueDto,
      (id, patch) => this.patch(scope, id, patch),
    );
  }

  private async createNew(
    scope: Scope,
    dto: CreateAnnotationQueueDto,
    signal: AbortSignal,
  ): Promise<Versioned<AnnotationQueueDto>> {
    checkWorkspaceOfCreate(scope, dto.workspace_id);
    const { source } = dto;
    checkSource(source);
    const scorers = await this.humanScorers(scope, [...new Set(dto.scorer_ids)]);
    await withinSource(() => this.selector.checkIds(scope, source));
    checkLive(scorers);
    await withinSource(() => checkSelectionValues(source));
    const targets = await this.select(scope, dto, signal);
    return this.transaction(scope, async (tx) => {
      const row = await this.insert(tx, scope, {
        ...stamps(scope),
        queue_id: newId('queue'),
        workspace_id: scope.workspaceId,
        name: dto.name,
        description: dto.description ?? null,
        scorer_ids: scorers.map(({ scorer_id }) => scorer_id),
        scorer_versions: scorers.map(({ scorer_version }) => scorer_version),
        source: storedSource(source),
        assignees: dto.assignees ?? null,
        scores_per_item: dto.scores_per_item,
        item_count: targets.length,
        completed_count: 0,
        skipped_count: 0,
        metadata: toRawJson(dto.metadata ?? {}),
        generation: 1,
      });
      await this.queues.insertItems(tx, scope, row, targets.map(toItem));
      const { view, version } = this.versioned(row);
      return withProgressInETag(view, version);
    });
  }

  async list(scope: Scope, query: AnnotationQueueListQueryDto): Promise<Page<AnnotationQueueDto>> {
    const { items, page } = this.page(await this.queues.list(scope, query));
    return { items: await this.withCurrent(scope, items), page };
  }

  override async get(scope: Scope, id: string): Promise<Versioned<AnnotationQueueDto>> {
    return this.withProgress(scope, await super.get(scope, id));
  }

  /**
   * Changes name, description, assignees or metadata. Errors: those of every change; 422 `immutable_field` for different
   * scorers, a different source and a different number of scores per item.
   */
  async patch(
    scope: Scope,
    id: string,
    dto: PatchAnnotationQueueDto,
    ifMatch?: string,
  ): Promise<Versioned<AnnotationQueueDto>> {
    const changed = await this.change(scope, id, dto as object, generationsIn(ifMatch), (row) => ({
      name: dto.name,
      description: dto.description,
      assignees: dto.assignees,
      metadata: patchMetadata(row.metadata, dto.metadata),
    }));
    return this.withProgress(scope, changed);
  }

  override async archive(scope: Scope, id: string, ifMatch?: string): Promise<Versioned<AnnotationQueueDto>> {
    return this.withProgress(scope, await super.archive(scope, id, generationsIn(ifMatch)));
  }

  override async restore(scope: Scope, id: string, ifMatch?: string): Promise<Versioned<AnnotationQueueDto>> {
    return this.withProgress(scope, await super.restore(scope, id, generationsIn(ifMatch)));
  }

  protected override async checkChange(
    tx: Tx,
    scope: Scope,
    row: AnnotationQueueEntity,
    dto: PatchAnnotationQueueDto,
    ifMatch: string | undefined,
  ): Promise<void> {
    await super.checkChange(tx, scope, row, dto as object, ifMatch);
    // The kit compares scalars only.
    const { scorer_ids, source } = dto;
    if (scorer_ids && [...new Set(scorer_ids)].join() !== row.scorer_ids.join()) {
      throw problem.immutableField('/scorer_ids');
    }
    if (source && !isSameSource(row.source, source)) throw problem.immutableField('/source');
  }

  /** Returns scorers in the order of the ids. Errors: 404 for an unknown scorer, 400 for one that is not of kind `human`. */
  private async humanScorers(scope: Scope, ids: readonly string[]): Promise<ScorerEntity[]> {
    const byId = new Map((await this.scorers.findMany(scope, ids)).map((row) => [row.scorer_id, row]));
    const errors: FieldError[] = [];
    const scorers = ids.map((id, index) => {
      const scorer = byId.get(id);
      const pointer = `/scorer_ids/${index}`;
      if (!scorer) throw problem.unknownReference(pointer, 'scorer', id);
      if (scorer.scorer_kind !== 'human') {
        const detail = `must be a scorer of kind \`human\`; this one is of kind \`${scorer.scorer_kind}\`, which the service runs`;
        errors.push({ pointer, detail });
      }
      return scorer;
    });
    if (errors.length > 0) throw problem.invalidFields(errors);
    return scorers;
  }

  /** Selects the items. Errors: 422 for no items, and for more than a queue can have. */
  private async select(
    scope: Scope,
    { source }: CreateAnnotationQueueDto,
    signal: AbortSignal,
  ): Promise<TargetRef[]> {
    const selected = await this.selector.selectOrCount(scope, selectionOf(source), signal);
    if (typeof selected === 'number') {
      throw problem.validationFailed([
        {
          pointer: '/source',
          detail: `selects ${selected} items, but a queue has at most ${ITEMS_MAX}; narrow it, or set \`limit\` to take the newest`,
        },
      ]);
    }
    if (selected.length === 0) {
      throw problem.validationFailed([
        { pointer: '/source', detail: 'selects no items; a queue needs at least one' },
      ]);
    }
    return selected;
  }

  private async withProgress(
    scope: Scope,
    { view, version }: Versioned<AnnotationQueueDto>,
  ): Promise<Versioned<AnnotationQueueDto>> {
    const [current] = await this.withCurrent(scope, [view]);
    return withProgressInETag(current!, version);
  }

  private async withCurrent(
    scope: Scope,
    views: readonly AnnotationQueueDto[],
  ): Promise<AnnotationQueueDto[]> {
    if (views.length === 0) return [];
    const claims = await this.queues.countClaims(
      scope,
      views.map(({ queue_id }) => queue_id),
    );
    const erased = await this.scorers.missing(
      scope,
      views.flatMap((view) => view.scorer_ids),
    );
    return views.map((view) => ({
      ...withClaims(view, claims.get(view.queue_id)!),
      scorers: view.scorers.map((one) => ({ ...one, erased: erased.has(one.scorer_id) })),
    }));
  }
}

/** Returns the view with an ETag of the generation and the progress, so that `If-None-Match` notices the work on items. */
const withProgressInETag = (
  view: AnnotationQueueDto,
  generation: string | number,
): Versioned<AnnotationQueueDto> => {
  const { completed_count, in_progress_count, skipped_count } = view;
  return new Versioned(view, [generation, completed_count, in_progress_count, skipped_count].join('-'));
};

/** Reduces the ETags of a condition to their generations, because work on the items does not make an edit stale. */
const generationsIn = (ifMatch: string | undefined): string | undefined =>
  ifMatch?.replace(/"(\d+)(-\d+){3}"/g, '"$1"');

const toItem = (target: TargetRef): NewItem => ({
  item_id: newId('qitem'),
  trace_id: target.trace_id,
  session_id: target.session_id,
  experiment_id: target.result_experiment_id ?? null,
  result_id: target.result_id ?? null,
  case_id: target.case_id ?? null,
});

function checkLive(scorers: readonly ScorerEntity[]): void {
  const archived = scorers.find(({ archived_at }) => archived_at !== null);
  if (archived) {
    throw problem.conflict(`The scorer ${archived.scorer_id} is archived. Restore it, or omit it.`);
  }
}

const SELECTORS = ['filters', 'experiment_id', 'trace_ids'] as const;
const MEMBERS = [...SELECTORS, 'since', 'until', 'limit'] as const;
const POINTER = '/source';

const isSet = (value: unknown): boolean => value !== undefined && value !== null;

/** Checks a source. Errors: 400 unless it has exactly one selector, for filters of the wrong type, and for an empty time range. */
function checkSource(source: AnnotationSourceDto): void {
  const selectors = SELECTORS.filter((name) => isSet(source[name]));
  const errors: FieldError[] = [];
  if (selectors.length !== 1) {
    errors.push({ pointer: '', detail: `must have exactly one of ${SELECTORS.join(', ')}` });
  }
  errors.push(...conditionErrors(source));
  if (errors.length > 0) throw problem.invalidFields(errors).withPointerPrefix(POINTER);
}

/** Runs a check of a source. The pointers of its errors are relative to the body. */
async function withinSource(check: () => Promise<void> | void): Promise<void> {
  try {
    await check();
  } catch (error) {
    throw error instanceof Problem ? error.withPointerPrefix(POINTER) : error;
  }
}

/** Returns the selection of a checked source: traces, or the results of an experiment. */
const selectionOf = (source: AnnotationSourceDto): Selection => ({
  grain: 'trace',
  traceIds: source.trace_ids ? [...new Set(source.trace_ids)] : undefined,
  sessionIds: undefined,
  agentIds: undefined,
  experimentId: source.experiment_id ?? undefined,
  ...parseConditions(source),
  limit: source.limit ?? undefined,
  cap: ITEMS_MAX,
  unscoredOnly: false,
});

/** Converts a source to its stored form, which has only the members that are set. */
const storedSource = (source: AnnotationSourceDto): RawJson => {
  const members = MEMBERS.flatMap((name) => (isSet(source[name]) ? [[name, source[name]] as const] : []));
  return new RawJson(JSON.stringify(Object.fromEntries(members)));
};

/** Returns whether a source equals a stored one. */
const isSameSource = (stored: RawJson, source: AnnotationSourceDto): boolean =>
  sha256OfJson(stored.parse()) === sha256OfJson(storedSource(source).parse());
