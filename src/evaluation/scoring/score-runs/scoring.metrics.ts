import { Injectable, type OnModuleInit } from '@nestjs/common';
import { type Counter, type Histogram, Metrics } from '#platform/metrics';
import { SCORER_KINDS, type ScorerKind } from '../../scorers';
import type { ScoredItem } from '../../scores';
import { ScoreRunRepository } from './score-run.repository';

const BUCKETS = [0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

const OUTCOMES = ['scored', 'abstained', 'failed'] as const;

/** Metrics of scoring: open runs (in every process) and scored targets (in workers). */
@Injectable()
export class ScoringMetrics implements OnModuleInit {
  private readonly targets: Counter<'scorer_kind' | 'outcome'>;
  private readonly duration: Histogram<'scorer_kind'>;

  constructor(
    private readonly metrics: Metrics,
    private readonly runs: ScoreRunRepository,
  ) {
    this.targets = metrics.counter(
      'scored_targets_total',
      'Targets of scoring runs whose outcome this process stored, by outcome.',
      ['scorer_kind', 'outcome'],
    );
    for (const scorer_kind of SCORER_KINDS) {
      for (const outcome of OUTCOMES) this.targets.inc({ scorer_kind, outcome }, 0);
    }
    this.duration = metrics.histogram(
      'scoring_duration_seconds',
      'Time that the scorer took for one target.',
      BUCKETS,
      ['scorer_kind'],
    );
  }

  onModuleInit(): void {
    const runs = this.metrics.gauge('score_runs', 'Open scoring runs, by status.', ['status']);
    const age = this.metrics.gauge(
      'score_runs_oldest_queued_age_seconds',
      'Age of the oldest queued scoring run; 0 without queued runs.',
    );
    this.metrics.addSource({
      name: 'score_runs',
      gauges: [runs, age],
      read: async () => {
        const open = await this.runs.countOpen();
        return () => {
          runs.set({ status: 'queued' }, open.queued);
          runs.set({ status: 'running' }, open.running);
          age.set(open.oldestQueuedSeconds);
        };
      },
    });
  }

  /** Counts the stored result of a target. */
  countScored(scorer_kind: ScorerKind, { error, score, elapsed_ms }: ScoredItem): void {
    const outcome = error !== undefined ? 'failed' : score === undefined ? 'abstained' : 'scored';
    this.targets.inc({ scorer_kind, outcome });
    this.duration.observe({ scorer_kind }, elapsed_ms / 1000);
  }
}
