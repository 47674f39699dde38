import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { problem } from '#platform/problem';
import { DatasetVersionRepository, RecordRepository } from '../../datasets';
import type { ExperimentState } from '../experiments/experiment.entity';
import type { ResultFieldsDto } from './result.dto';

/** Finds scorers. The part that stores them provides it. */
export abstract class ScorerDirectory {
  /** Returns the ids that belong to scorers of the workspace. */
  abstract existing(tx: Tx, scope: Scope, ids: readonly string[]): Promise<Set<string>>;
}

/** Everything that the results of one request refer to. */
export interface CaseReferences {
  /** Whether each result must name a record of the dataset. */
  isRecordBacked: boolean;
  /** The results' case ids that the pinned CSV version has. Null where the experiment pins none. */
  csvCases: ReadonlySet<string> | null;
  /** The records that exist, each with the version in the experiment's snapshot. */
  recordVersions: ReadonlyMap<string, number>;
  /** The scorers that exist. */
  scorerIds: ReadonlySet<string>;
}

/** Checks that the cases, records and scorers that results refer to exist. */
@Injectable()
export class CaseRules {
  constructor(
    private readonly versions: DatasetVersionRepository,
    private readonly records: RecordRepository,
    private readonly scorers: ScorerDirectory,
  ) {}

  /**
   * Reads what results refer to: two queries for the cases of a pinned CSV version, or one for all records, and one for
   * all scorers. Skips queries that no result needs.
   */
  async prefetch(
    tx: Tx,
    scope: Scope,
    { dataset_id, dataset_version, dataset_revision }: ExperimentState,
    results: ResultFieldsDto[],
  ): Promise<CaseReferences> {
    const isCsvBacked = dataset_id !== null && dataset_version !== null;
    const caseIds = results.map((result) => result.case_id);
    const recordIds = new Set(results.flatMap((result) => result.dataset_record_id ?? []));
    const scorerIds = new Set(results.flatMap((result) => scorersNamed(result.scores)));
    return {
      isRecordBacked: dataset_id !== null && !isCsvBacked,
      csvCases: isCsvBacked
        ? await this.versions.existingCases(tx, scope, dataset_id, dataset_version, caseIds)
        : null,
      recordVersions:
        recordIds.size > 0 && !isCsvBacked
          ? await this.records.versionsAsOf(tx, scope, dataset_id, dataset_revision, [...recordIds])
          : new Map(),
      scorerIds: scorerIds.size > 0 ? await this.scorers.existing(tx, scope, [...scorerIds]) : new Set(),
    };
  }
}

/**
 * Checks one result. Errors: 400 for a missing `dataset_record_id` of an experiment backed by records, for a `case_id`
 * that is not in the pinned CSV version, and for a record in addition to it; 404 with the unknown record or scorer.
 */
export function checkCase(references: CaseReferences, result: ResultFieldsDto): void {
  const recordId = result.dataset_record_id ?? null;
  if (references.csvCases) checkCsvCase(references.csvCases, result.case_id, recordId);
  if (references.isRecordBacked && recordId === null) {
    throw invalid('/dataset_record_id', 'is required: the experiment is backed by the records of a dataset');
  }
  if (recordId !== null && !references.recordVersions.has(recordId)) {
    throw problem.unknownReference('/dataset_record_id', 'record', recordId);
  }
  for (const scorerId of scorersNamed(result.scores)) {
    if (!references.scorerIds.has(scorerId)) throw problem.unknownReference('/scores', 'scorer', scorerId);
  }
}

function checkCsvCase(csvCases: ReadonlySet<string>, caseId: string, recordId: string | null): void {
  if (!csvCases.has(caseId)) {
    throw invalid('/case_id', 'must be a case of the CSV version that the experiment pins');
  }
  if (recordId !== null) {
    throw invalid(
      '/dataset_record_id',
      'must be left out: the experiment pins a CSV version, which has no records',
    );
  }
}

const invalid = (pointer: string, detail: string) => problem.invalidFields([{ pointer, detail }]);

const scorersNamed = (scores: Record<string, unknown> | null | undefined): string[] =>
  Object.values(scores ?? {}).flatMap((score) => {
    const { scorer_id } = (score ?? {}) as { scorer_id?: unknown };
    return typeof scorer_id === 'string' ? [scorer_id] : [];
  });
