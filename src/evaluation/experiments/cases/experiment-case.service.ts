import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { type Page, type RowPage, toPage } from '#platform/paging';
import { orNotFound, problem } from '#platform/problem';
import {
  type CaseFilter,
  type CsvCase,
  DatasetReadingService,
  DatasetVersionRepository,
  type DatasetVersionRow,
} from '../../datasets';
import { toFilter } from '../experiments/experiment-cases';
import type { DatasetFilterDto } from '../experiments/experiment.dto';
import {
  type ExperimentCaseListQueryDto,
  type CaseRow,
  type ExperimentCaseDto,
  toExperimentCaseDto,
} from './experiment-case.dto';
import {
  ExperimentCaseRepository,
  type CaseResult,
  type PinnedExperiment,
} from './experiment-case.repository';

/** Lists the cases that experiments pin. */
@Injectable()
export class ExperimentCaseService {
  constructor(
    private readonly cases: ExperimentCaseRepository,
    private readonly versions: DatasetVersionRepository,
    private readonly reading: DatasetReadingService,
  ) {}

  /**
   * Returns a page of an experiment's cases as they stood when it was created, with the state that its results give them.
   * Errors: 404; 409 without a dataset, or if the dataset or the CSV version was deleted.
   */
  async list(
    scope: Scope,
    experimentId: string,
    query: ExperimentCaseListQueryDto,
    signal: AbortSignal,
  ): Promise<Page<ExperimentCaseDto>> {
    const experiment = orNotFound(
      await this.cases.findExperiment(scope, experimentId),
      'experiment',
      experimentId,
    );
    const { dataset_id, dataset_version, dataset_revision } = experiment;
    if (dataset_id === null || dataset_revision === null) {
      throw problem.conflict(
        'The experiment has no dataset, so its cases are those of its results. Create it with `dataset_id` to list cases.',
      );
    }
    if (experiment.dataset_erased) throw datasetErased();
    const filter = toFilter(experiment.dataset_filter?.parse() as DatasetFilterDto | undefined);
    const pinned = { ...experiment, dataset_id, dataset_revision };
    if (dataset_version === null) {
      return toPage(await this.cases.listRecords(scope, pinned, filter, query), toExperimentCaseDto);
    }
    const version = await this.versions.find(scope, dataset_id, dataset_version);
    if (!version) throw datasetErased();
    return toPage(await this.listRows(scope, pinned, version, filter, query, signal), toExperimentCaseDto);
  }

  /** Returns a page of the rows of a CSV version. Each has at most one result, because a CSV version has no trials. */
  private async listRows(
    scope: Scope,
    { experiment_id, expected_case_count }: PinnedExperiment,
    version: DatasetVersionRow,
    filter: CaseFilter | null,
    { state, ...query }: ExperimentCaseListQueryDto,
    signal: AbortSignal,
  ): Promise<RowPage<CaseRow>> {
    const withResults = async (cases: readonly CsvCase[]): Promise<CaseRow[]> => {
      const ids = cases.map(({ case_id }) => case_id);
      const results = await this.cases.resultsOfCases(scope, experiment_id, ids);
      return cases.map((one) => toRow(one, results.get(one.case_id)));
    };
    // the rows that met the state, because a result may be stored before they are returned
    const kept = new Map<CsvCase, CaseRow>();
    const keep = async (cases: CsvCase[]): Promise<CsvCase[]> => {
      const rows = await withResults(cases);
      const matching = cases.filter((_, index) => rows[index]!.state === state);
      cases.forEach((one, index) => kept.set(one, rows[index]!));
      return matching;
    };
    const count = async (): Promise<number | null> => {
      if (state === undefined || expected_case_count === null) return expected_case_count;
      const { failed, done } = await this.cases.countResults(scope, experiment_id);
      return { failed, done, pending: expected_case_count - failed - done }[state];
    };
    const selection = { filter, keep: state && keep, count };
    const { rows, page } = await this.reading.select(scope, version, query, selection, signal);
    return { rows: state ? rows.map((one) => kept.get(one)!) : await withResults(rows), page };
  }
}

const datasetErased = () =>
  problem.conflict(
    'The dataset of the experiment, or the CSV version that it pins, was deleted with its cases. The results are still there.',
  );

const toRow = ({ row: _, ...values }: CsvCase, result: CaseResult | undefined): CaseRow => ({
  ...values,
  dataset_record_id: null,
  dataset_record_version: null,
  state: result ? (result.has_error ? 'failed' : 'done') : 'pending',
  result_ids: result ? [result.result_id] : [],
  missing_trials: result ? [] : [1],
  failed_trials: result?.has_error ? [1] : [],
});
