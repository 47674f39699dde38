import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { FairLimiter, linkedSignal, type Permit, retry, type RetryPolicy } from '#platform/concurrency';
import { Environment } from '#platform/config';
import { RawJson } from '#platform/json';
import { Problem, problem } from '#platform/problem';
import {
  Budget,
  BUDGET_EXCEEDED,
  failedScoring,
  JudgeBackends,
  JudgeService,
  PromptError,
  type Scoring,
  type ScoringContext,
} from '../../judges';
import {
  type ChecksDefinition,
  CodeEngine,
  codeSeesPart,
  type Grain,
  type JudgeDefinition,
  MAX_ERROR_LENGTH,
  type ScorerKind,
  type ScoringSubject,
  type ScriptDefinition,
} from '../../scorers';
import { itemOf, type ScoredItem, storable } from '../../scores';
import { type PreparedTarget, SubjectBuilder } from '../targets/subject-builder';
import type { ScoringTarget } from '../targets/target.entity';
import { type ScoreRunRow, type ScoringResultDto, toScoringResultDto } from './score-run.dto';

/** Maximum number of targets of a judge whose content is read together. */
const CHUNK = 32;
/** Number of targets of code whose content is read together: half of a full run. They do not wait long, because code is fast. */
const CODE_CHUNK = 50;
/** Share of the request's time for scoring, so that finished targets are returned even when others take too long. */
const TEST_TIME_SHARE = 0.95;
const OUT_OF_TIME = 'This target was not scored within the time limit of the request.';
const noTargetInTime = (ms: number): string =>
  `No target was scored within ${ms / 1_000} s. Test fewer targets, or send fewer requests at a time.`;
/** A client that waits for the response gets an error at once while the database is unavailable. */
const ONCE: RetryPolicy = { attempts: 1 };

/** Default number of targets scored at a time. */
export const CONCURRENCY_DEFAULT = 4;

/** A version of a scorer with its definition parsed. */
export interface RunnableScorer {
  scorer_id: string;
  scorer_version: number;
  workspace_id: string;
  name: string;
  scorer_kind: ScorerKind;
  definition: Record<string, unknown>;
}

/** Parses the definition of a version of a scorer, once for all targets. */
export function toRunnable(
  row: Omit<RunnableScorer, 'definition'> & { definition: RawJson },
): RunnableScorer {
  const { scorer_id, scorer_version, workspace_id, name, scorer_kind } = row;
  const definition = row.definition.parse() as Record<string, unknown>;
  return { scorer_id, scorer_version, workspace_id, name, scorer_kind, definition };
}

/** Checks that a scorer can be run. Errors: 400 for a human scorer, 409 for an archived one. */
export function checkRunnable(row: { scorer_kind: ScorerKind; archived_at: Date | null }): void {
  if (row.scorer_kind === 'human') {
    throw problem.invalidRequest(
      'Scorers of kind `human` cannot be run. Record scores with `POST /eval/v1/scores`.',
    );
  }
  if (row.archived_at) throw problem.conflict('The scorer is archived. Restore it before you run it.');
}

/** The options of a request to score. */
export type ScoringOptions = Pick<ScoreRunRow, 'concurrency' | 'max_cost_usd' | 'cache'>;

/** Targets to score. */
interface ScoringWork {
  scorer: RunnableScorer;
  grain: Grain;
  targets: readonly ScoringTarget[];
}

/** Targets to score, and how to score them. */
export interface ScoringJob extends ScoringWork {
  /** Number of targets scored at a time. The process may allow fewer. */
  concurrency: number;
  /** Number of results that may wait for `onResult` while the next targets are scored. Default: 0. */
  unstored?: number;
  /** How the answers of a judge are cached. */
  cache: ScoringContext['cache'];
  /** Once it is spent, no further target is started and no request is sent to a judge. */
  budget: Budget;
  /** Absent for results that are not stored. */
  runId?: string;
  /** How reads of the database are retried. */
  retry: RetryPolicy;
  /** Aborted to start no further target; targets in progress are finished. */
  stopping: AbortSignal;
  /** Aborted to abandon the targets in progress as well. */
  signal: AbortSignal;
}

/** Receives the result of a target. */
type OnResult = (target: ScoringTarget, item: ScoredItem) => Promise<void>;

/**
 * Scores targets: at most `concurrency` of one job at a time, and at most `WORKER_CONCURRENCY` of one organization in this
 * process. Each of the organizations that can have runs in this process finds as many slots, so that the hanging judges of
 * some do not delay others. Judges and code have separate limits, so that a hanging judge does not delay code.
 */
@Injectable()
export class ScoringRunner {
  private readonly code: FairLimiter;
  private readonly judges: FairLimiter;

