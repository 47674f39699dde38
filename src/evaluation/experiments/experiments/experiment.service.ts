import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { checkValues, mergeWithin, patchMetadata, Versioned, versionShowing } from '#platform/http';
import { newId } from '#platform/ids';
import { type RawJson, sameJson, scalarPairs, toRawJson, toRawJsonOrNull } from '#platform/json';
import { type Page, searchAsList } from '#platform/paging';
import { explainConstraint, problem } from '#platform/problem';
import {
  checkLive,
  checkWorkspaceOfCreate,
  checkWorkspaceOfSearch,
  type ResourceKind,
  ResourceKit,
  stamps,
  WorkspaceResourceService,
} from '../../../resources';
import { unknownScorerDetail } from '../../../telemetry';
import { checkCaseSource, ExperimentCases } from './experiment-cases';
import { ExperimentFinalizer } from './experiment-finalizer';
import {
  type CreateExperimentDto,
  type DatasetFilterDto,
  type ExperimentDto,
  type PatchExperimentDto,
  toExperimentDto,
} from './experiment.dto';
import type { ExperimentListQueryDto, ExperimentSearchDto } from './experiment-query.dto';
import type { ExperimentEntity, ExperimentState } from './experiment.entity';
import { ExperimentRepository } from './experiment.repository';
import { scoresOf, SUMMARY_SCORERS_MAX, SummaryRepository } from './summary.repository';

const EXPERIMENT: ResourceKind<ExperimentEntity, ExperimentDto> = {
  noun: 'experiment',
  type: 'experiment',
  erasure: 'experiment',
  id: 'experiment_id',
  generation: 'generation',
  immutable: ['experiment_id', 'dataset_id', 'dataset_version', 'trials', 'run_key'],
  auditedFields: [
    'name',
    'experiment_name',
    'experiment_status',
    'baseline_experiment_id',
    'subject_kind',
    'subject_id',
    'tags',
  ],
  createdFields: ['name', 'run_key'],
  derived: (_, { finalized_at }) => (finalized_at ? { updated_at: finalized_at } : {}),
  toView: toExperimentDto,
};

explainConstraint(
  'experiments_run_key',
  'conflict',
  'Another experiment with this name and experiment_name already has this run_key. Use a different one.',
);

/**
 * Columns that the audit log omits, because they change only with one that it has: `experiment_status`, `config` or
 * `baseline_experiment_id`.
 */
const DEPENDENT_COLUMNS = [
  'summary',
  'dataset_snapshot',
  'snapshot_records',
  'finalized_at',
  'config_pairs',
  'baseline_erased',
];

/** Creates, resumes, changes, finalizes, archives and restores experiments. */
@Injectable()
export class ExperimentService extends WorkspaceResourceService<ExperimentEntity, ExperimentDto> {
  constructor(
    kit: ResourceKit,
    private readonly experiments: ExperimentRepository,
    private readonly cases: ExperimentCases,
    private readonly finalizer: ExperimentFinalizer,
    private readonly summaries: SummaryRepository,
  ) {
    super(kit, experiments, EXPERIMENT);
  }

