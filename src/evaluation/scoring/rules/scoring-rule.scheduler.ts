import { Injectable } from '@nestjs/common';
import { WorkerShutdown } from '#platform/jobs';
import { WorkspaceAccessRepository } from '../../../resources';
import { TraceFeedRepository } from '../../../telemetry';
import { quietSecondsOf } from './scoring-rule.dto';
import { ScoringRuleRepository, type ActiveRule } from './scoring-rule.repository';
import { ScoringRuleRunner } from './scoring-rule.runner';

/** Lease of a worker on a rule. Longer than a step takes. If the worker dies, the rule is delayed by this much. */
const LEASE_MS = 30_000;
/** Number of rules per read. */
const PAGE = 100;
/** Maximum number of open runs of one rule. With a slow scorer, arrivals wait instead of piling up as runs. */
const OPEN_RUNS_MAX = 3;

/** With a cost limit, only one run is open at a time, so that concurrent runs cannot exceed the limit together. */
const openRunsMax = ({ max_cost_usd_per_day }: ActiveRule): number =>
  max_cost_usd_per_day === null ? OPEN_RUNS_MAX : 1;

const SCORER_ARCHIVED = 'The scorer is archived. Restore it to let the rule continue.';

/**
 * Processes the arrivals for the rules of all tenants, in every worker. A pass makes one step for each rule with work, so
 * that the backlog of one rule or workspace does not delay the others.
 */
@Injectable()
export class ScoringRuleScheduler {
  constructor(
    private readonly rules: ScoringRuleRepository,
    private readonly arrivals: TraceFeedRepository,
    private readonly workspaces: WorkspaceAccessRepository,
    private readonly runner: ScoringRuleRunner,
    private readonly shutdown: WorkerShutdown,
  ) {}

  /** Runs passes until no rule has work left. */
  async runDue(): Promise<void> {
    while (await this.pass());
  }

  private async pass(): Promise<boolean> {
    let hasMore = false;
    let after = '';
    for (;;) {
      const page = await this.rules.listActive(after, PAGE, OPEN_RUNS_MAX);
      for (const { rule, beforeUs } of await this.leaseDue(page)) {
        if (this.shutdown.stopping.aborted) return false;
        if (await this.runner.step(rule, beforeUs)) hasMore = true;
      }
      if (page.length < PAGE || this.shutdown.stopping.aborted) return hasMore;
      after = page.at(-1)!.rule_id;
    }
  }

  /** Leases the rules that may start runs and have arrivals that have been quiet for long enough. */
  private async leaseDue(page: readonly ActiveRule[]): Promise<{ rule: ActiveRule; beforeUs: number }[]> {
    await this.recordArchivedScorers(page);
    const startable = page.filter((rule) => rule.is_scorer_live && rule.open_runs < openRunsMax(rule));
    if (startable.length === 0) return [];
    const clock = await this.arrivals.clock();
    const ranges = startable.map((rule) => ({
      rule,
      workspace_id: rule.workspace_id,
      after: { arrived_us: rule.seen_us, trace_id: rule.seen_trace_id },
      before_us: Math.min(clock.settled_us, clock.now_us - quietSecondsOf(rule) * 1_000_000),
    }));
    const ready = await this.arrivals.nonEmptyRanges(ranges);
    if (ready.length === 0) return [];
    const live = await this.workspaces.filterLive(ready.map(({ workspace_id }) => workspace_id));
    const due = ready.filter(({ workspace_id }) => live.has(workspace_id));
    const leased = await this.rules.lease(
      due.map(({ rule }) => rule.rule_id),
      LEASE_MS,
    );
    return due
      .filter(({ rule }) => leased.has(rule.rule_id))
      .map(({ rule, before_us }) => ({ rule, beforeUs: before_us }));
  }

  private async recordArchivedScorers(page: readonly ActiveRule[]): Promise<void> {
    const unrecorded = page.filter((rule) => !rule.is_scorer_live && rule.last_error !== SCORER_ARCHIVED);
    if (unrecorded.length > 0) {
      await this.rules.recordError(
        unrecorded.map(({ rule_id }) => rule_id),
        SCORER_ARCHIVED,
      );
    }
  }
}
