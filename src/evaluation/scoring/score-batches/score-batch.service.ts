import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Environment } from '#platform/config';
import { runUnjoined } from '#platform/concurrency';
import { Database, type Tx } from '#platform/db';
import { newId } from '#platform/ids';
import { rootLogger } from '#platform/logging';
import { type Page, toPage } from '#platform/paging';
import { orNotFound, problem } from '#platform/problem';
import { checkWorkspaceOfSearch } from '../../../resources';
import { ExperimentRepository } from '../../experiments';
import { ScorerRepository, ScorerService } from '../../scorers';
import { type ScoringRequest, ScoringService } from '../score/scoring.service';
import { BATCH_TARGETS_MAX, hasEnded } from '../score-runs/score-run.types';
import type { Wait, WaitQueryDto } from '../waiting/wait';
import { WorkWaiter } from '../waiting/work-waiter';
import { ScoreRunService, tooManyOpen } from '../score-runs/score-run.service';
import { type ScoringTarget, toTargets } from '../targets/target.entity';
import { TargetRepository } from '../targets/target.repository';
import { TargetSelector, tooManyTargets } from '../targets/target-selector';
import {
  type CreateScoreBatchDto,
  type ScoreBatchDto,
  type ScoreBatchesDto,
  type ScoreBatchListQueryDto,
  type ScoreBatchRow,
  type ScoreExperimentDto,
  toScoreBatchDto,
} from './score-batch.dto';
import { type NewScoreBatch, ScoreBatchRepository } from './score-batch.repository';

/** Number of targets that are checked together. */
const PAGE = 5_000;
/** Age after which a batch that is still selecting its targets counts as abandoned. Longer than any request may take. */
const ABANDONED_MS = 10 * 60_000;

const CAP = { targets: BATCH_TARGETS_MAX, what: 'in a batch' };

/** Starts, reads and cancels batches. */
@Injectable()
export class ScoreBatchService {
  constructor(
    private readonly environment: Environment,
    private readonly database: Database,
    private readonly scoring: ScoringService,
    private readonly selector: TargetSelector,
    private readonly batches: ScoreBatchRepository,
    private readonly targets: TargetRepository,
    private readonly runs: ScoreRunService,
    private readonly scorerNames: ScorerService,
    private readonly scorers: ScorerRepository,
    private readonly experiments: ExperimentRepository,
    private readonly waiter: WorkWaiter,
  ) {}

  /**
   * Stores the selected targets, and starts the first runs over them. Stores them page by page while selecting, so that a
   * large selection takes neither much memory nor a long transaction. The batch becomes visible once all targets are
   * stored. Errors: those of a request to score; 429 for an organization with too many open batches; 422 for more than 100,000
   * targets, with their number.
   */
  async create(
    scope: Scope,
    scorerId: string,
    dto: CreateScoreBatchDto,
    signal: AbortSignal,
  ): Promise<ScoreBatchDto> {
    const request = await this.scoring.read(scope, scorerId, dto, CAP);
    return (await this.order(scope, [request], signal))[0]!;
  }

