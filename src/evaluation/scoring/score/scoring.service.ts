import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { runUnjoined } from '#platform/concurrency';
import { Database } from '#platform/db';
import { type FieldError, problem } from '#platform/problem';
import { checkSelectionValues, conditionErrors, parseConditions } from '../../../telemetry';
import { type Grain, ScorerService } from '../../scorers';
import { ScoreRunService } from '../score-runs/score-run.service';
import {
  checkRunnable,
  CONCURRENCY_DEFAULT,
  type RunnableScorer,
  type ScoringOptions,
  ScoringRunner,
  toRunnable,
} from '../score-runs/scoring-runner';
import type { Selection } from '../targets/candidates';
import { TARGETS_MAX } from '../targets/target.entity';
import { TargetRepository } from '../targets/target.repository';
import { TargetSelector } from '../targets/target-selector';
import {
  type QueuedRunDto,
  type ScoreRequestDto,
  type SynchronousScoresDto,
  type TargetSelectionDto,
  toQueuedRunDto,
} from './scoring.dto';

/** Maximum number of attempts to select targets that no other request takes. */
const SELECTIONS_MAX = 10;
const CONCURRENCY_MAX = 32;
const ID_LISTS = ['trace_ids', 'session_ids', 'agent_ids'] as const;

type SelectionOfRequest = TargetSelectionDto & { limit?: number | null; max_cost_usd?: number | null };

/** The maximum number of targets of a request. */
interface Cap {
  targets: number;
  /** Where the maximum applies, for the error message, such as `in a batch`. */
  what: string;
}

/** A checked request to score. */
export interface ScoringRequest {
  scorer: RunnableScorer;
  selection: Selection;
  options: ScoringOptions;
}

/** The outcome of a request to score: a queued run, or the results. */
export type ScoringResponse = { queued: QueuedRunDto } | { scores: SynchronousScoresDto };

/** Checks and handles requests to score. */
@Injectable()
export class ScoringService {
  constructor(
    private readonly database: Database,
    private readonly scorers: ScorerService,
    private readonly targets: TargetRepository,
    private readonly selector: TargetSelector,
    private readonly runs: ScoreRunService,
    private readonly runner: ScoringRunner,
  ) {}

  /**
   * Scores the selected targets with the current version of a scorer. Stores nothing until all checks have passed. Errors:
   * 400 for a contradictory selection and for a human scorer; 404 for an unknown scorer or unknown ids; 409 for an archived
   * scorer, and if other requests keep taking the targets; 422 for more targets than the cap, and for a cost limit on a
   * judge without prices; 429 for an organization with too many open runs; 503 without a judge backend, except in mode
   * `preview`.
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
    const request = await this.read(scope, scorerId, dto, cap, { asksJudge });
    if (mode === 'score') return { queued: await this.enqueue(scope, request, signal) };
    const { scorer, options } = request;
    const { grain } = request.selection;
    const { targets } = await this.selector.select(scope, request, signal);
    const work = { scorer, grain, targets };
    // holds no connection while a judge answers
    const results = await runUnjoined(() =>
      mode === 'preview' ? this.runner.preview(scope, work) : this.runner.test(scope, work, options, signal),
    );
    const { scorer_id, scorer_version } = scorer;
    return { scores: { grain, mode, results, scorer_id, scorer_version } };
  }

  /**
   * Selects the targets and starts a run over them. Selects again if another request for unscored targets takes some of
   * them first. Does not select under the lock, because its holder would need a second connection. Errors: 409 if other
   * requests take some of the targets every time; 429.
   */
  private async enqueue(scope: Scope, request: ScoringRequest, signal: AbortSignal): Promise<QueuedRunDto> {
    const { scorer, selection, options } = request;
    const { grain, unscoredOnly, experimentId: experiment_id = null } = selection;
    for (let attempt = 0; attempt < SELECTIONS_MAX; attempt++) {
      signal.throwIfAborted();
      const { targets, scannedRange } = await this.selector.select(scope, request, signal);
      const run = await this.database.transaction(async (tx) => {
        if (targets.length > 0) await this.runs.checkOpenRuns(tx, scope);
        const settings = { ...scorer, ...options, grain, experiment_id, scannedRange };
        const takenIds = unscoredOnly && (await this.targets.findTaken(tx, scope, settings, targets));
        return takenIds && takenIds.size > 0 ? null : this.runs.start(tx, scope, settings, targets);
      });
      if (run) return toQueuedRunDto(run);
    }
    throw problem.conflict('Other requests keep taking these targets. Try again.');
  }

