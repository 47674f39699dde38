import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { formatBytes, Problem, problem } from '#platform/problem';
import {
  type CaseFilter,
  type CsvCase,
  DatasetContent,
  DatasetVersionRepository,
  type RecordAsOf,
  RecordRepository,
} from '../../datasets';
import { ScorerRepository } from '../../scorers';
import { toFilter } from '../experiments/experiment-cases';
import type { DatasetFilterDto } from '../experiments/experiment.dto';
import type { ExperimentState } from '../experiments/experiment.entity';
import type { ResultFieldsDto } from './result.dto';

/** Everything that the results of one request refer to. */
export interface CaseReferences {
  /** Whether each result must name a record of the dataset. */
  isRecordBacked: boolean;
  /** The results' case ids that the pinned CSV version has, with their row numbers. Null if the experiment pins none. */
  csvRows: ReadonlyMap<string, number> | null;
  /** The cases of results that omit a value, by row number. */
  csvCases: ReadonlyMap<number, CsvCase>;
  /** The part of the dataset that backs the experiment. Empty for all of it. */
  filter: CaseFilter;
  /** The case ids of that part. Null for all. */
  selectedCaseIds: ReadonlySet<string> | null;
  /** How often each case is run. */
  trials: number;
  /** The records that exist, as they stood in the experiment's snapshot. */
  records: ReadonlyMap<string, RecordAsOf>;
  /** The scorers that exist, with their current version. */
  scorerVersions: ReadonlyMap<string, number>;
}

/** The members that a result takes from its record or case if it omits them. */
export const CASE_VALUES = ['input', 'expected', 'tags'] as const;

/** Maximum size of the values that the results of one request take from records, in bytes. The database copies them. */
const RECORD_BYTES_MAX = 32 * 1024 * 1024;

/** The same for cases of a CSV version, which are read into memory. */
const CSV_BYTES_MAX = 8 * 1024 * 1024;

/** Checks that the cases, records and scorers that results refer to exist. */
@Injectable()
export class CaseRules {
  constructor(
    private readonly versions: DatasetVersionRepository,
    private readonly content: DatasetContent,
    private readonly records: RecordRepository,
    private readonly scorers: ScorerRepository,
  ) {}

  /**
   * Reads what results refer to: two queries for the cases of a pinned CSV version, or one for all records, and one for
   * all scorers. Skips queries that no result needs.
   */
  async prefetch(
    tx: Tx,
    scope: Scope,
    experiment: ExperimentState,
    results: ResultFieldsDto[],
  ): Promise<CaseReferences> {
    const { dataset_id, dataset_version, dataset_revision } = experiment;
    const filter = toFilter(experiment.dataset_filter?.parse() as DatasetFilterDto | undefined) ?? {};
    const isCsvBacked = dataset_id !== null && dataset_version !== null;
    const caseIds = results.map((result) => result.case_id);
    const recordIds = new Set(results.flatMap((result) => result.dataset_record_id ?? []));
    const csvRows = isCsvBacked
      ? await this.versions.existingCases(tx, scope, dataset_id, dataset_version, caseIds)
      : null;
    return {
      isRecordBacked: dataset_id !== null && !isCsvBacked,
      csvRows,
      csvCases: csvRows ? await this.csvCases(tx, scope, experiment, csvRows, results, filter) : new Map(),
      filter,
      selectedCaseIds: filter.caseIds ? new Set(filter.caseIds) : null,
      trials: experiment.trials,
      records:
        recordIds.size > 0 && !isCsvBacked
          ? await this.records.versionsAsOf(tx, scope, dataset_id, dataset_revision, [...recordIds], filter)
          : new Map(),
      scorerVersions: await this.scorerVersions(tx, scope, results),
    };
  }