  /**
   * Orders one batch over the results of an experiment for each scorer, all or none. A scorer that is named twice is ordered
   * once. With a cost limit, the batches run one after the other. Errors: 404 for an unknown experiment, and for an unknown
   * scorer, naming it; those of `create`.
   */
  async scoreExperiment(
    scope: Scope,
    experimentId: string,
    { workspace_id, scorers, ...options }: ScoreExperimentDto,
    signal: AbortSignal,
  ): Promise<ScoreBatchesDto> {
    checkWorkspaceOfSearch(scope, workspace_id);
    if (!(await this.experiments.exists(scope, experimentId)))
      throw problem.notFound('experiment', experimentId);
    const ids = await this.scorerNames.idsOf(scope, scorers);
    const distinct = [...new Set(ids)];
    const found = await this.scorers.findMany(scope, distinct);
    const kinds = new Map(found.map(({ scorer_id, scorer_kind }) => [scorer_id, scorer_kind]));
    const unknown = ids.findIndex((id) => !kinds.has(id));
    if (unknown >= 0) throw problem.unknownReference(`/scorers/${unknown}`, 'scorer', scorers[unknown]!);
    const human = ids.findIndex((id) => kinds.get(id) === 'human');
    if (human >= 0) {
      const detail = 'must not be a scorer of kind `human`, because people give its scores';
      throw problem.invalidField(`/scorers/${human}`, detail);
    }
    const max = this.environment.MAX_OPEN_SCORE_BATCHES;
    if (distinct.length > max) {
      const detail = `must name at most ${max} scorers, because an organization can have at most ${max} open batches`;
      throw problem.validationFailed([{ pointer: '/scorers', detail }]);
    }
    const requests: ScoringRequest[] = [];
    for (const id of distinct) {
      requests.push(await this.scoring.read(scope, id, { ...options, experiment_id: experimentId }, CAP));
    }
    return { score_batches: await this.order(scope, requests, signal) };
  }

  /** Stores batches and starts their first runs, all or none. */
  private async order(
    scope: Scope,
    requests: readonly ScoringRequest[],
    signal: AbortSignal,
  ): Promise<ScoreBatchDto[]> {
    const sharesLimit = requests.length > 1 && requests[0]!.options.max_cost_usd !== null;
    const orderId = sharesLimit ? newId('batch') : null;
    const batches = requests.map((request) => ({ id: newId('batch'), orderId, request }));
    try {
      await runUnjoined(() => this.select(scope, batches, signal));
      signal.throwIfAborted();
      return (await this.accept(scope, batches, orderId)).map((batch) => toScoreBatchDto(batch));
    } catch (error) {
      // If the database is unavailable, `deleteAbandoned` deletes the batches later.
      const ids = batches.map(({ id }) => id);
      await runUnjoined(() => this.batches.discard(scope, ids)).catch(() => undefined);
      throw error;
    }
  }

  /** Stores batches that are not visible yet, and their targets. */
  private async select(scope: Scope, batches: readonly NewScoreBatch[], signal: AbortSignal): Promise<void> {
    await this.database.transaction(async (tx) => {
      const max = this.environment.MAX_OPEN_SCORE_BATCHES;
      const open = await this.batches.countOpen(tx, scope);
      if (open + batches.length > max) throw tooManyOpen('batches', max);
      for (const batch of batches) await this.batches.insert(tx, scope, batch);
    });
    for (const { id, request } of batches) await this.storeTargets(scope, id, request, signal);
  }

  /** Selects the targets of a batch and stores them page by page. Errors: 422 for too many. */
  private async storeTargets(
    scope: Scope,
    id: string,
    request: ScoringRequest,
    signal: AbortSignal,
  ): Promise<void> {
    const { limit, cap } = request.selection;
    const candidates = await this.selector.candidates(scope, request, signal);
    let total = 0;
    let nextOrdinal = 0;
    for await (const page of candidates.pages(limit ?? cap + 1)) {
      signal.throwIfAborted();
      const refs = limit === undefined ? page : page.slice(0, limit - total);
      if (refs.length > 0) total += await this.batches.addTargets(scope, id, toTargets(refs, nextOrdinal));
      nextOrdinal += refs.length;
      if (total > (limit ?? cap)) throw tooManyTargets(await candidates.count(), cap);
      if (total === limit) return;
    }
  }

