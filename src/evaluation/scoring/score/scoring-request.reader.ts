import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { checkSelectionValues } from '../../../telemetry';
import { ScorerService } from '../../scorers';
import type { ScoringOptions } from '../score-runs/scoring-runner';
import { checkRunnable, type RunnableScorer, TargetScorer, toRunnable } from '../score-runs/target-scorer';
import type { Selection } from '../targets/candidates';
import { TargetSelector } from '../targets/target-selector';
import { type Cap, checkSelectors, optionsOf, selectionOf } from './scoring-request';
import type { TargetSelectionDto } from './scoring.dto';

/** A checked request to score. */
export interface ScoringRequest {
  scorer: RunnableScorer;
  selection: Selection;
  options: ScoringOptions;
}

/** Reads and checks requests to score. */
@Injectable()
export class ScoringRequestReader {
  constructor(
    private readonly scorers: ScorerService,
    private readonly scorer: TargetScorer,
    private readonly selector: TargetSelector,
  ) {}

  /**
   * Checks a request for the current version of a scorer. Errors: 400 for a contradictory selection and for a human scorer;
   * 404 for an unknown scorer or unknown ids; 409 for an archived scorer; 422 for unknown values, for a limit over the cap,
   * and for a cost limit on a judge without prices; 503 without a judge backend, unless `asksJudge` is false.
   */
  async read(
    scope: Scope,
    scorerId: string,
    dto: TargetSelectionDto & { limit?: number | null; max_cost_usd?: number | null },
    cap: Cap,
    { asksJudge = true } = {},
  ): Promise<ScoringRequest> {
    checkSelectors(dto);
    const row = await this.scorers.find(scope, scorerId);
    checkRunnable(row);
    await this.selector.checkIds(scope, dto);
    checkSelectionValues(dto);
    const selection = selectionOf(dto, row.grain, cap);
    const options = optionsOf(dto);
    const scorer = toRunnable(row);
    if (asksJudge) {
      await this.scorer.checkBackend(scorer);
      if (options.max_cost_usd !== null) await this.scorer.checkPrice(scorer, '/max_cost_usd');
    }
    return { scorer, selection, options };
  }
}
