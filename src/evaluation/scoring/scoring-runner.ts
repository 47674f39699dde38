import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { linkedSignal } from './linked-signal';
import type { ScoringTarget } from './score-run.entity';
import type { ScoredItem } from './scored-item';
import { SubjectBuilder } from './subject-builder';
import { type RunnableScorer, TargetScorer } from './target-scorer';
import { WorkerSlots } from './worker-slots';

/** Targets whose input and output are read together; more would only hold more memory. */
const CHUNK = 8;

export interface ScoringJob {
  scorer: RunnableScorer;
  targets: readonly ScoringTarget[];
  /** Targets scored at a time; the process may allow fewer. */
  concurrency: number;
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
    const queue = this.subjects.prepare(scope, job.targets, Math.min(CHUNK, job.concurrency));
    const broken = new AbortController();
    const stopping = linkedSignal(job.stopping, job.signal, broken.signal);
    const giveUp = linkedSignal(job.signal, broken.signal);
    const ownJob = { ...job, stopping: stopping.signal, signal: giveUp.signal };
    const lane = async (): Promise<void> => {
      try {
        while (await this.next(queue, ownJob, keep));
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
    queue: ReturnType<SubjectBuilder['prepare']>,
    { scorer, signal, stopping }: ScoringJob,
    keep: (target: ScoringTarget, item: ScoredItem) => Promise<void>,
  ): Promise<boolean> {
    try {
      await this.slots.acquire(stopping);
    } catch (error) {
      if (stopping.aborted) return false;
      throw error;
    }
    try {
      const following = await queue.next();
      if (following.done === true || signal.aborted) return false;
      const { target } = following.value;
      const shown = await following.value.show();
      const item =
        'error' in shown
          ? { error: shown.error, elapsed_ms: 0 }
          : await this.scorer.score(scorer, shown.subject, signal);
      await keep(target, item);
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      throw error;
    } finally {
      this.slots.release();
    }
  }
}
