import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Environment } from '#platform/config';
import { Budget, BUDGET_SPENT } from './budget';
import { impatient } from './patience';
import type { ScoringTarget } from './score-run.entity';
import type { ScoringResultDto } from './scoring.dto';
import { toScoringResultDto } from './scoring.mapper';
import { type ScoringJob, ScoringRunner } from './scoring-runner';
import type { RequestedTerms } from './selection';
import { SubjectBuilder } from './subject-builder';
import { type RunnableScorer, TargetScorer } from './target-scorer';

/** Of a request's time, scoring has this much; what came of some targets is answered also where others take too long. */
const ANSWERING_SHARE = 0.95;
const OUT_OF_TIME = 'This was not scored in the time that the request has.';

/** Scoring that is answered at once. */
@Injectable()
export class ScoringWork {
  constructor(
    private readonly environment: Environment,
    private readonly subjects: SubjectBuilder,
    private readonly scorer: TargetScorer,
    private readonly runner: ScoringRunner,
  ) {}

  /** Throws 503 where the scorer needs a judge and none is configured, and 422 for a bound on a cost that nobody knows. */
  check(scorer: RunnableScorer, maxCostUsd: number | null): void {
    this.scorer.checkBackend(scorer);
    if (maxCostUsd !== null) this.scorer.checkPrice(scorer);
  }

  /** What would be run on each target; nothing is. */
  async preview(scope: Scope, scorer: RunnableScorer, targets: ScoringTarget[]): Promise<ScoringResultDto[]> {
    const results: ScoringResultDto[] = [];
    for await (const { target, show } of this.subjects.prepare(scope, targets, targets.length)) {
      const shown = await show();
      const result = 'error' in shown ? shown : await this.scorer.preview(scorer, shown.subject);
      results.push({ ...toScoringResultDto(target, { elapsed_ms: 0 }), ...result });
    }
    return results;
  }

  /**
   * What came of each target, in their order. A judge is asked in any case, and nothing of it is kept. What is not done
   * when the request's time is nearly out is given up, and says so; where that is all, the signal's reason is thrown.
   */
  async test(
    scope: Scope,
    scorer: RunnableScorer,
    targets: ScoringTarget[],
    { concurrency, maxCostUsd }: RequestedTerms,
  ): Promise<ScoringResultDto[]> {
    const signal = AbortSignal.timeout(this.environment.TEST_SCORING_TIMEOUT_MS * ANSWERING_SHARE);
    const results = new Map<number, ScoringResultDto>();
    const job: ScoringJob = {
      scorer,
      targets,
      concurrency,
      cache: 'none',
      budget: new Budget(maxCostUsd),
      patience: impatient,
      stopping: signal,
      signal,
    };
    await this.runner.run(scope, job, (target, item) => {
      results.set(target.ordinal, toScoringResultDto(target, item));
      return Promise.resolve();
    });
    if (results.size === 0) signal.throwIfAborted();
    const error = signal.aborted ? OUT_OF_TIME : BUDGET_SPENT;
    return targets.map(
      (target) => results.get(target.ordinal) ?? toScoringResultDto(target, { error, elapsed_ms: 0 }),
    );
  }
}