  /**
   * Creates an experiment. With `resume`, returns the one that has the run key, or else the running one of the same name,
   * experiment_name and dataset. Errors: 400 for only one of `subject_kind` and `subject_id`, 404 naming an unknown
   * baseline, 409 for a run key that is taken, for a resume with other values, and for a new experiment over an archived
   * dataset, and those of `ExperimentCases`.
   */
  async create(
    scope: Scope,
    dto: CreateExperimentDto,
    signal: AbortSignal,
  ): Promise<{ experiment: Versioned<ExperimentDto>; isNew: boolean }> {
    checkWorkspaceOfCreate(scope, dto.workspace_id);
    checkSubject(dto.subject_kind ?? null, dto.subject_id ?? null);
    checkCaseSource(dto);
    const pairs = scalarPairs(dto.config ?? {});
    const inFile = await this.cases.countInFile(scope, dto, signal);
    const { row, isNew } = await this.transaction(scope, async (tx) => {
      await this.checkBaseline(tx, scope, dto.baseline_experiment_id ?? null);
      const dataset = await this.cases.lock(tx, scope, dto);
      checkValues(dto);
      const created = newRow(scope, dto, pairs, dataset?.revision ?? null);
      const existing = await this.findRun(tx, scope, created, dto);
      if (existing) return { row: existing, isNew: false };
      if (dataset) checkLive(dataset, 'dataset');
      const count = dataset && (await this.cases.count(tx, scope, dataset, dto, inFile));
      return { row: await this.insert(tx, scope, { ...created, expected_case_count: count }), isNew: true };
    });
    return { experiment: await this.withScores(scope, row), isNew };
  }

  /** Returns the experiment to resume, or null. Errors: 409 for a run key that is taken and for a resume with other values. */
  private async findRun(
    tx: Tx,
    scope: Scope,
    row: ExperimentEntity,
    dto: CreateExperimentDto,
  ): Promise<ExperimentEntity | null> {
    const { run_key } = row;
    if (run_key === null && dto.resume !== true) return null;
    await this.experiments.lockNames(tx, scope, row);
    const existing =
      run_key === null
        ? await this.experiments.findRunning(tx, scope, row)
        : await this.experiments.findByRunKey(tx, scope, row);
    if (!existing) return null;
    const { experiment_id: id } = existing;
    if (dto.resume !== true) {
      throw problem.conflict(`The experiment ${id} has this run_key. Set resume to continue it.`);
    }
    const differing = differingMembers(existing, row, dto);
    if (differing.length === 0) return existing;
    throw problem.conflict(
      `The experiment ${id} cannot be resumed with a different ${differing.join(', ')}. ` +
        'Send the values that it was created with, or another run_key.',
    );
  }

  /** Returns one experiment. Errors: 404. */
  override async get(scope: Scope, id: string): Promise<Versioned<ExperimentDto>> {
    return this.withScores(scope, await this.find(scope, id));
  }

  override async archive(scope: Scope, id: string, ifMatch?: string): Promise<Versioned<ExperimentDto>> {
    await super.archive(scope, id, ifMatch);
    return this.get(scope, id);
  }

  override async restore(scope: Scope, id: string, ifMatch?: string): Promise<Versioned<ExperimentDto>> {
    await super.restore(scope, id, ifMatch);
    return this.get(scope, id);
  }

  async list(
    scope: Scope,
    query: ExperimentListQueryDto | ExperimentSearchDto,
  ): Promise<Page<ExperimentDto>> {
    return this.page(await this.experiments.list(scope, query));
  }

  /** Searches experiments. Errors: 422 for a `score` of a scorer name that no scorer has, and no score. */
  async search(scope: Scope, dto: ExperimentSearchDto): Promise<Page<ExperimentDto>> {
    checkWorkspaceOfSearch(scope, dto.workspace_id);
    if (dto.score && (await this.experiments.isUnknownScorer(scope, dto.score.scorer))) {
      const detail = unknownScorerDetail(dto.score.scorer);
      throw problem.validationFailed([{ pointer: '/score/scorer', detail }]);
    }
    return searchAsList(dto, (query) => this.list(scope, query));
  }