  constructor(
    private readonly subjects: SubjectBuilder,
    private readonly engine: CodeEngine,
    private readonly backends: JudgeBackends,
    private readonly judging: JudgeService,
    private readonly environment: Environment,
  ) {
    const share = environment.WORKER_CONCURRENCY;
    const concurrency = share * (environment.WORKER_RUNS + 1);
    this.code = new FairLimiter({ share, concurrency });
    this.judges = new FairLimiter({ share, concurrency });
  }

  /** Tells whether the judge backend of a scorer is configured. Code needs none. */
  async hasBackend(scorer: RunnableScorer): Promise<boolean> {
    return scorer.scorer_kind !== 'llm_judge' || (await this.backends.find(judgedOf(scorer))) !== undefined;
  }

  /** Checks that the judge backend of a scorer is configured. Errors: 503 if it is not. */
  async checkBackend(scorer: RunnableScorer): Promise<void> {
    if (scorer.scorer_kind === 'llm_judge') await this.backends.require(judgedOf(scorer));
  }

  /** Tells whether a cost limit can be enforced. False for a judge whose model has no price. Errors: 503 without its backend. */
  async isPriced(scorer: RunnableScorer): Promise<boolean> {
    if (scorer.scorer_kind !== 'llm_judge') return true;
    const backend = await this.backends.require(judgedOf(scorer));
    return backend.isPriced(judgedOf(scorer).definition);
  }

  /**
   * Checks that a cost limit can be enforced. Errors: 422 for a judge whose model has no price.
   *
   * @param pointer JSON pointer to the member with the limit
   */
  async checkPrice(scorer: RunnableScorer, pointer: string): Promise<void> {
    if (await this.isPriced(scorer)) return;
    const detail =
      'cannot be enforced, because the model of the judge has no price. Set MODEL_PRICES, or `price` in the targets of a gateway model, or omit this member.';
    throw problem.validationFailed([{ pointer, detail }]);
  }

  /** Returns what would be run or sent to the judge for each target, without doing so. */
  async preview(scope: Scope, work: ScoringWork): Promise<ScoringResultDto[]> {
    const results: ScoringResultDto[] = [];
    const reading = { ...work, retry: ONCE };
    for await (const { target, build } of this.subjects.prepare(scope, reading, work.targets.length)) {
      const built = await build();
      const result =
        'error' in built
          ? { error: built.error, ...truncated(built.isTooLarge) }
          : await this.previewTarget(work.scorer, built.subject);
      results.push({ ...toScoringResultDto(target, { elapsed_ms: 0 }), ...result });
    }
    return results;
  }

  /**
   * Scores the targets and returns the results in the order of the targets, without storing them. Does not use cached answers
   * of judges. Targets that are not finished shortly before the request times out get an error. Errors: 504 if no target is
   * finished by then. Throws the reason of the request's signal when it is aborted.
   */
  async test(
    scope: Scope,
    work: ScoringWork,
    { concurrency, max_cost_usd }: ScoringOptions,
    request: AbortSignal,
  ): Promise<ScoringResultDto[]> {
    const limitMs = Math.floor(this.environment.TEST_SCORING_TIMEOUT_MS * TEST_TIME_SHARE);
    const time = AbortSignal.timeout(limitMs);
    const ending = linkedSignal(time, request);
    const { signal } = ending;
    const results = new Map<number, ScoringResultDto>();
    const job: ScoringJob = {
      ...work,
      concurrency,
      cache: 'none',
      budget: new Budget(max_cost_usd),
      retry: ONCE,
      stopping: signal,
      signal,
    };
    try {
      await this.run(scope, job, (target, item) => {
        results.set(target.ordinal, toScoringResultDto(target, item));
        return Promise.resolve();
      });
    } finally {
      ending.unlink();
    }
    request.throwIfAborted();
    if (results.size === 0 && time.aborted) throw new Problem('request_timeout', noTargetInTime(limitMs));
    const error = signal.aborted ? OUT_OF_TIME : BUDGET_EXCEEDED;
    return work.targets.map(
      (target) => results.get(target.ordinal) ?? toScoringResultDto(target, { error, elapsed_ms: 0 }),
    );
  }

  /**
   * Scores targets and passes each result to `onResult` as soon as it is available. A target whose result waits for
   * `onResult` does not count against `concurrency`. Targets that the signals abort have no result. Throws the error of
   * `onResult`, or the error that made scoring impossible, once no target is in progress.
   */
  async run(scope: Scope, job: ScoringJob, onResult: OnResult): Promise<void> {
    const chunk = job.scorer.scorer_kind === 'code' ? CODE_CHUNK : Math.min(CHUNK, job.concurrency);
    const queue = this.subjects.prepare(scope, job, chunk);
    const broken = new AbortController();
    const stopping = linkedSignal(job.stopping, job.signal, broken.signal);
    const abandoned = linkedSignal(job.signal, broken.signal);
    const linkedJob = { ...job, stopping: stopping.signal, signal: abandoned.signal };
    // While a job is stopping, targets that wait for their turn at a judge or for a thread are left to other workers.
    const fail = (error: unknown): void => {
      if (!stopping.signal.aborted) broken.abort(error);
    };
    const storing = new Set<Promise<unknown>>();
    const scoreAll = async (): Promise<void> => {
      for (;;) {
        const scored = await this.scoreNext(scope, queue, linkedJob);
        if (!scored) return;
        const stored = onResult(scored.target, scored.item)
          .catch(fail)
          .finally(() => storing.delete(stored));
        storing.add(stored);
        if (storing.size > (job.unstored ?? 0)) await stored;
      }
    };
    const parallelism = Math.min(job.concurrency, job.targets.length);
    await Promise.all(Array.from({ length: parallelism }, () => scoreAll().catch(fail)));
    await Promise.all(storing);
    stopping.unlink();
    abandoned.unlink();
    broken.signal.throwIfAborted();
  }

