import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { type FieldError, problem } from '#platform/problem';
import {
  type CaseFilter,
  type DatasetEntity,
  DatasetReadingService,
  DatasetRepository,
  DatasetVersionRepository,
  RecordRepository,
} from '../../datasets';
import type { CreateExperimentDto, DatasetFilterDto } from './experiment.dto';

/** Maximum number of records in a dataset snapshot. */
export const SNAPSHOT_RECORDS_MAX = 10_000;

/** The members of a new experiment that name its cases. */
type CaseSource = Pick<CreateExperimentDto, 'dataset_id' | 'dataset_version' | 'dataset_filter' | 'trials'>;

/** Finds the cases of a dataset that back a new experiment. */
@Injectable()
export class ExperimentCases {
  constructor(
    private readonly datasets: DatasetRepository,
    private readonly records: RecordRepository,
    private readonly versions: DatasetVersionRepository,
    private readonly reading: DatasetReadingService,
  ) {}

  /**
   * Counts the cases of a pinned CSV version that a filter selects. Returns null without a version or a filter. Call it
   * outside of transactions, because it reads the file.
   */
  async countInFile(scope: Scope, source: CaseSource, signal: AbortSignal): Promise<number | null> {
    const { dataset_id: id = null, dataset_version: number = null } = source;
    const filter = toFilter(source.dataset_filter);
    if (id === null || number === null || filter === null) return null;
    const version = await this.versions.find(scope, id, number);
    // An unknown dataset or version is rejected later, in the transaction, like the other references.
    return version && this.reading.countCases(scope, version, filter, signal);
  }

  /**
   * Locks the dataset of a new experiment, so that its revision does not change. Errors: 404 naming the unknown dataset or
   * version.
   */
  async lock(
    tx: Tx,
    scope: Scope,
    { dataset_id: id = null, dataset_version: number = null }: CaseSource,
  ): Promise<DatasetEntity | null> {
    if (id === null) return null;
    const dataset = await this.datasets.lock(tx, scope, id, 'share');
    if (!dataset) throw problem.unknownReference('/dataset_id', 'dataset', id);
    if (number !== null && number > (dataset.latest_version ?? 0)) {
      throw unknownVersion(number);
    }
    return dataset;
  }

  /**
   * Counts the cases that back a new experiment. Errors: 400 for a filter that matches none, for more records than a
   * snapshot holds, for case ids that trials cannot extend, for an id that is not a case of the pinned CSV version, and for a missing `dataset_version` if the
   * dataset only has CSV versions; 404 naming an unknown record.
   *
   * @param inFile the result of `countInFile`
   */
  async count(
    tx: Tx,
    scope: Scope,
    dataset: DatasetEntity,
    { dataset_version: number = null, dataset_filter, trials }: CaseSource,
    inFile: number | null,
  ): Promise<number> {
    if (number === null) {
      const filter = toFilter(dataset_filter);
      const count = await this.countRecords(tx, scope, dataset, filter);
      if ((trials ?? 1) > 1) await this.checkTrialIds(tx, scope, dataset.dataset_id, filter ?? {});
      return count;
    }
    const version = await this.versions.find(scope, dataset.dataset_id, number, tx);
    if (!version) throw unknownVersion(number);
    await this.checkCaseIds(tx, scope, dataset.dataset_id, number, dataset_filter?.case_ids ?? []);
    if (inFile === 0) throw matchesNone();
    return inFile ?? version.row_count;
  }

  /** Checks that the results of all cases can have the ids of trials. */
  private async checkTrialIds(tx: Tx, scope: Scope, datasetId: string, filter: CaseFilter): Promise<void> {
    const unfit = await this.records.findUnfitForTrials(tx, scope, datasetId, filter);
    if (!unfit) return;
    throw problem.invalidField(
      '/trials',
      `must be 1, because the external_id of the record ${unfit} is longer than 251 characters or ends in # and digits, ` +
        'as the ids of trials do. Change the external_id, or exclude the record with dataset_filter',
    );
  }

  private async checkCaseIds(
    tx: Tx,
    scope: Scope,
    datasetId: string,
    number: number,
    ids: readonly string[],
  ): Promise<void> {
    if (ids.length === 0) return;
    const existing = await this.versions.existingCases(tx, scope, datasetId, number, [...new Set(ids)]);
    const unknown = ids.findIndex((id) => !existing.has(id));
    if (unknown >= 0) {
      throw problem.invalidField(
        `/dataset_filter/case_ids/${unknown}`,
        'must be a case of the pinned CSV version',
      );
    }
  }