  /**
   * Changes a running experiment. A final `experiment_status` finalizes it, in the same transaction and under the
   * exclusive lock, so that no result slips in behind the summary. Errors: 404 for an unknown baseline, 409 for a
   * finalized experiment; those of every change.
   */
  async patch(
    scope: Scope,
    id: string,
    dto: PatchExperimentDto,
    ifMatch?: string,
  ): Promise<Versioned<ExperimentDto>> {
    const pairs = dto.config === undefined ? undefined : scalarPairs(dto.config ?? {});
    const written = await this.transaction(scope, async (tx) => {
      const row = await this.lock(tx, scope, id, 'update');
      const columns = { ...patchedColumns(row, dto), config_pairs: pairs };
      await this.checkBaseline(tx, scope, dto.baseline_experiment_id ?? null, id);
      await this.checkChange(tx, scope, row, dto, ifMatch);
      checkSameFilter(row, dto);
      const status = dto.experiment_status ?? 'running';
      const final = status === 'running' ? {} : await this.finalizer.finalize(tx, scope, row, status);
      return this.write(tx, scope, row, { ...columns, ...final }, 'update');
    });
    return this.withScores(scope, written);
  }

  /** Returns the view of an experiment, with the current scores of its results. */
  private async withScores(scope: Scope, row: ExperimentEntity): Promise<Versioned<ExperimentDto>> {
    const { experiment_id: id, generation } = row;
    const view = toExperimentDto(row);
    const summary = row.summary && view.summary;
    const isFinal = summary && !summary.is_truncated && !(await this.summaries.mayHaveLateScores(scope, id));
    const current = isFinal ? [] : await this.summaries.summarizeAll(scope, id);
    const current_scores = isFinal ? summary.scores! : scoresOf(current.slice(0, SUMMARY_SCORERS_MAX));
    const late_count = summary ? current.reduce((sum, { late_count: count }) => sum + count, 0) : 0;
    const shown = [toRawJson(current_scores), toRawJson(late_count > 0 ? { late_count } : {})];
    return new Versioned({ ...view, current_scores, late_count }, versionShowing(generation, shown));
  }

  protected override checkWritable(row: ExperimentEntity): void {
    checkRunning(row);
  }

  protected override auditedChanges(row: ExperimentEntity, changed: Partial<ExperimentEntity>) {
    return super.auditedChanges(row, changed).filter(({ member }) => !DEPENDENT_COLUMNS.includes(member));
  }

  /** Throws 404 unless the baseline is an experiment of the workspace, and 400 for the experiment itself. */
  private async checkBaseline(
    tx: Tx,
    scope: Scope,
    baselineId: string | null,
    experimentId?: string,
  ): Promise<void> {
    if (baselineId === null) return;
    if (baselineId === experimentId) {
      throw problem.invalidField('/baseline_experiment_id', 'must be a different experiment');
    }
    if (!(await this.experiments.hold(tx, scope, baselineId))) {
      throw problem.unknownReference('/baseline_experiment_id', 'experiment', baselineId);
    }
  }
}

/** Throws 409 for an experiment that is finalized or archived. */
export function checkRunning(experiment: Pick<ExperimentState, 'experiment_status' | 'archived_at'>): void {
  const { experiment_status: status } = experiment;
  if (status !== 'running') {
    throw problem.conflict(
      `The experiment is ${status}. A finalized experiment cannot be changed. Create another one, or delete it as a whole.`,
    );
  }
  checkLive(experiment, 'experiment');
}

/** Throws 400 if only one of `subject_kind` and `subject_id` is set. */
function checkSubject(kind: string | null, id: string | null): void {
  if ((kind === null) === (id === null)) return;
  const missing = kind === null ? 'subject_kind' : 'subject_id';
  const present = kind === null ? 'subject_id' : 'subject_kind';
  throw problem.invalidField(`/${missing}`, `is required with ${present}. Set both, or neither`);
}

/** Members whose values must be the same to resume an experiment. */
const RESUMED_SCALARS = ['dataset_id', 'dataset_version', 'trials', 'subject_kind', 'subject_id'] as const;
const RESUMED_DOCUMENTS = ['dataset_filter', 'config'] as const;

/** Returns a filter as it is stored, without the members that are null. */
function filterOf(filter: DatasetFilterDto | null | undefined): RawJson | null {
  const members = Object.entries(filter ?? {}).filter(([, value]) => value !== null && value !== undefined);
  return members.length > 0 ? toRawJson(Object.fromEntries(members)) : null;
}