  /** Scores the next target. Returns undefined if there is no further target, or the job is stopping. */
  private scoreNext(
    scope: Scope,
    queue: AsyncGenerator<PreparedTarget, undefined>,
    job: ScoringJob,
  ): Promise<{ target: ScoringTarget; item: ScoredItem } | undefined> {
    const limiter = job.scorer.scorer_kind === 'llm_judge' ? this.judges : this.code;
    return limiter.run(scope, job.stopping, async (permit) => {
      const prepared = await this.prepareNext(queue, job);
      if (!prepared || job.signal.aborted) return undefined;
      const { signal, stopping, cache, budget, runId } = job;
      const targetKey = runId && `${runId}:${prepared.target.ordinal}`;
      const lendSlot = lendSlotOf(permit, stopping);
      const context = { owner: scope, signal, stopping, cache, budget, targetKey, lendSlot };
      const item = await prepared.scoring(context);
      return { target: prepared.target, item };
    });
  }

  /** Prepares the next target. A separate function, so that the subject can be freed before the scoring starts. */
  private async prepareNext(
    queue: AsyncGenerator<PreparedTarget, undefined>,
    { scorer, retry: policy, budget }: ScoringJob,
  ): Promise<{ target: ScoringTarget; scoring: Scoring } | undefined> {
    const { done, value } = await queue.next();
    if (done || !budget.canContinue()) return undefined;
    const built = await retry(value.build, policy);
    const scoring =
      'error' in built
        ? failedScoring(built.error, built.isTooLarge)
        : await retry(() => this.prepareScoring(scorer, built.subject), policy);
    return { target: value.target, scoring };
  }

  /** Returns exactly what would be run or sent to the judge, or the error that prevents it. */
  private async previewTarget(
    scorer: RunnableScorer,
    subject: ScoringSubject,
  ): Promise<Partial<ScoringResultDto>> {
    if (scorer.scorer_kind !== 'llm_judge') {
      return {
        preview_request: { ...scorer.definition, subject: { ...subject, trace: subject.trace ?? null } },
        ...truncated(codeSeesPart(codeOf(scorer), subject)),
      };
    }
    try {
      const { body, sha256, isTruncated } = await this.judging.preview(judgedOf(scorer), subject);
      return { preview_request: new RawJson(body), request_sha256: sha256, ...truncated(isTruncated) };
    } catch (error) {
      if (!(error instanceof PromptError)) throw error;
      return { error: storable(error.message, MAX_ERROR_LENGTH), ...truncated(error.isTooLarge) };
    }
  }

  /** Prepares the scoring of one target. The result does not reference the subject if a judge scores it. */
  private prepareScoring(scorer: RunnableScorer, subject: ScoringSubject): Promise<Scoring> {
    if (scorer.scorer_kind === 'llm_judge') return this.judging.prepare(judgedOf(scorer), subject);
    const isTruncated = codeSeesPart(codeOf(scorer), subject);
    return Promise.resolve(async ({ owner, signal, stopping }) => {
      const start = performance.now();
      const outcome = await this.engine.run(scorer.definition, subject, signal, owner, stopping);
      const item = itemOf(outcome, performance.now() - start);
      return { ...item, ...truncated(isTruncated && item.error === undefined) };
    });
  }
}

const truncated = (isTruncated: boolean | undefined): Pick<ScoredItem, 'is_truncated'> =>
  isTruncated ? { is_truncated: true } : {};

const codeOf = ({ definition }: RunnableScorer) => definition as ScriptDefinition | ChecksDefinition;

const judgedOf = (scorer: RunnableScorer) => scorer as RunnableScorer & { definition: JudgeDefinition };

/** Lends the permit of a target to others while its scoring waits. Ends the wait when the job stops. */
const lendSlotOf =
  (permit: Permit, stopping: AbortSignal): ScoringContext['lendSlot'] =>
  async (until, waiting) => {
    const either = linkedSignal(until, stopping);
    try {
      return await permit.lend(either.signal, () => waiting(either.signal));
    } finally {
      either.unlink();
    }
  };
