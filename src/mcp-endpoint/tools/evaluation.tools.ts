import { Injectable } from '@nestjs/common';
import {
  DatasetListQueryDto,
  DatasetService,
  EXPERIMENT_STATUSES,
  ExperimentListQueryDto,
  ExperimentService,
} from '../../evaluation';
import { LIST_OFFSET_INPUT, listTool, membersOf, NEXT_LIST_OFFSET, partOfLists } from './lists';
import { ID, INTEGER, objectOf, STRING, STRING_OR_NULL, tool } from './tool';

const TAGS = { type: 'array', items: STRING };
const VERSION = { type: ['integer', 'null'], description: 'The CSV version, if one is pinned.' };

const DATASET = {
  dataset_id: STRING,
  name: STRING,
  description: STRING_OR_NULL,
  record_count: INTEGER,
  row_count: { type: ['integer', 'null'], description: 'Number of rows of the newest CSV version.' },
  latest_version: {
    type: ['integer', 'null'],
    description: 'The newest CSV version. Null if there is none.',
  },
  tags: TAGS,
};

const EXPERIMENT = {
  experiment_id: STRING,
  name: STRING,
  experiment_name: STRING,
  experiment_status: { enum: EXPERIMENT_STATUSES },
  dataset_id: STRING_OR_NULL,
  dataset_version: VERSION,
  created_at: STRING,
  finalized_at: STRING_OR_NULL,
};

const EXPERIMENT_DETAILS = {
  description: STRING_OR_NULL,
  subject_kind: STRING_OR_NULL,
  subject_id: STRING_OR_NULL,
  baseline_experiment_id: STRING_OR_NULL,
  tags: TAGS,
};

/** The tools that read datasets and experiments. */
@Injectable()
export class EvaluationTools {
  constructor(
    private readonly datasets: DatasetService,
    private readonly experiments: ExperimentService,
  ) {}

  readonly tools = [
    listTool({
      name: 'list_datasets',
      title: 'List datasets',
      description:
        'Lists the datasets of the workspace, newest first. A dataset (test set, benchmark) is a set of cases that agents are evaluated on. Then call list_experiments with a dataset_id to see how agents did on it.',
      anyOf: ['viewer'],
      item: DATASET,
      query: DatasetListQueryDto,
      list: ({ scope }, query) => this.datasets.list(scope, query),
    }),
    listTool({
      name: 'list_experiments',
      title: 'List experiments',
      description:
        'Lists the experiments of the workspace, newest first. An experiment (evaluation) is one run of an agent, skill or harness over the cases of a dataset. Then call get_experiment for the scores of one.',
      filters: {
        dataset_id: { ...ID, description: 'Only experiments on this dataset.' },
        experiment_status: { enum: EXPERIMENT_STATUSES },
      },
      anyOf: ['viewer'],
      item: EXPERIMENT,
      query: ExperimentListQueryDto,
      list: async ({ scope }, query) => {
        // an empty list would look as if the dataset had no experiments
        if (query.dataset_id !== undefined) await this.datasets.get(scope, query.dataset_id);
        return this.experiments.list(scope, query);
      },
    }),
    tool<{ experiment_id: string; list_offset?: number }>({
      name: 'get_experiment',
      title: 'Get an experiment',
      description:
        'Returns one experiment (evaluation): what was run, whether it has finished, and the mean score of each scorer once it has ended. Use it to report or compare results. To score it with another scorer, call start_scoring_run with its experiment_id: the scores are in the scoring run, and not here if the experiment has ended.',
      input: {
        experiment_id: { ...ID, description: 'From list_experiments.' },
        ...LIST_OFFSET_INPUT,
      },
      required: ['experiment_id'],
      output: {
        ...EXPERIMENT,
        ...EXPERIMENT_DETAILS,
        scores: {
          type: ['array', 'null'],
          items: objectOf({ scorer: STRING, mean: { type: 'number' }, count: INTEGER }),
          description: 'The mean score of each scorer. Null until the experiment has ended.',
        },
        scorer_count: { type: ['integer', 'null'] },
        next_list_offset: NEXT_LIST_OFFSET,
      },
      anyOf: ['viewer'],
      run: async ({ scope, args: { experiment_id, list_offset } }) => {
        const { view } = await this.experiments.get(scope, experiment_id);
        const scores = view.summary?.scores && Object.entries(view.summary.scores);
        return {
          ...membersOf(view, EXPERIMENT),
          ...membersOf(view, EXPERIMENT_DETAILS),
          ...(scores
            ? partOfLists(
                { scores: scores.map(([scorer, { mean, count }]) => ({ scorer, mean, count })) },
                list_offset,
              )
            : { scores: null, next_list_offset: null }),
          scorer_count: scores?.length ?? null,
        };
      },
    }),
  ];
}
