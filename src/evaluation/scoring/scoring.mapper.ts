import type { ScoreResultDto, ScoreRunDto } from './score-run.dto';
import type { ScoreResultRow, ScoreRunRow, ScoringTarget } from './score-run.entity';
import type { ScoredItem } from './scored-item';
import type { QueuedRunDto, SampleSpreadDto, ScoringResultDto } from './scoring.dto';

export const toScoreRunDto = (row: ScoreRunRow): ScoreRunDto => ({
  score_run_id: row.score_run_id,
  workspace_id: row.workspace_id,
  scorer_id: row.scorer_id,
  scorer_version: row.scorer_version,
  experiment_id: row.experiment_id,
  rule_id: row.rule_id,
  grain: row.grain,
  run_status: row.run_status,
  concurrency: row.concurrency,
  total: row.total,
  completed_count: row.completed_count,
  failed_count: row.failed_count,
  cost_usd: row.cost_usd,
  max_cost_usd: row.max_cost_usd,
  cache: row.uses_cache,
  failure_code: row.failure_code,
  failure_detail: row.failure_detail,
  started_at: row.started_at,
  finished_at: row.finished_at,
  created_at: row.created_at,
  updated_at: row.updated_at,
  created_by: row.created_by,
  archived_at: null,
});

export const toQueuedRunDto = (run: ScoreRunRow): QueuedRunDto => ({
  concurrency: run.concurrency,
  grain: run.grain,
  run_status: run.run_status,
  score_run_id: run.score_run_id,
  scorer_id: run.scorer_id,
  scorer_version: run.scorer_version,
  total: run.total,
});

/** What came of a target that is answered at once. */
export const toScoringResultDto = (
  { trace_id, session_id }: ScoringTarget,
  item: ScoredItem,
): ScoringResultDto => ({ ...present({ trace_id, session_id }), ...item });

export const toScoreResultDto = (row: ScoreResultRow): ScoreResultDto => ({
  score_id: row.score_id,
  score_run_id: row.score_run_id,
  scorer_id: row.scorer_id,
  scorer_version: row.scorer_version,
  ...present({
    trace_id: row.trace_id,
    session_id: row.session_id,
    score: row.score,
    choice: row.choice,
    confidence: row.confidence,
    probabilities: row.probabilities,
    answers: row.answers,
    reasoning: row.reasoning,
    backend: row.backend,
    model: row.model,
    error: row.error,
    cost_usd: row.cost_usd,
    request_sha256: row.request_sha256,
    is_cached: row.is_cached,
    samples: row.samples as SampleSpreadDto | null,
  }),
  elapsed_ms: row.elapsed_ms,
  created_at: row.created_at,
});

type Present<Members> = { [Name in keyof Members]?: Exclude<Members[Name], null> };

/** The members that have something to say. */
const present = <Members extends object>(members: Members): Present<Members> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null)) as Present<Members>;
