import { Environment } from '#platform/config';
import { Handles, JobProcessor } from '#platform/jobs';
import { SCORE_RUN } from './score-run.job';
import { ScoreRunExecutor } from './score-run.executor';

@Handles(SCORE_RUN)
export class ScoringProcessor extends JobProcessor<{ score_run_id: string }> {
  readonly concurrency: number;

  constructor(
    environment: Environment,
    private readonly executor: ScoreRunExecutor,
  ) {
    super();
    this.concurrency = environment.WORKER_RUNS;
  }

  protected handle({ score_run_id }: { score_run_id: string }): Promise<void> {
    return this.executor.execute(score_run_id);
  }
}
