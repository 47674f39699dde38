import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Metrics } from '#platform/metrics';
import { WorkspaceAccessRepository } from '../../../resources';
import { type Backlog, TraceFeedRepository } from '../../../telemetry';
import { quietSecondsOf } from './scoring-rule.dto';
import { type ActiveRule, ScoringRuleRepository, unseenBy } from './scoring-rule.repository';

/** Maximum number of waiting traces that are counted, so that a scrape stays cheap. */
const COUNTED_MAX = 100_000;
/** Number of rules per read. */
const PAGE = 1_000;

/**
 * How far scoring rules are behind. Every process computes it from the database, because no worker may be running. A trace
 * waits from the end of the rule's quiet time until the rule has processed it. Rules that are disabled, or whose scorer or
 * workspace is archived, have nothing to do. A rule that an error blocks counts.
 */
@Injectable()
export class ScoringRuleMetrics implements OnModuleInit {
  constructor(
    private readonly metrics: Metrics,
    private readonly rules: ScoringRuleRepository,
    private readonly arrivals: TraceFeedRepository,
    private readonly workspaces: WorkspaceAccessRepository,
  ) {}

  onModuleInit(): void {
    const lag = this.metrics.gauge(
      'rule_lag_seconds',
      'Longest time that a trace has waited for a scoring rule, after its quiet time; 0 without waiting traces.',
    );
    const backlog = this.metrics.gauge('rule_backlog', 'Traces that wait for scoring rules, over all rules.');
    this.metrics.addSource({
      name: 'scoring_rules',
      gauges: [lag, backlog],
      read: async () => {
        const { count, lag_us } = await this.backlog();
        return () => {
          lag.set(lag_us / 1_000_000);
          backlog.set(count);
        };
      },
    });
  }

  /** Measures the traces that wait for the rules of all tenants. A trace counts once for each rule. */
  async backlog(): Promise<Backlog> {
    const { now_us } = await this.arrivals.clock();
    const total: Backlog = { count: 0, lag_us: 0 };
    let after = '';
    for (;;) {
      const page = await this.rules.listActive(after, PAGE, 0);
      const { count, lag_us } = await this.backlogOf(page, now_us, COUNTED_MAX - total.count);
      total.count += count;
      total.lag_us = Math.max(total.lag_us, lag_us);
      if (page.length < PAGE) return total;
      after = page.at(-1)!.rule_id;
    }
  }

  private async backlogOf(page: readonly ActiveRule[], nowUs: number, limit: number): Promise<Backlog> {
    const live = await this.workspaces.filterLive(page.map(({ workspace_id }) => workspace_id));
    const due = page.filter(({ is_scorer_live, workspace_id }) => is_scorer_live && live.has(workspace_id));
    const ranges = due.map((rule) => unseenBy(rule, nowUs - quietSecondsOf(rule) * 1_000_000));
    return this.arrivals.backlog(ranges, limit);
  }
}
