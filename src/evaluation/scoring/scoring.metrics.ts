import { Injectable, type OnModuleInit } from '@nestjs/common';
import { type Counter, type Histogram, Metrics } from '#platform/metrics';
import type { ScorerKind } from '../scorers/scorer.entity';
import { OpenRunsRepository } from './open-runs.repository';
import type { ScoredItem } from './scored-item';

const BUCKETS = [0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Scoring as metrics: the runs that are open, in every process, and what is scored, in the workers. */
@Injectable()
export class ScoringMetrics implements OnModuleInit {
  private readonly targets: Counter<'scorer_kind' | 'outcome'>;
  private readonly duration: Histogram<'scorer_kind'>;

  constructor(
    private readonly metrics: Metrics,
    private readonly openRuns: OpenRunsRepository,
  ) {
    this.targets = metrics.counter(
      'scored_targets_total',
      'Targets of scoring runs that this process stored a result of, by outcome.',
      ['scorer_kind', 'outcome'],
    );
    this.duration = metrics.histogram(
      'scoring_duration_seconds',
      'Time that the scorer took for one target.',
      BUCKETS,
      ['scorer_kind'],
    );
  }

  onModuleInit(): void {
    const runs = this.metrics.gauge('score_runs', 'Scoring runs that are open, by status.', ['status']);
    const age = this.metrics.gauge(
      'score_runs_oldest_queued_age_seconds',
      'Since the oldest scoring run that is queued was made; 0 where none is.',
    );
    this.metrics.from({
      name: 'score_runs',
      gauges: [runs, age],
      read: async () => {
        const open = await this.openRuns.count();
        return () => {
          runs.set({ status: 'queued' }, open.queued);
          runs.set({ status: 'running' }, open.running);
          age.set(open.oldestQueuedSeconds);
        };
      },
    });
  }

  /** Says that the result of a target was stored. */
  scored(scorer_kind: ScorerKind, { error, score, elapsed_ms }: ScoredItem): void {
    const outcome = error !== undefined ? 'failed' : score === undefined ? 'abstained' : 'scored';
    this.targets.inc({ scorer_kind, outcome });
    this.duration.observe({ scorer_kind }, elapsed_ms / 1000);
  }
}
