import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, type Tx } from '#platform/db';
import {
  checkIfMatch,
  checkValues,
  mergeWithin,
  patchMetadata,
  checkImmutable,
  type Versioned,
} from '#platform/http';
import { newId } from '#platform/ids';
import { toRawJson, toRawJsonOrNull } from '#platform/json';
import type { Page } from '#platform/paging';
import { problem } from '#platform/problem';
import { searchAsList } from '#platform/paging';
import { AuditLog, changesTold, given } from '../../registry';
import {
  checkWorkspaceOfCreate,
  checkWorkspaceOfPatch,
  checkWorkspaceOfSearch,
} from '../shared/workspace-body';
import { configPairs } from './config-pairs';
import { ExperimentFinalizer } from './experiment-finalizer';
import { checkSize, checkSubject, checkWritable, ExperimentRules } from './experiment-rules';
import type { CreateExperimentDto, ExperimentDto, PatchExperimentDto } from './experiment.dto';
import type { ExperimentListQueryDto, ExperimentSearchDto } from './experiment-query.dto';
import type { ExperimentEntity } from './experiment.entity';
import { toExperimentDto } from './experiment.mapper';
import { ExperimentRepository } from './experiment.repository';

@Injectable()
export class ExperimentService {
  constructor(
    private readonly database: Database,
    private readonly experiments: ExperimentRepository,
    private readonly rules: ExperimentRules,
    private readonly finalizer: ExperimentFinalizer,
    private readonly audit: AuditLog,
  ) {}

  /**
   * Creates an experiment or, with `resume`, answers the running one of the same name, experiment_name and dataset.
   * Errors: 400 for half a subject pair or a dataset too large to snapshot, 404 naming an unknown dataset or baseline.
   */
  async create(
    scope: Scope,
    dto: CreateExperimentDto,
  ): Promise<Versioned<ExperimentDto> & { resumed: boolean }> {
    checkWorkspaceOfCreate(scope, dto.workspace_id);
    checkSubject(dto.subject_kind ?? null, dto.subject_id ?? null);
    const datasetId = dto.dataset_id ?? null;
    const datasetVersion = dto.dataset_version ?? null;
    if (datasetVersion !== null && datasetId === null) {
      throw problem.invalidFields([{ pointer: '/dataset_version', detail: 'goes with a dataset_id' }]);
    }
    return this.database.transaction(async (tx) => {
      await this.rules.checkBaseline(tx, scope, dto.baseline_experiment_id ?? null);
      const dataset =
        datasetId === null ? null : await this.rules.lockDataset(tx, scope, datasetId, datasetVersion);
      checkValues(dto);
      const row = newRow(scope, dto, dataset?.revision ?? null);
      if (dto.resume === true) {
        const running = await this.findRunning(tx, scope, row);
        if (running) return { ...versionedView(running), resumed: true };
      }
      if (dataset) checkSize(dataset, datasetVersion);
      await this.experiments.insert(row, tx);
      await this.audit.record(tx, scope, {
        ...audited(row),
        action: 'create',
        changes: given({ name: row.name }),
      });
      return { ...versionedView(row), resumed: false };
    });
  }

  async get(scope: Scope, id: string): Promise<Versioned<ExperimentDto>> {
    const row = await this.experiments.find(scope, id);
    if (!row) throw problem.notFound('experiment', id);
    return versionedView(row);
  }

  async list(
    scope: Scope,
    query: ExperimentListQueryDto | ExperimentSearchDto,
  ): Promise<Page<ExperimentDto>> {
    const { rows, page } = await this.experiments.list(scope, query);
    return { items: rows.map(toExperimentDto), page };
  }

  search(scope: Scope, dto: ExperimentSearchDto): Promise<Page<ExperimentDto>> {
    checkWorkspaceOfSearch(scope, dto.workspace_id);
    return searchAsList(dto, (query) => this.list(scope, query));
  }

  /** Changes a running experiment; a final `experiment_status` freezes it. Every patch of a frozen one is 409. */
  async patch(
    scope: Scope,
    id: string,
    dto: PatchExperimentDto,
    ifMatch?: string,
  ): Promise<Versioned<ExperimentDto>> {
    return this.database.transaction(async (tx) => {
      const row = await this.experiments.lock(tx, scope, id, 'update');
      if (!row) throw problem.notFound('experiment', id);
      const changes = changesOf(row, dto);
      if (dto.baseline_experiment_id !== undefined) {
        await this.rules.checkBaseline(tx, scope, dto.baseline_experiment_id, id);
      }
      checkIfMatch(ifMatch, row.generation);
      checkWritable(row);
      checkWorkspaceOfPatch(scope, dto.workspace_id);
      checkImmutable(row, dto, ['experiment_id', 'dataset_id', 'dataset_version']);
      checkValues(dto);
      const status = dto.experiment_status ?? 'running';
      const at = new Date();
      await this.experiments.update(tx, scope, id, {
        ...changes,
        updated_at: at,
        generation: row.generation + 1,
      });
      if (status !== 'running') await this.finalizer.finalize(tx, scope, row, status, at);
      const told = changesTold(row, { ...changes, experiment_status: status }, TOLD);
      if (told.length > 0)
        await this.audit.record(tx, scope, { ...audited(row), action: 'update', changes: told });
      return versionedView((await this.experiments.find(scope, id, tx))!);
    });
  }

