import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Environment } from '#platform/config';
import { runUnjoined } from '#platform/concurrency';
import { Database, type Tx } from '#platform/db';
import { newId } from '#platform/ids';
import { rootLogger } from '#platform/logging';
import { type Page, toPage } from '#platform/paging';
import { orNotFound, problem } from '#platform/problem';
import { type ScoringRequest, ScoringService } from '../score/scoring.service';
import { BATCH_TARGETS_MAX } from '../score-runs/score-run.types';
import { ScoreRunService, tooManyOpen } from '../score-runs/score-run.service';
import { type ScoringTarget, toTargets } from '../targets/target.entity';
import { TargetRepository } from '../targets/target.repository';
import { TargetSelector, tooManyTargets } from '../targets/target-selector';
import {
  type CreateScoreBatchDto,
  type ScoreBatchDto,
  type ScoreBatchListQueryDto,
  type ScoreBatchRow,
  toScoreBatchDto,
} from './score-batch.dto';
import { ScoreBatchRepository } from './score-batch.repository';

/** Number of targets that are checked together. */
const PAGE = 5_000;
/** Age after which a batch that is still selecting its targets counts as abandoned. Longer than any request may take. */
const ABANDONED_MS = 10 * 60_000;

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
    const cap = { targets: BATCH_TARGETS_MAX, what: 'in a batch' };
    const request = await this.scoring.read(scope, scorerId, dto, cap);
    const id = newId('batch');
    try {
      await runUnjoined(() => this.select(scope, id, request, signal));
      signal.throwIfAborted();
      return toScoreBatchDto(await this.accept(scope, id, request));
    } catch (error) {
      // If the database is unavailable, `deleteAbandoned` deletes the batch later.
      await runUnjoined(() => this.batches.discard(scope, id)).catch(() => undefined);
      throw error;
    }
  }

  /** Stores a batch that is not visible yet, and its targets. */
  private async select(
    scope: Scope,
    id: string,
    request: ScoringRequest,
    signal: AbortSignal,
  ): Promise<void> {
    await this.database.transaction(async (tx) => {
      const max = this.environment.MAX_OPEN_SCORE_BATCHES;
      if ((await this.batches.countOpen(tx, scope)) >= max) throw tooManyOpen('batches', max);
      await this.batches.insert(tx, scope, id, request);
    });
    await this.storeTargets(scope, id, request, signal);
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
   * Makes a batch visible and starts its first runs. With `unscoredOnly`, first drops targets that another request or a rule
   * has taken since they were selected, under the lock for such requests.
   */
  private accept(scope: Scope, id: string, request: ScoringRequest): Promise<ScoreBatchRow> {
    return this.database.transaction(async (tx) => {
      if (request.selection.unscoredOnly) await this.dropTaken(tx, scope, id, request);
      const batch = await this.batches.accept(tx, scope, id);
      if (!batch) throw new Error('The batch was deleted while it selected its targets.');
      const run_count = await this.runs.startBatchRuns(tx, scope, batch);
      return { ...batch, run_count };
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
