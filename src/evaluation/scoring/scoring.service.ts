import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database } from '#platform/db';
import { checkValues } from '#platform/http';
import { ScorerService } from '../scorers/scorer.service';
import { targetIdOf } from './candidates';
import { EarlierScoresRepository } from './earlier-scores.repository';
import { newRun, RunOrders } from './run-orders';
import type { ScoreRunRow, ScoringTarget } from './score-run.entity';
import type { QueuedRunDto, ScoreDto, SynchronousScoresDto } from './scoring.dto';
import { toQueuedRunDto } from './scoring.mapper';
import { ScoringWork } from './scoring-work';
import { checkSelectors, type RequestedTerms, type Selection, selectionOf, termsOf } from './selection';
import { checkRunnable, type RunnableScorer, runnable } from './target-scorer';
import { TargetSelector } from './target-selector';

/** A request to score: a run that was queued, or what came of it at once. */
export type ScoringAnswer = { queued: QueuedRunDto } | { scores: SynchronousScoresDto };

/** Takes requests to score. */
@Injectable()
export class ScoringService {
  constructor(
    private readonly database: Database,
    private readonly scorers: ScorerService,
    private readonly selector: TargetSelector,
    private readonly earlier: EarlierScoresRepository,
    private readonly orders: RunOrders,
    private readonly work: ScoringWork,
  ) {}

  /**
   * Scores what a request selects with the present version of a scorer. Errors: 400 for a selection that says nothing
   * or contradicts itself, and for a scorer of people; 404 for an unknown scorer and naming unknown ids; 409 for an
   * archived scorer; 422 over a cap; 503 where no judge backend is configured. Nothing is stored until all that holds.
   */
  async score(scope: Scope, scorerId: string, dto: ScoreDto): Promise<ScoringAnswer> {
    checkSelectors(dto);
    const row = await this.scorers.find(scope, scorerId);
    checkRunnable(row);
    await this.selector.checkIds(scope, dto);
    checkValues(dto);
    const selection = selectionOf(dto, row.grain);
    const scorer = runnable(row);
    const terms = termsOf(dto);
    this.work.check(scorer, terms.maxCostUsd);
    const mode = dto.mode ?? 'score';
    if (mode === 'score') return { queued: await this.enqueue(scope, scorer, selection, terms) };
    const targets = await this.selector.select(scope, scorer, selection);
    const results =
      mode === 'preview'
        ? await this.work.preview(scope, scorer, targets)
        : await this.work.test(scope, scorer, targets, terms);
    const { scorer_id, scorer_version } = scorer;
    return { scores: { grain: selection.grain, mode, results, scorer_id, scorer_version } };
  }

  /**
   * Of requests that want only unscored targets no two take the same: those that another took since they were selected
   * are selected anew. They are not selected under the lock, because whoever holds it while it waits for
   * another connection could wait for one that waits for the lock. Each round that is lost is a run that was accepted,
   * and targets fewer, so it ends.
   */
  private async enqueue(
    scope: Scope,
    scorer: RunnableScorer,
    selection: Selection,
    { concurrency, maxCostUsd, usesCache }: RequestedTerms,
  ): Promise<QueuedRunDto> {
    for (;;) {
      const targets = await this.selector.select(scope, scorer, selection);
      const { grain, experimentId: experiment_id } = selection;
      const run = newRun(scope, scorer, {
        grain,
        experiment_id,
        total: targets.length,
        concurrency,
        max_cost_usd: maxCostUsd,
        uses_cache: usesCache,
      });
      if (await this.accept(scope, selection, run, targets)) return toQueuedRunDto(run);
    }
  }

  /** @returns false where the targets were to be unscored, and some are so no more. */
  private accept(
    scope: Scope,
    { grain, unscoredOnly }: Selection,
    run: ScoreRunRow,
    targets: ScoringTarget[],
  ): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      if (unscoredOnly && !(await this.earlier.claim(tx, scope, run, grain, targets.map(targetIdOf)))) {
        return false;
      }
      await this.orders.place(tx, scope, run, targets);
      return true;
    });
  }
}
