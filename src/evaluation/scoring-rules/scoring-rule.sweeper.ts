import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { PeriodicTasks, WorkerShutdown } from '#platform/jobs';
import { LiveWorkspaceRepository } from '../../registry';
import { TraceArrivals } from '../../telemetry';
import { quietSecondsOf } from './quiet-time';
import { RuleStepper } from './rule-stepper';
import { RuleWorkRepository, type WatchedRule } from './rule-work.repository';

const SWEEP_MS = 3_000;
/** For how long a rule is one worker's: more than a step takes, and what is lost with a worker that dies. */
const HOLD_MS = 30_000;
/** Rules that are looked at together. */
const PAGE = 100;
/** A rule with so many runs that have not ended orders no more: scorers that are too slow let work wait, not pile up. */
const OPEN_RUNS_MAX = 3;

const SCORER_ARCHIVED = 'The scorer is archived and scores nothing any more.';

/**
 * Goes through what has arrived, for all rules, in every worker. A pass takes each rule that has something to do a step
 * further, so that a rule or a workspace with a backlog holds up no other.
 */
@Injectable()
export class ScoringRuleSweeper implements OnApplicationBootstrap {
  constructor(
    private readonly rules: RuleWorkRepository,
    private readonly arrivals: TraceArrivals,
    private readonly workspaces: LiveWorkspaceRepository,
    private readonly stepper: RuleStepper,
    private readonly tasks: PeriodicTasks,
    private readonly shutdown: WorkerShutdown,
  ) {}

  onApplicationBootstrap(): void {
    this.tasks.every('scoring rules', SWEEP_MS, () => this.sweep());
  }

  /** Passes, as long as one of them leaves more to do. */
  async sweep(): Promise<void> {
    while (await this.pass());
  }

  private async pass(): Promise<boolean> {
    let hasMore = false;
    let after = '';
    for (;;) {
      const page = await this.rules.watched(after, PAGE, OPEN_RUNS_MAX);
      for (const { rule, beforeUs } of await this.due(page)) {
        if (this.shutdown.stopping.aborted) return false;
        if (await this.stepper.take(rule, beforeUs)) hasMore = true;
      }
      if (page.length < PAGE || this.shutdown.stopping.aborted) return hasMore;
      after = page.at(-1)!.rule_id;
    }
  }

  /** Those for which something has been quiet for long enough, and which may go on; this worker holds them then. */
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
    const met = await this.arrivals.whereAny(watched);
    if (met.length === 0) return [];
    const live = await this.workspaces.among(met.map(({ workspace_id }) => workspace_id));
    const possible = met.filter(({ workspace_id }) => live.has(workspace_id));
    const held = await this.rules.hold(
      possible.map(({ rule }) => rule.rule_id),
      HOLD_MS,
    );
    return possible
      .filter(({ rule }) => held.has(rule.rule_id))
      .map(({ rule, before_us }) => ({ rule, beforeUs: before_us }));
  }

  private async explainArchived(page: readonly WatchedRule[]): Promise<void> {
    const untold = page.filter((rule) => !rule.is_scorer_live && rule.last_error !== SCORER_ARCHIVED);
    if (untold.length > 0) {
      await this.rules.explain(
        untold.map(({ rule_id }) => rule_id),
        SCORER_ARCHIVED,
      );
    }
  }
}