  /**
   * Checks a request for the current version of a scorer. Errors: 400 for a contradictory selection and for a human scorer;
   * 404 for an unknown scorer or unknown ids; 409 for an archived scorer; 422 for unknown values, for a limit over the cap,
   * and for a cost limit on a judge without prices; 503 without a judge backend, unless `asksJudge` is false.
   */
  async read(
    scope: Scope,
    scorerId: string,
    dto: SelectionOfRequest,
    cap: Cap,
    { asksJudge = true } = {},
  ): Promise<ScoringRequest> {
    checkSelectors(dto);
    const row = await this.scorers.find(scope, scorerId);
    checkRunnable(row);
    await this.selector.checkIds(scope, dto);
    checkSelectionValues(dto);
    const selection = selectionOf(dto, row.grain, cap);
    const options = {
      concurrency: Math.min(dto.concurrency || CONCURRENCY_DEFAULT, CONCURRENCY_MAX),
      max_cost_usd: dto.max_cost_usd ?? null,
      cache: dto.cache !== false,
    };
    const scorer = toRunnable(row);
    if (asksJudge) {
      await this.runner.checkBackend(scorer);
      if (options.max_cost_usd !== null) await this.runner.checkPrice(scorer, '/max_cost_usd');
    }
    return { scorer, selection, options };
  }
}

/**
 * Checks the rules between the members of a request that need no database. Errors: 400 without any selector, for a selector
 * that can never select a target, and for a grain that contradicts the ids.
 */
function checkSelectors(dto: TargetSelectionDto): void {
  const selectors = [dto.trace_ids, dto.session_ids, dto.agent_ids, dto.experiment_id, dto.since, dto.until];
  if (selectors.every(isAbsent) && !dto.filters?.length) {
    throw problem.invalidRequest(
      'Select what to score: use trace_ids, session_ids, agent_ids, experiment_id, since, until or at least one filter.',
    );
  }
  const errors: FieldError[] = conditionErrors(dto);
  for (const member of ID_LISTS) {
    if (dto[member]?.length === 0) {
      errors.push({ pointer: `/${member}`, detail: 'must not be empty: an empty list selects nothing' });
    }
  }
  const grains = grainsOfIds(dto);
  if (grains.length === 1 && isOtherGrain(dto.grain, grains[0]!)) {
    const member = grains[0] === 'trace' ? 'trace_ids' : dto.session_ids ? 'session_ids' : 'agent_ids';
    errors.push({ pointer: '/grain', detail: `must be ${grains[0]} or absent if you send ${member}` });
  }
  if (errors.length > 0) throw problem.invalidFields(errors);
}

/** Returns the selection of a checked request. Errors: 422 for a limit over the cap. */
function selectionOf(dto: SelectionOfRequest, scorerGrain: Grain, { targets: cap, what }: Cap): Selection {
  const limit = dto.limit ?? undefined;
  if (limit !== undefined && limit > cap) {
    throw problem.validationFailed([{ pointer: '/limit', detail: `must be at most ${cap} ${what}` }]);
  }
  return {
    grain: dto.grain ?? grainsOfIds(dto)[0] ?? scorerGrain,
    traceIds: distinct(dto.trace_ids),
    sessionIds: distinct(dto.session_ids),
    agentIds: distinct(dto.agent_ids),
    experimentId: dto.experiment_id ?? undefined,
    ...parseConditions(dto),
    limit,
    cap,
    unscoredOnly: dto.unscored_only === true,
  };
}

/** Returns the grains of the ids in a request, traces first. */
function grainsOfIds(dto: TargetSelectionDto): Grain[] {
  const grains: Grain[] = [];
  if (!isAbsent(dto.trace_ids)) grains.push('trace');
  if (!isAbsent(dto.session_ids) || !isAbsent(dto.agent_ids)) grains.push('session');
  return grains;
}

/** Ignores an unknown grain, which is rejected later together with other unknown values. */
const isOtherGrain = (grain: string | null | undefined, expected: Grain): boolean =>
  (grain === 'trace' || grain === 'session') && grain !== expected;

const isAbsent = (value: unknown): boolean => value === null || value === undefined;

const distinct = (ids: string[] | null | undefined): string[] | undefined =>
  ids ? [...new Set(ids)] : undefined;