  /** Archives an experiment, running or frozen; repeated, it answers the same. */
  async archive(scope: Scope, id: string, ifMatch?: string): Promise<Versioned<ExperimentDto>> {
    return this.database.transaction(async (tx) => {
      const row = await this.experiments.lock(tx, scope, id, 'update');
      if (!row) throw problem.notFound('experiment', id);
      if (!row.archived_at) {
        checkIfMatch(ifMatch, row.generation);
        const now = new Date();
        await this.experiments.update(tx, scope, id, {
          archived_at: now,
          updated_at: now,
          generation: row.generation + 1,
        });
        await this.audit.record(tx, scope, { ...audited(row), action: 'archive' });
      }
      return versionedView((await this.experiments.find(scope, id, tx))!);
    });
  }

  private async findRunning(tx: Tx, scope: Scope, row: ExperimentEntity): Promise<ExperimentEntity | null> {
    const key = {
      name: row.name,
      experimentName: row.experiment_name,
      datasetId: row.dataset_id,
      datasetVersion: row.dataset_version,
    };
    await this.experiments.lockResume(tx, scope, key);
    return this.experiments.findRunning(tx, scope, key);
  }
}

/** Members whose values the audit log tells. */
const TOLD = [
  'name',
  'experiment_name',
  'experiment_status',
  'baseline_experiment_id',
  'subject_kind',
  'subject_id',
  'tags',
] as const;

const audited = (row: ExperimentEntity) => ({
  type: 'experiment' as const,
  id: row.experiment_id,
  workspaceId: row.workspace_id,
});

function newRow(scope: Scope, dto: CreateExperimentDto, datasetRevision: number | null): ExperimentEntity {
  const now = new Date();
  const config = dto.config ?? {};
  return {
    experiment_id: newId('exp'),
    workspace_id: scope.workspaceId,
    name: dto.name,
    experiment_name: dto.experiment_name ?? dto.name,
    description: dto.description ?? null,
    config: toRawJson(config),
    config_pairs: configPairs(config),
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
    created_at: now,
    updated_at: now,
    created_by: scope.principalId,
    archived_at: null,
  };
}

/** The columns a patch changes. 400 where it would leave half a subject pair or too large a metadata. */
function changesOf(row: ExperimentEntity, dto: PatchExperimentDto): Partial<ExperimentEntity> {
  const subject = {
    subject_kind: dto.subject_kind === undefined ? row.subject_kind : dto.subject_kind,
    subject_id: dto.subject_id === undefined ? row.subject_id : dto.subject_id,
  };
  checkSubject(subject.subject_kind, subject.subject_id);
  const metrics = dto.metrics !== undefined ? dto.metrics : dto.summary?.metrics;
  return {
    ...subject,
    ...(dto.name !== undefined && { name: dto.name }),
    ...(dto.experiment_name !== undefined && { experiment_name: dto.experiment_name }),
    ...(dto.description !== undefined && { description: dto.description }),
    ...(dto.config !== undefined && {
      config: toRawJson(dto.config ?? {}),
      config_pairs: configPairs(dto.config),
    }),
    ...(dto.baseline_experiment_id !== undefined && { baseline_experiment_id: dto.baseline_experiment_id }),
    ...(dto.context_manifest !== undefined && { context_manifest: toRawJsonOrNull(dto.context_manifest) }),
    ...(dto.tags !== undefined && { tags: dto.tags ?? [] }),
    ...(dto.metadata !== undefined && { metadata: patchMetadata(row.metadata, dto.metadata) }),
    ...(metrics !== undefined && { metrics: metrics && mergeWithin('/metrics', row.metrics, metrics) }),
    ...(dto.error !== undefined && { error: toRawJsonOrNull(dto.error) }),
  };
}

const versionedView = (row: ExperimentEntity): Versioned<ExperimentDto> => ({
  view: toExperimentDto(row),
  version: row.generation,
});
