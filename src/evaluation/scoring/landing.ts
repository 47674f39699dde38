import { cut } from '../results/scores';
import type { ClaimedRun, Landing } from './run-work.repository';
import type { ScoringTarget } from './score-run.entity';
import type { ScoredItem } from './scored-item';
import type { RunnableScorer } from './target-scorer';

/**
 * What of a score is to land in the results of the run's experiment: nothing of a failure, and nothing where the run
 * has no experiment or the target no result in it.
 */
export function landingOf(
  run: Pick<ClaimedRun, 'experiment_id' | 'score_run_id'>,
  scorer: RunnableScorer,
  target: ScoringTarget,
  item: ScoredItem,
): Landing | null {
  if (run.experiment_id === null || target.result_id === null || item.error !== undefined) return null;
  if (target.result_experiment_id !== run.experiment_id) return null;
  const detail = {
    metadata: { score_run_id: run.score_run_id, ...(item.answers && { answers: item.answers }) },
    ...(item.reasoning !== undefined && { comment: cut(item.reasoning) }),
    ...(item.choice !== undefined && { label: item.choice }),
    scorer_id: scorer.scorer_id,
    scorer_version: scorer.scorer_version,
  };
  return {
    experimentId: run.experiment_id,
    resultId: target.result_id,
    name: scorer.name,
    score: item.score ?? null,
    detail,
  };
}