  /**
   * Makes batches visible and starts their first runs. With `unscoredOnly`, first drops targets that another request or a rule
   * has taken since they were selected, under the lock for such requests.
   */
  private accept(
    scope: Scope,
    batches: readonly NewScoreBatch[],
    orderId: string | null,
  ): Promise<ScoreBatchRow[]> {
    // the locks of scorers in the same order in all requests
    const byScorer = [...batches].sort((one, other) =>
      one.request.scorer.scorer_id < other.request.scorer.scorer_id ? -1 : 1,
    );
    return this.database.transaction(async (tx) => {
      for (const { id, request } of byScorer) {
        if (request.selection.unscoredOnly) await this.dropTaken(tx, scope, id, request);
      }
      const accepted: ScoreBatchRow[] = [];
      for (const { id } of batches) {
        const batch = await this.batches.accept(tx, scope, id);
        if (!batch) throw new Error('The batch was deleted while it selected its targets.');
        const run_count = orderId === null ? await this.runs.startBatchRuns(tx, scope, batch) : 0;
        accepted.push({ ...batch, run_count });
      }
      if (orderId === null) return accepted;
      await this.runs.continueOrder(tx, scope, orderId);
      const started: ScoreBatchRow[] = [];
      for (const { id } of batches) started.push((await this.batches.find(scope, id, tx))!);
      return started;
    });
  }

  private async dropTaken(
    tx: Tx,
    scope: Scope,
    id: string,
    { scorer, selection }: ScoringRequest,
  ): Promise<void> {
    let page: ScoringTarget[];
    for (let after = -1; ; after = page.at(-1)!.ordinal) {
      page = await this.batches.targetsAfter(tx, scope, id, after, PAGE);
      if (page.length === 0) return;
      const takenIds = await this.targets.findTaken(tx, scope, { ...scorer, grain: selection.grain }, page);
      await this.batches.removeTargets(tx, scope, id, [...takenIds]);
    }
  }

  /** Deletes the batches of requests that were lost in a crash. */
  async deleteAbandoned(): Promise<void> {
    const count = await this.batches.deleteAbandoned(ABANDONED_MS);
    if (count > 0) rootLogger.info({ count }, 'abandoned scoring batches were deleted');
  }

  async list(scope: Scope, query: ScoreBatchListQueryDto): Promise<Page<ScoreBatchDto>> {
    return toPage(await this.batches.list(scope, query), toScoreBatchDto);
  }

  async get(scope: Scope, id: string): Promise<ScoreBatchDto> {
    return toScoreBatchDto(await this.find(scope, id));
  }

  /** Returns a batch when it has ended, or its state after a time. */
  async getEnded(scope: Scope, id: string, { wait_s = 0 }: WaitQueryDto, wait: Wait): Promise<ScoreBatchDto> {
    const batch = await this.get(scope, id);
    if (wait_s === 0 || hasEnded(batch.batch_status)) return batch;
    await wait.idle(() => this.waiter.wait(scope, id, wait_s * 1000, wait.signal));
    return this.get(scope, id);
  }

  /**
   * Cancels an open batch and its open runs. The batch then starts no further runs. Idempotent. Errors: 404; 409 for a batch
   * that ended without being cancelled.
   */
  cancel(scope: Scope, id: string): Promise<ScoreBatchDto> {
    // In separate transactions, because the end of a run locks first the run and then its batch.
    return runUnjoined(() => this.cancelInSteps(scope, id));
  }

  private async cancelInSteps(scope: Scope, id: string): Promise<ScoreBatchDto> {
    const open = await this.find(scope, id);
    await this.database.transaction((tx) => this.runs.cancelBatch(tx, scope, open));
    const batch = await this.find(scope, id);
    if (batch.failure_code !== 'cancelled') {
      throw problem.conflict(
        `The batch has ${batch.batch_status}. Only queued and running batches can be cancelled.`,
      );
    }
    const openRuns = await this.batches.openRuns(scope, id);
    await Promise.all(openRuns.map((runId) => this.runs.end(scope, runId)));
    return this.get(scope, id);
  }

  private async find(scope: Scope, id: string): Promise<ScoreBatchRow> {
    return orNotFound(await this.batches.find(scope, id), 'scoring batch', id);
  }
}