  /** Returns the current version of each scorer that scores name. */
  scorerVersions(
    tx: Tx,
    scope: Scope,
    results: readonly Pick<ResultFieldsDto, 'scores'>[],
  ): Promise<Map<string, number>> {
    const ids = new Set(results.flatMap(({ scores }) => scorersNamed(scores).map(({ id }) => id)));
    return ids.size > 0
      ? this.scorers.currentVersions(tx, scope, [...ids])
      : Promise.resolve(new Map<string, number>());
  }

  /** Reads the cases of the results that omit a value, or of all results if the experiment selects cases by tags. */
  private async csvCases(
    tx: Tx,
    scope: Scope,
    { dataset_id, dataset_version }: ExperimentState,
    csvRows: ReadonlyMap<string, number>,
    results: ResultFieldsDto[],
    { tags }: CaseFilter,
  ): Promise<Map<number, CsvCase>> {
    const rows = new Set(
      (tags ? results : results.filter(omitsValues)).flatMap(({ case_id }) => csvRows.get(case_id) ?? []),
    );
    if (rows.size === 0) return new Map();
    const version = await this.versions.find(scope, dataset_id!, dataset_version!, tx);
    const sortedRows = [...rows].sort((a, b) => a - b);
    const cases = await this.content.readRows(tx, scope, version!, sortedRows, CSV_BYTES_MAX);
    return new Map(cases.map((one) => [one.row, one]));
  }
}

const omitsValues = (result: ResultFieldsDto): boolean =>
  CASE_VALUES.some((member) => result[member] === undefined);

/**
 * Checks one result. Errors:
 *
 * - 404 naming an unknown record or scorer.
 * - 400 for a missing `dataset_record_id` if records back the experiment.
 * - 400 for a `case_id` that the pinned CSV version does not have, and for a record or trial if a CSV version is pinned.
 * - 400 for a case outside the part of the dataset that backs the experiment.
 * - 400 for a result that does not say which trial of which case it is, if cases have several.
 * - 400 for an unknown version of a scorer.
 */
export function checkCase(references: CaseReferences, result: ResultFieldsDto): void {
  const recordId = result.dataset_record_id ?? null;
  if (references.csvRows) checkCsvCase(references, references.csvRows, result);
  if (references.isRecordBacked && recordId === null) {
    throw problem.invalidField(
      '/dataset_record_id',
      'is required, because the experiment is backed by the records of a dataset',
    );
  }
  if (recordId !== null && !references.records.has(recordId)) {
    throw problem.unknownReference('/dataset_record_id', 'record', recordId);
  }
  if (references.isRecordBacked && !references.records.get(recordId!)!.is_selected) {
    throw problem.invalidField('/dataset_record_id', OUTSIDE);
  }
  if (references.trials > 1) checkTrial(references, result);
  checkScorers(references.scorerVersions, result.scores);
}

/** The id of a trial's result: the id of its case, and the number of the trial. */
const TRIAL_ID = /^(.+)#([1-9]\d*)$/s;

/** Returns the case of which a result is a trial by its `case_id`, or null if it is no trial from 1 to `trials`. */
export function caseOfTrial({ trials }: Pick<CaseReferences, 'trials'>, caseId: string): string | null {
  const [, ofCase, trial] = TRIAL_ID.exec(caseId) ?? [];
  return ofCase !== undefined && Number(trial) <= trials ? ofCase : null;
}

/** Requires the id of a trial. Without a dataset, the members that group trials name the case, too. */
function checkTrial(references: CaseReferences, result: ResultFieldsDto): void {
  const { isRecordBacked, records, trials } = references;
  const ofCase = caseOfTrial(references, result.case_id);
  const named = isRecordBacked ? records.get(result.dataset_record_id!)!.case_id : null;
  if (ofCase !== null && (named === null || ofCase === named)) return;
  if (named === null && (result.dataset_record_id ?? result.trial_group ?? null) !== null) return;
  const reason = `because the experiment runs each case ${trials} times`;
  throw problem.invalidField(
    '/case_id',
    named === null
      ? `must be the id of the case, # and a trial from 1 to ${trials}, such as "q1#1", ${reason}. Or set trial_group to the id of the case`
      : `must be ${JSON.stringify(`${named.slice(0, 64)}#1`)} or another trial up to ${trials}: the id of the record's case, # and the trial, ${reason}`,
  );
}