function newRow(
  scope: Scope,
  dto: CreateExperimentDto,
  configPairs: string[],
  datasetRevision: number | null,
): ExperimentEntity {
  return {
    ...stamps(scope),
    experiment_id: newId('exp'),
    workspace_id: scope.workspaceId,
    name: dto.name,
    experiment_name: dto.experiment_name ?? dto.name,
    description: dto.description ?? null,
    config: toRawJson(dto.config ?? {}),
    config_pairs: configPairs,
    dataset_id: dto.dataset_id ?? null,
    dataset_version: dto.dataset_version ?? null,
    dataset_revision: datasetRevision,
    dataset_filter: filterOf(dto.dataset_filter),
    dataset_erased: false,
    records_erased: false,
    expected_case_count: null,
    trials: dto.trials ?? 1,
    run_key: dto.run_key ?? null,
    baseline_experiment_id: dto.baseline_experiment_id ?? null,
    baseline_erased: false,
    subject_kind: dto.subject_kind ?? null,
    subject_id: dto.subject_id ?? null,
    context_manifest: toRawJsonOrNull(dto.context_manifest),
    experiment_status: 'running',
    metrics: null,
    error: null,
    summary: null,
    dataset_snapshot: null,
    snapshot_records: null,
    tags: dto.tags ?? [],
    metadata: toRawJson(dto.metadata ?? {}),
    finalized_at: null,
    generation: 1,
  };
}

/**
 * Returns the columns that a patch sets. Errors: 400 if only one of `subject_kind` and `subject_id` would be set, or if the
 * metadata is too large.
 */
function patchedColumns(row: ExperimentEntity, dto: PatchExperimentDto): Partial<ExperimentEntity> {
  const { subject_kind = row.subject_kind, subject_id = row.subject_id } = dto;
  checkSubject(subject_kind, subject_id);
  const baselineId = dto.baseline_experiment_id;
  const isOtherBaseline = baselineId !== undefined && baselineId !== row.baseline_experiment_id;
  const metrics = dto.metrics === undefined ? dto.summary?.metrics : dto.metrics;
  const rawOf = (value: unknown) => (value === undefined ? undefined : toRawJsonOrNull(value));
  return {
    subject_kind,
    subject_id,
    name: dto.name,
    experiment_name: dto.experiment_name,
    description: dto.description,
    config: dto.config === undefined ? undefined : toRawJson(dto.config ?? {}),
    baseline_experiment_id: dto.baseline_experiment_id,
    // another baseline exists, see `checkBaseline`
    baseline_erased: isOtherBaseline ? false : undefined,
    context_manifest: rawOf(dto.context_manifest),
    tags: dto.tags === null ? [] : dto.tags,
    metadata: patchMetadata(row.metadata, dto.metadata),
    metrics: metrics && mergeWithin('/metrics', row.metrics, metrics),
    error: rawOf(dto.error),
  };
}

/** Returns the members of a body that differ from an experiment. Absent members do not differ. */
function differingMembers(
  existing: ExperimentEntity,
  row: ExperimentEntity,
  dto: CreateExperimentDto,
): string[] {
  const scalars = RESUMED_SCALARS.filter((member) => existing[member] !== row[member]);
  const documents = RESUMED_DOCUMENTS.filter((member) => !areSame(existing[member], row[member]));
  return [...scalars, ...documents].filter((member) => dto[member] !== undefined);
}

/** Throws 422 for a `dataset_filter` that differs from the experiment's. */
function checkSameFilter({ dataset_filter }: ExperimentEntity, dto: PatchExperimentDto): void {
  if (dto.dataset_filter === undefined || areSame(filterOf(dto.dataset_filter), dataset_filter)) return;
  throw problem.immutableField('/dataset_filter');
}

const areSame = (one: RawJson | null, other: RawJson | null): boolean =>
  one && other ? sameJson(one, other) : one === other;
