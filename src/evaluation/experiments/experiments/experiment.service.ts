import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { checkValues, mergeWithin, patchMetadata, type Versioned } from '#platform/http';
import { newId } from '#platform/ids';
import { toRawJson, toRawJsonOrNull } from '#platform/json';
import { JsonThreads } from '#platform/json-threads';
import { type Page, searchAsList } from '#platform/paging';
import { problem } from '#platform/problem';
import {
  checkLive,
  checkWorkspaceOfCreate,
  checkWorkspaceOfSearch,
  type ResourceKind,
  ResourceKit,
  stamps,
  WorkspaceResourceService,
} from '../../../resources';
import { type DatasetEntity, DatasetRepository } from '../../datasets';
import { ExperimentFinalizer, SNAPSHOT_RECORDS_MAX } from './experiment-finalizer';
import {
  type CreateExperimentDto,
  type ExperimentDto,
  type PatchExperimentDto,
  toExperimentDto,
} from './experiment.dto';
import type { ExperimentListQueryDto, ExperimentSearchDto } from './experiment-query.dto';
import type { ExperimentEntity, ExperimentState } from './experiment.entity';
import { ExperimentRepository } from './experiment.repository';

const EXPERIMENT: ResourceKind<ExperimentEntity, ExperimentDto> = {
  noun: 'experiment',
  type: 'experiment',
  id: 'experiment_id',
  generation: 'generation',
  immutable: ['experiment_id', 'dataset_id', 'dataset_version'],
  auditedFields: [
    'name',
    'experiment_name',
    'experiment_status',
    'baseline_experiment_id',
    'subject_kind',
    'subject_id',
    'tags',
  ],
  createdFields: ['name'],
  derived: (_, { finalized_at }) => (finalized_at ? { updated_at: finalized_at } : {}),
  toView: toExperimentDto,
};

/**
 * Columns that change only with another one, which the audit log shows: `experiment_status` for finalizing, or `config`.
 */
const DEPENDENT_COLUMNS = ['summary', 'dataset_snapshot', 'snapshot_records', 'finalized_at', 'config_pairs'];

/** Experiments: created or resumed, changed while they run, finalized, archived and restored. */
@Injectable()
export class ExperimentService extends WorkspaceResourceService<ExperimentEntity, ExperimentDto> {
  constructor(
    kit: ResourceKit,
    private readonly experiments: ExperimentRepository,
    private readonly datasets: DatasetRepository,
    private readonly finalizer: ExperimentFinalizer,
    private readonly threads: JsonThreads,
  ) {
    super(kit, experiments, EXPERIMENT);
  }

  /**
   * Creates an experiment. With `resume`, returns the running one of the same name, experiment_name and dataset instead.
   * Errors: 400 for half a subject pair or a dataset too large to snapshot, 404 naming an unknown dataset or baseline,
   * 409 for an archived dataset.
   */
  async create(
    scope: Scope,
    dto: CreateExperimentDto,
  ): Promise<{ experiment: Versioned<ExperimentDto>; isNew: boolean }> {
    checkWorkspaceOfCreate(scope, dto.workspace_id);
    checkSubject(dto.subject_kind ?? null, dto.subject_id ?? null);
    const { dataset_id = null, dataset_version = null } = dto;
    if (dataset_version !== null && dataset_id === null) {
      throw invalid('/dataset_version', 'requires dataset_id');
    }
    const pairs = await this.threads.pairs(scope, dto.config ?? {});
    return this.transaction(scope, async (tx) => {
      await this.checkBaseline(tx, scope, dto.baseline_experiment_id ?? null);
      const dataset =
        dataset_id === null ? null : await this.lockDataset(tx, scope, dataset_id, dataset_version);
      checkValues(dto);
      const row = newRow(scope, dto, pairs, dataset?.revision ?? null);
      if (dto.resume === true) {
        await this.experiments.lockResume(tx, scope, row);
        const running = await this.experiments.findRunning(tx, scope, row);
        if (running) return { experiment: this.versioned(running), isNew: false };
      }
      if (dataset && dataset_version === null) checkSnapshotSize(dataset);
      return { experiment: this.versioned(await this.insert(tx, scope, row)), isNew: true };
    });
  }

  async list(
    scope: Scope,
    query: ExperimentListQueryDto | ExperimentSearchDto,
  ): Promise<Page<ExperimentDto>> {
    return this.page(await this.experiments.list(scope, query));
  }

  search(scope: Scope, dto: ExperimentSearchDto): Promise<Page<ExperimentDto>> {
    checkWorkspaceOfSearch(scope, dto.workspace_id);
    return searchAsList(dto, (query) => this.list(scope, query));
  }

