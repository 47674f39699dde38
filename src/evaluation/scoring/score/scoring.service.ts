import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { problem } from '#platform/problem';
import { TARGETS_MAX } from '../score-runs/score-run.entity';
import { ScoreRunService } from '../score-runs/score-run.service';
import {
  type QueuedRunDto,
  type ScoreRequestDto,
  type SynchronousScoresDto,
  toQueuedRunDto,
} from './scoring.dto';
import { type ScoringOptions, ScoringRunner } from '../score-runs/scoring-runner';
import { ScoringRequestReader } from './scoring-request.reader';
import type { Selection } from '../targets/candidates';
import { TargetSelector } from '../targets/target-selector';
import type { RunnableScorer } from '../score-runs/target-scorer';

/** Maximum number of attempts to select targets that no other request takes. */
const SELECTIONS_MAX = 10;

/** The outcome of a request to score: a queued run, or the results. */
export type ScoringResponse = { queued: QueuedRunDto } | { scores: SynchronousScoresDto };

/** Handles requests to score. */
@Injectable()
export class ScoringService {
  constructor(
    private readonly requests: ScoringRequestReader,
    private readonly selector: TargetSelector,
    private readonly runs: ScoreRunService,
    private readonly runner: ScoringRunner,
  ) {}

  /**
   * Scores the selected targets with the current version of a scorer. Stores nothing until all checks have passed. Errors:
   * 400 for a contradictory selection and for a human scorer; 404 for an unknown scorer or unknown ids; 409 for an archived
   * scorer, and if other requests keep taking the targets; 422 for more targets than the cap, and for a cost limit on a
   * judge without prices; 503 without a judge backend, except in mode `preview`.
   */
  async score(
    scope: Scope,
    scorerId: string,
    dto: ScoreRequestDto,
    signal: AbortSignal,
  ): Promise<ScoringResponse> {
    const mode = dto.mode ?? 'score';
    const cap = { targets: TARGETS_MAX[mode], what: `in mode ${mode}` };
    const asksJudge = mode !== 'preview';
    const request = await this.requests.read(scope, scorerId, dto, cap, { asksJudge });
    const { scorer, selection, options } = request;
    if (mode === 'score') return { queued: await this.enqueue(scope, scorer, selection, options, signal) };
    const { grain } = selection;
    const { targets } = await this.selector.select(scope, scorer, selection, signal);
    const results =
      mode === 'preview'
        ? await this.runner.preview(scope, scorer, grain, targets)
        : await this.runner.test(scope, scorer, grain, targets, options, signal);
    const { scorer_id, scorer_version } = scorer;
    return { scores: { grain, mode, results, scorer_id, scorer_version } };
  }

  /**
   * Selects the targets and starts a run over them. Selects again if another request for unscored targets takes some of
   * them first. Does not select under the lock, because its holder would need a second connection. Errors: 409 if other
   * requests take some of the targets every time.
   */
  private async enqueue(
    scope: Scope,
    scorer: RunnableScorer,
    selection: Selection,
    options: ScoringOptions,
    signal: AbortSignal,
  ): Promise<QueuedRunDto> {
    const { grain, unscoredOnly, experimentId: experiment_id = null } = selection;
    for (let attempt = 0; attempt < SELECTIONS_MAX; attempt++) {
      signal.throwIfAborted();
      const { targets, scannedRange } = await this.selector.select(scope, scorer, selection, signal);
      const settings = { ...options, grain, experiment_id, unscoredOnly, scannedRange };
      const run = await this.runs.start(scope, scorer, targets, settings);
      if (run) return toQueuedRunDto(run);
    }
    throw problem.conflict('Other requests keep taking these targets. Try again.');
  }
}
