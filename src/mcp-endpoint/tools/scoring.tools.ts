import { Injectable } from '@nestjs/common';
import { validateBody } from '#platform/http';
import { ListQueryDto } from '#platform/paging';
import {
  GRAINS,
  RUN_STATUSES,
  SCORER_KINDS,
  ScoreRequestDto,
  ScorerListQueryDto,
  ScorerService,
  ScoreRunService,
  ScoringService,
} from '../../evaluation';
import {
  LIST_INPUT,
  type ListArguments,
  listOutput,
  listResult,
  listTool,
  membersOf,
  pageQuery,
} from './lists';
import { type Arguments, ID, INTEGER, STRING, STRING_OR_NULL, tool } from './tool';

const START = 'start_scoring_run';

/** The maximum number of ids in an argument. */
const IDS_MAX = 100;

interface StartArguments extends Arguments {
  scorer_id: string;
}

const ids = (description: string) => ({ type: 'array', items: ID, maxItems: IDS_MAX, description });
const NUMBER_OR_NULL = { type: ['number', 'null'] };

const RUN = {
  score_run_id: STRING,
  scorer_id: STRING,
  scorer_version: INTEGER,
  grain: { enum: GRAINS },
  run_status: { enum: RUN_STATUSES },
  total: { ...INTEGER, description: 'The number of targets.' },
};

const RESULT = {
  trace_id: STRING_OR_NULL,
  session_id: STRING_OR_NULL,
  result_id: { ...STRING_OR_NULL, description: 'The experiment result that is scored.' },
  case_id: STRING_OR_NULL,
  score: NUMBER_OR_NULL,
  choice: STRING_OR_NULL,
  reasoning: STRING_OR_NULL,
  error: { ...STRING_OR_NULL, description: 'Why the target has no score.' },
};

const SCORER = {
  scorer_id: STRING,
  name: STRING,
  description: STRING_OR_NULL,
  scorer_kind: { enum: SCORER_KINDS },
  grain: { enum: GRAINS },
  scorer_version: INTEGER,
};

const COUNTS = {
  completed_count: { ...INTEGER, description: 'Targets without an error.' },
  failed_count: { ...INTEGER, description: 'Targets with an error.' },
  truncated_count: {
    ...INTEGER,
    description: 'Targets with a score whose transcript was too long to be shown whole.',
  },
  too_large_count: { ...INTEGER, description: 'Targets with an error because they were too large.' },
};

const COSTS = {
  cost_usd: NUMBER_OR_NULL,
  failure_code: STRING_OR_NULL,
  failure_detail: STRING_OR_NULL,
};

/** The tools that list scorers, start scoring runs and read them. */
@Injectable()
export class ScoringTools {
  constructor(
    private readonly scorers: ScorerService,
    private readonly scoring: ScoringService,
    private readonly runs: ScoreRunService,
  ) {}

  readonly tools = [
    listTool({
      name: 'list_scorers',
      title: 'List scorers',
      description:
        'Lists the scorers of the workspace, newest first. A scorer (grader, metric) rates traces or sessions by code, by a model (a judge) or by people. Then call start_scoring_run with the scorer_id of one that is not human.',
      filters: { scorer_kind: { enum: SCORER_KINDS } },
      anyOf: ['viewer'],
      item: SCORER,
      query: ScorerListQueryDto,
      list: ({ scope }, query) => this.scorers.list(scope, query),
    }),
    tool<StartArguments>({
      name: START,
      title: 'Start a scoring run',
      description:
        'Starts a run that scores (grades) at most 100 traces, sessions or results of an experiment with a scorer, in the background. Select the targets by ids, by an experiment or by time. At least one selector is required, and several selectors narrow each other. Then call get_scoring_run until it has ended. A run of a model-based scorer costs money.',
      input: {
        scorer_id: { ...ID, description: 'From list_scorers.' },
        trace_ids: ids('Score these traces.'),
        session_ids: ids('Score these sessions.'),
        agent_ids: ids('Score the sessions of these agents.'),
        experiment_id: { ...ID, description: 'Score the results of this experiment.' },
        since: {
          type: 'string',
          maxLength: 64,
          description: 'Score targets that started at this time or later (RFC 3339).',
        },
        until: {
          type: 'string',
          maxLength: 64,
          description: 'Score targets that started before this time (RFC 3339).',
        },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: 100,
          description:
            'Score only this many of the newest targets. Without it, selecting more than 100 targets is an error.',
        },
        unscored_only: {
          type: 'boolean',
          description: 'Skip targets that this scorer version has already scored.',
        },
        max_cost_usd: {
          type: 'number',
          exclusiveMinimum: 0,
          description: 'Stops the run when its model has cost this much, in US dollars.',
        },
      },
      required: ['scorer_id'],
      output: RUN,
      anyOf: ['evaluator'],
      audited: async ({ scope, args: { scorer_id } }) => {
        await this.scorers.get(scope, scorer_id);
        return { id: START, changes: { scorer_id } };
      },
      hints: { readOnlyHint: false, idempotentHint: false },
      run: async ({ scope, caller, args: { scorer_id, ...selection } }) => {
        const dto = validateBody(ScoreRequestDto, { ...selection, mode: 'score' });
        const outcome = await this.scoring.score(scope, scorer_id, dto, caller.signal);
        if (!('queued' in outcome)) throw new Error('Expected a queued run.');
        const { concurrency: _, ...run } = outcome.queued;
        return run;
      },
    }),
    tool<ListArguments & { score_run_id: string }>({
      name: 'get_scoring_run',
      title: 'Get a scoring run',
      description:
        'Returns the state of a scoring run, its mean score and its results so far. Call it again after a few seconds until run_status is succeeded or failed.',
      input: { score_run_id: { ...ID, description: 'From start_scoring_run.' }, ...LIST_INPUT },
      required: ['score_run_id'],
      output: {
        ...RUN,
        ...COUNTS,
        mean_score: {
          ...NUMBER_OR_NULL,
          description: 'The mean of all scores so far. Null if there is none.',
        },
        ...COSTS,
        ...listOutput(RESULT),
      },
      anyOf: ['viewer'],
      run: async ({ scope, args: { score_run_id, ...page } }) => {
        const query = pageQuery(ListQueryDto, page);
        const run = await this.runs.get(scope, score_run_id);
        const results = await this.runs.listResults(scope, score_run_id, query);
        return {
          ...membersOf(run, RUN),
          ...membersOf(run, COUNTS),
          mean_score: await this.runs.meanScore(scope, score_run_id),
          ...membersOf(run, COSTS),
          ...listResult(results, RESULT),
        };
      },
    }),
  ];
}