  /**
   * Changes a running experiment. A final `experiment_status` freezes it, in the same transaction and under the
   * exclusive lock, so that no result slips in behind the summary. Errors: 404 for an unknown baseline, 409 for a frozen
   * experiment; those of every change.
   */
  async patch(
    scope: Scope,
    id: string,
    dto: PatchExperimentDto,
    ifMatch?: string,
  ): Promise<Versioned<ExperimentDto>> {
    const pairs = dto.config === undefined ? undefined : await this.threads.pairs(scope, dto.config ?? {});
    return this.transaction(scope, async (tx) => {
      const row = await this.lock(tx, scope, id, 'update');
      const columns = { ...patchedColumns(row, dto), config_pairs: pairs };
      await this.checkBaseline(tx, scope, dto.baseline_experiment_id ?? null, id);
      await this.checkChange(tx, scope, row, dto, ifMatch);
      const status = dto.experiment_status ?? 'running';
      const final = status === 'running' ? {} : await this.finalizer.finalize(tx, scope, row, status);
      return this.versioned(await this.write(tx, scope, row, { ...columns, ...final }, 'update'));
    });
  }

  protected override checkWritable(row: ExperimentEntity): void {
    checkRunning(row);
  }

  protected override auditedChanges(row: ExperimentEntity, changed: Partial<ExperimentEntity>) {
    return super.auditedChanges(row, changed).filter(({ member }) => !DEPENDENT_COLUMNS.includes(member));
  }

  /**
   * Locks the dataset of a new experiment, so that its revision does not change. Errors: 404 with the unknown reference,
   * 409 for an archived dataset.
   */
  private async lockDataset(
    tx: Tx,
    scope: Scope,
    datasetId: string,
    version: number | null,
  ): Promise<DatasetEntity> {
    const dataset = await this.datasets.lock(tx, scope, datasetId, 'share');
    if (!dataset) throw problem.unknownReference('/dataset_id', 'dataset', datasetId);
    if (version !== null && version > (dataset.latest_version ?? 0)) {
      throw problem.unknownReference('/dataset_version', 'dataset version', String(version));
    }
    checkLive(dataset, 'dataset');
    return dataset;
  }

  /** 404 unless the baseline is an experiment of the workspace, 400 for the experiment itself. */
  private async checkBaseline(
    tx: Tx,
    scope: Scope,
    baselineId: string | null,
    experimentId?: string,
  ): Promise<void> {
    if (baselineId === null) return;
    if (baselineId === experimentId) {
      throw invalid('/baseline_experiment_id', 'must be a different experiment');
    }
    if (!(await this.experiments.exists(scope, baselineId, tx))) {
      throw problem.unknownReference('/baseline_experiment_id', 'experiment', baselineId);
    }
  }
}

/** Throws 409 for an experiment that takes no more writes. */
export function checkRunning(experiment: Pick<ExperimentState, 'experiment_status' | 'archived_at'>): void {
  const { experiment_status: status } = experiment;
  if (status !== 'running') {
    throw problem.conflict(`The experiment is ${status}. Finalized experiments cannot be changed.`);
  }
  checkLive(experiment, 'experiment');
}

const invalid = (pointer: string, detail: string) => problem.invalidFields([{ pointer, detail }]);

/** 400 unless both halves of the subject are set, or neither. */
function checkSubject(kind: string | null, id: string | null): void {
  if ((kind === null) === (id === null)) return;
  const missing = kind === null ? 'subject_kind' : 'subject_id';
  throw invalid(`/${missing}`, 'subject_kind and subject_id must be set together, or neither');
}

/** 400 for a dataset with more live records than a snapshot holds. */
function checkSnapshotSize({ record_count }: DatasetEntity): void {
  if (record_count <= SNAPSHOT_RECORDS_MAX) return;
  const detail = `has ${record_count} records, but a snapshot holds at most ${SNAPSHOT_RECORDS_MAX}; pin a CSV version`;
  throw invalid('/dataset_id', detail);
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
    baseline_experiment_id: dto.baseline_experiment_id ?? null,
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

/** The columns that a patch sets. 400 where it would leave half a subject pair, or metadata that is too large. */
function patchedColumns(row: ExperimentEntity, dto: PatchExperimentDto): Partial<ExperimentEntity> {
  const { subject_kind = row.subject_kind, subject_id = row.subject_id } = dto;
  checkSubject(subject_kind, subject_id);
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
    context_manifest: rawOf(dto.context_manifest),
    tags: dto.tags === null ? [] : dto.tags,
    metadata: patchMetadata(row.metadata, dto.metadata),
    metrics: metrics && mergeWithin('/metrics', row.metrics, metrics),
    error: rawOf(dto.error),
  };
}
