import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { linkedSignal } from './linked-signal';
import type { ScoringTarget } from './score-run.entity';
import type { Budget } from './budget';
import type { Patience } from './patience';
import type { ScoredItem } from './scored-item';
import { failing, type Scoring, type ScoringTerms } from './scoring-terms';
import { SubjectBuilder } from './subject-builder';
import { type RunnableScorer, TargetScorer } from './target-scorer';
import { Slot, WorkerSlots } from './worker-slots';

/** Targets whose input and output are read together; more would only hold more memory. */
const CHUNK = 8;

export interface ScoringJob {
  scorer: RunnableScorer;
  targets: readonly ScoringTarget[];
  /** Targets scored at a time; the process may allow fewer. */
  concurrency: number;
  /** Whether a judge's earlier answers are taken, and new ones kept. */
  cache: ScoringTerms['cache'];
  /** Once it is spent, no further target is begun, and no judge asked any more. */
  budget: Budget;
  /** The run that it is for, where there is one. */
  runId?: string;
  /** How long the database is waited for. */
  patience: Patience;
  /** Aborted when no further target is to be begun; those under way are finished. */
  stopping: AbortSignal;
  /** Aborted when what is under way is to be given up, too. */
  signal: AbortSignal;
}

/** Takes the targets of a run one after another, at most `concurrency` of them at a time. */
@Injectable()
export class ScoringRunner {
  constructor(
    private readonly subjects: SubjectBuilder,
    private readonly scorer: TargetScorer,
    private readonly slots: WorkerSlots,
  ) {}

  /**
   * Scores targets and hands on what came of each as it comes; those that the signals cut off are not handed on.
   * Throws what `keep` throws, or what makes scoring impossible; nothing is under way any more then.
   */
  async run(
    scope: Scope,
    job: ScoringJob,
    keep: (target: ScoringTarget, item: ScoredItem) => Promise<void>,
  ): Promise<void> {
    const chunk = Math.min(CHUNK, job.concurrency);
    const queue = this.subjects.prepare(scope, job.targets, chunk, job.patience);
    const broken = new AbortController();
    const stopping = linkedSignal(job.stopping, job.signal, broken.signal);
    const giveUp = linkedSignal(job.signal, broken.signal);
    const ownJob = { ...job, stopping: stopping.signal, signal: giveUp.signal };
    const lane = async (): Promise<void> => {
      try {
        while (await this.next(scope, queue, ownJob, keep));
      } catch (error) {
        broken.abort(error);
        throw error;
      }
    };
    const lanes = Array.from({ length: Math.min(job.concurrency, job.targets.length) }, lane);
    const ends = await Promise.allSettled(lanes);
    stopping.unlink();
    giveUp.unlink();
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed) throw failed.reason;
  }

  /** Scores the next target. @returns whether there may be another. */
  private async next(
    { orgId, workspaceId }: Scope,
    queue: ReturnType<SubjectBuilder['prepare']>,
    job: ScoringJob,
    keep: (target: ScoringTarget, item: ScoredItem) => Promise<void>,
  ): Promise<boolean> {
    const slots = this.slots.of(job.scorer.scorer_kind);
    const slot = new Slot(slots, job.stopping, [orgId, workspaceId]);
    try {
      await slot.take();
      const prepared = await this.prepareNext(queue, job);
      if (!prepared || job.signal.aborted) return false;
      const idle: ScoringTerms['idle'] = (until, work) => slot.lend(until, work);
      const { signal, cache, budget, runId } = job;
      const askedFor = runId && `${runId}:${prepared.target.ordinal}`;
      const item = await prepared.scoring({ signal, cache, budget, askedFor, idle });
      await keep(prepared.target, item);
      return true;
    } catch (error) {
      // what only waited is left to others as soon as nothing more is begun; what is under way is finished
      if (job.stopping.aborted) return false;
      throw error;
    } finally {
      slot.giveBack();
    }
  }

  /** In a function of its own, so that nothing of the subject outlives it that the scoring does not need. */
  private async prepareNext(
    queue: ReturnType<SubjectBuilder['prepare']>,
    { scorer, patience, budget }: ScoringJob,
  ): Promise<{ target: ScoringTarget; scoring: Scoring } | undefined> {
    const { done, value } = await queue.next();
    if (done || !budget.mayGoOn()) return undefined;
    const shown = await patience(value.show);
    const scoring =
      'error' in shown
        ? failing(shown.error)
        : await patience(() => this.scorer.prepare(scorer, shown.subject));
    return { target: value.target, scoring };
  }
}