const OUTSIDE = 'must be a case within the dataset_filter of the experiment';

function checkCsvCase(
  { filter, selectedCaseIds, csvCases }: CaseReferences,
  csvRows: ReadonlyMap<string, number>,
  result: ResultFieldsDto,
): void {
  if (!csvRows.has(result.case_id)) {
    throw problem.invalidField('/case_id', 'must be a case of the CSV version that the experiment pins');
  }
  if (selectedCaseIds?.has(result.case_id) === false) throw problem.invalidField('/case_id', OUTSIDE);
  const csvCase = csvCases.get(csvRows.get(result.case_id)!);
  // A case that was not read, because it is too large, is rejected later.
  if (csvCase && !(filter.tags ?? []).every((tag) => csvCase.tags.includes(tag)))
    throw problem.invalidField('/case_id', OUTSIDE);
  if ((result.dataset_record_id ?? null) !== null) {
    throw problem.invalidField(
      '/dataset_record_id',
      'must be left out, because the experiment pins a CSV version, which has no records',
    );
  }
  for (const member of ['trial_group', 'trial_index'] as const) {
    if ((result[member] ?? null) === null) continue;
    throw problem.invalidField(
      `/${member}`,
      'must be left out, because the experiment pins a CSV version, whose cases have no trials',
    );
  }
}

/** Errors: 404 with the unknown scorer, 400 for a version that a scorer does not have. */
export function checkScorers(
  currentVersions: ReadonlyMap<string, number>,
  scores: ResultFieldsDto['scores'],
): void {
  for (const { name, id, version } of scorersNamed(scores)) {
    const current = currentVersions.get(id);
    if (current === undefined) throw problem.unknownReference('/scores', 'scorer', id);
    if (version !== undefined && version > current) {
      const shortName = name.slice(0, 64);
      throw problem.invalidField(
        '/scores',
        `${shortName} has scorer_version ${version}, but the current version of ${id} is ${current}. Send the version that computed the score`,
      );
    }
  }
}

/**
 * Limits the size of the values that results take from their dataset. Returns a function that takes the results in order,
 * and returns the problem of a result beyond the limit, or null.
 */
export function valueLimiter(references: CaseReferences): (result: ResultFieldsDto) => Problem | null {
  let bytes = 0;
  return (result) => {
    if (!omitsValues(result) && !(references.csvRows && references.filter.tags)) return null;
    if (references.csvRows) {
      const row = references.csvRows.get(result.case_id)!;
      return references.csvCases.has(row) ? null : tooLarge(CSV_BYTES_MAX);
    }
    const record = references.records.get(result.dataset_record_id ?? '');
    if (!record || (result.input !== undefined && result.expected !== undefined)) return null;
    const isBeyond = bytes >= RECORD_BYTES_MAX;
    if (!isBeyond) bytes += record.bytes;
    return isBeyond ? tooLarge(RECORD_BYTES_MAX) : null;
  };
}

const tooLarge = (bytes: number): Problem =>
  new Problem(
    'payload_too_large',
    `The values that this request takes from the dataset exceed ${formatBytes(bytes)}. Send fewer results at once.`,
  );

interface NamedScorer {
  /** Name of the score. */
  name: string;
  id: string;
  version: number | undefined;
}

const scorersNamed = (scores: Record<string, unknown> | null | undefined): NamedScorer[] =>
  Object.entries(scores ?? {}).flatMap(([name, score]) => {
    const { scorer_id: id, scorer_version } = (score ?? {}) as Record<string, unknown>;
    const version = typeof scorer_version === 'number' ? scorer_version : undefined;
    return typeof id === 'string' ? [{ name, id, version }] : [];
  });
