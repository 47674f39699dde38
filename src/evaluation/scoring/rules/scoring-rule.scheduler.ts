import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { PeriodicTasks, WorkerShutdown } from '#platform/jobs';
import { WorkspaceAccessRepository } from '../../../resources';
import { TraceArrivals } from '../../../telemetry';
import { quietSecondsOf } from './scoring-rule.dto';
import { ScoringRuleRepository, type WatchedRule } from './scoring-rule.repository';
import { ScoringRuleRunner } from './scoring-rule.runner';

const INTERVAL_MS = 3_000;
/** Lease of a worker on a rule: longer than a step takes, and the delay when a worker dies. */
const HOLD_MS = 30_000;
/** Rules read together. */
const PAGE = 100;
/** Open runs with which a rule starts no more. Slow scorers let arrivals wait, instead of piling up runs. */
const OPEN_RUNS_MAX = 3;

const SCORER_ARCHIVED = 'The scorer is archived. Restore it to let the rule continue.';

/**
 * Runs the rules of all tenants over what has arrived, in every worker. A pass takes each rule with work one step further,
 * so that a backlog of one rule or workspace delays no other.
 */
@Injectable()
export class ScoringRuleScheduler implements OnApplicationBootstrap {
  constructor(
    private readonly rules: ScoringRuleRepository,
    private readonly arrivals: TraceArrivals,
    private readonly workspaces: WorkspaceAccessRepository,
    private readonly runner: ScoringRuleRunner,
    private readonly tasks: PeriodicTasks,
    private readonly shutdown: WorkerShutdown,
  ) {}

  onApplicationBootstrap(): void {
    this.tasks.every('scoring rules', INTERVAL_MS, () => this.runDue());
  }

  /** Makes passes until one leaves nothing to do. */
  async runDue(): Promise<void> {
    while (await this.pass());
  }

  private async pass(): Promise<boolean> {
    let hasMore = false;
    let after = '';
    for (;;) {
      const page = await this.rules.watched(after, PAGE, OPEN_RUNS_MAX);
      for (const { rule, beforeUs } of await this.due(page)) {
        if (this.shutdown.stopping.aborted) return false;
        if (await this.runner.step(rule, beforeUs)) hasMore = true;
      }
      if (page.length < PAGE || this.shutdown.stopping.aborted) return hasMore;
      after = page.at(-1)!.rule_id;
    }
  }

  /** Leases the rules for which something has been quiet for long enough, and that may start runs. */
  private async due(page: readonly WatchedRule[]): Promise<{ rule: WatchedRule; beforeUs: number }[]> {
    await this.explainArchived(page);
    const able = page.filter((rule) => rule.is_scorer_live && rule.open_runs < OPEN_RUNS_MAX);
    if (able.length === 0) return [];
    const clock = await this.arrivals.clock();
    const watched = able.map((rule) => ({
      rule,
      workspace_id: rule.workspace_id,
      after: { arrived_us: rule.seen_us, trace_id: rule.seen_trace_id },
      before_us: Math.min(clock.settled_us, clock.now_us - quietSecondsOf(rule) * 1_000_000),
    }));
    const ready = await this.arrivals.whereAny(watched);
    if (ready.length === 0) return [];
    const live = await this.workspaces.liveAmong(ready.map(({ workspace_id }) => workspace_id));
    const possible = ready.filter(({ workspace_id }) => live.has(workspace_id));
    const held = await this.rules.hold(
      possible.map(({ rule }) => rule.rule_id),
      HOLD_MS,
    );
    return possible
      .filter(({ rule }) => held.has(rule.rule_id))
      .map(({ rule, before_us }) => ({ rule, beforeUs: before_us }));
  }

  private async explainArchived(page: readonly WatchedRule[]): Promise<void> {
    const unexplained = page.filter((rule) => !rule.is_scorer_live && rule.last_error !== SCORER_ARCHIVED);
    if (unexplained.length > 0) {
      await this.rules.explain(
        unexplained.map(({ rule_id }) => rule_id),
        SCORER_ARCHIVED,
      );
    }
  }
}