  private async countRecords(
    tx: Tx,
    scope: Scope,
    { dataset_id, record_count, latest_version, revision }: DatasetEntity,
    filter: CaseFilter | null,
  ): Promise<number> {
    if (record_count === 0 && latest_version !== null) {
      throw problem.invalidField(
        '/dataset_version',
        'is required, because the cases of the dataset are all in CSV versions',
      );
    }
    const count =
      filter === null
        ? record_count
        : (await this.matchingRecords(tx, scope, dataset_id, revision, filter)).length;
    if (count > SNAPSHOT_RECORDS_MAX) {
      throw filter === null
        ? problem.invalidField(
            '/dataset_id',
            `has ${count} records, but a snapshot can have at most ${SNAPSHOT_RECORDS_MAX}. Use dataset_filter, or pin a CSV version`,
          )
        : problem.invalidField(
            '/dataset_filter',
            `matches more than the ${SNAPSHOT_RECORDS_MAX} records that a snapshot can have. Narrow it, or pin a CSV version`,
          );
    }
    return count;
  }

  private async matchingRecords(
    tx: Tx,
    scope: Scope,
    datasetId: string,
    revision: number,
    filter: CaseFilter,
  ): Promise<unknown[]> {
    const find = (conditions: CaseFilter) =>
      this.records.asOf(tx, scope, datasetId, revision, SNAPSHOT_RECORDS_MAX + 1, conditions);
    const { recordIds } = filter;
    if (recordIds) {
      const existing = new Set((await find({ recordIds })).map((record) => record.dataset_record_id));
      const unknown = recordIds.findIndex((id) => !existing.has(id));
      if (unknown >= 0) {
        const pointer = `/dataset_filter/dataset_record_ids/${unknown}`;
        throw problem.unknownReference(pointer, 'record', recordIds[unknown]!);
      }
    }
    const records = await find(filter);
    if (records.length === 0) throw matchesNone();
    return records;
  }
}

const unknownVersion = (number: number) =>
  problem.unknownReference('/dataset_version', 'dataset version', String(number));

const matchesNone = () => problem.invalidField('/dataset_filter', 'matches no case of the dataset');

/** Checks the rules between the members of a request. Needs no database access. Errors: 400. */
export function checkCaseSource({ dataset_id, dataset_version, dataset_filter, trials }: CaseSource): void {
  const errors: FieldError[] = [];
  const isSet = (value: unknown): boolean => value !== undefined && value !== null;
  if (!isSet(dataset_id)) {
    if (isSet(dataset_version)) {
      errors.push({ pointer: '/dataset_version', detail: 'requires dataset_id' });
    }
    if (isSet(dataset_filter)) errors.push({ pointer: '/dataset_filter', detail: 'requires dataset_id' });
  }
  if (isSet(dataset_version) && (trials ?? 1) > 1) {
    errors.push({
      pointer: '/trials',
      detail:
        'must be 1 with dataset_version, because each row of a CSV version is one case. Import the file as records, and omit dataset_version',
    });
  }
  const misplaced = isSet(dataset_version)
    ? (['label', 'category', 'dataset_record_ids'] as const)
    : (['case_ids'] as const);
  for (const member of misplaced) {
    if (!isSet(dataset_filter?.[member])) continue;
    const detail = isSet(dataset_version)
      ? 'cannot select rows of a CSV version. Use tags or case_ids'
      : 'selects rows of a CSV version. Set dataset_version, or use dataset_record_ids';
    errors.push({ pointer: `/dataset_filter/${member}`, detail });
  }
  if (errors.length > 0) throw problem.invalidFields(errors);
}

/** Returns the conditions of a filter, or null if it has none. */
export function toFilter(dto: DatasetFilterDto | null | undefined): CaseFilter | null {
  const filter: CaseFilter = {
    ...(dto?.tags && dto.tags.length > 0 && { tags: dto.tags }),
    ...(isText(dto?.label) && { label: dto.label }),
    ...(isText(dto?.category) && { category: dto.category }),
    ...(dto?.dataset_record_ids && { recordIds: [...new Set(dto.dataset_record_ids)] }),
    ...(dto?.case_ids && { caseIds: [...new Set(dto.case_ids)] }),
  };
  return Object.keys(filter).length > 0 ? filter : null;
}

const isText = (value: unknown): value is string => typeof value === 'string';
