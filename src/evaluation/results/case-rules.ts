import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { problem } from '#platform/problem';
import type { ExperimentState } from '../experiments/experiment.repository';
import { CaseRepository } from './case.repository';
import type { ResultFieldsDto } from './result.dto';

/** What the results of one request refer to, read once for all of them. */
export interface CaseReferences {
  /** Whether each result must name a record of the dataset. */
  recordBacked: boolean;
  /** Those of the results' case ids that the pinned CSV version has; null where none is pinned. */
  csvCases: ReadonlySet<string> | null;
  /** Known records among those named, each with the version that the experiment's snapshot holds. */
  recordVersions: ReadonlyMap<string, number>;
  /** Known scorers among those named. */
  scorerIds: ReadonlySet<string>;
}

@Injectable()
export class CaseRules {
  constructor(private readonly cases: CaseRepository) {}

  /**
   * Reads what a set of results refers to: two queries for a pinned CSV version and all cases of it, or one for all
   * records; one for all scorers; none where none is named.
   */
  async prefetch(
    tx: Tx,
    scope: Scope,
    experiment: ExperimentState,
    results: ResultFieldsDto[],
  ): Promise<CaseReferences> {
    const hasDataset = experiment.dataset_id !== null;
    const csvBacked = hasDataset && experiment.dataset_version !== null;
    const recordIds = new Set<string>();
    const scorerIds = new Set<string>();
    for (const { dataset_record_id, scores } of results) {
      if (typeof dataset_record_id === 'string' && !csvBacked) recordIds.add(dataset_record_id);
      for (const scorerId of scorersNamed(scores)) scorerIds.add(scorerId);
    }
    return {
      recordBacked: hasDataset && !csvBacked,
      csvCases: csvBacked
        ? await this.cases.csvCases(
            tx,
            scope,
            experiment,
            results.map((result) => result.case_id),
          )
        : null,
      recordVersions:
        recordIds.size > 0
          ? await this.cases.recordVersions(tx, scope, experiment, [...recordIds])
          : new Map(),
      scorerIds: scorerIds.size > 0 ? await this.cases.knownScorers(tx, scope, [...scorerIds]) : new Set(),
    };
  }
}

/**
 * Throws 400 for a missing `dataset_record_id` of a record-backed run, and for a `case_id` that is not in the pinned CSV
 * version, whose cases are no records; 404 naming an unknown record or scorer.
 */
export function checkCase(references: CaseReferences, result: ResultFieldsDto): void {
  const recordId = result.dataset_record_id ?? null;
  if (references.csvCases) checkCsvCase(references.csvCases, result.case_id, recordId);
  if (references.recordBacked && recordId === null) {
    throw problem.invalidFields([
      {
        pointer: '/dataset_record_id',
        detail: 'is required: the experiment is backed by the records of a dataset',
      },
    ]);
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
    const detail = 'is not a case of the CSV version that the experiment pins';
    throw problem.invalidFields([{ pointer: '/case_id', detail }]);
  }
  if (recordId !== null) {
    const detail = 'must be left out: the experiment pins a CSV version, whose cases are no records';
    throw problem.invalidFields([{ pointer: '/dataset_record_id', detail }]);
  }
}

function* scorersNamed(scores: Record<string, unknown> | null | undefined): Generator<string> {
  if (!scores) return;
  for (const score of Object.values(scores)) {
    if (typeof score !== 'object' || score === null) continue;
    const { scorer_id } = score as { scorer_id?: unknown };
    if (typeof scorer_id === 'string') yield scorer_id;
  }
}
