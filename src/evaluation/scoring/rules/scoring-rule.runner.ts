import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { expandRoles, type Scope, workspaceScope } from '#platform/auth';
import { Database } from '#platform/db';
import { newId } from '#platform/ids';
import { WorkerShutdown } from '#platform/jobs';
import { rootLogger } from '#platform/logging';
import { WorkspaceAccessRepository } from '../../../resources';
import { type FeedEntry, type FilterInput, parseFilters, TraceFeedRepository } from '../../../telemetry';
import { ScorerRepository } from '../../scorers';
import type { RuleRuns } from '../score-runs/score-run.executor';
import { ScoreRunService } from '../score-runs/score-run.service';
import {
  CONCURRENCY_DEFAULT,
  type RunnableScorer,
  ScoringRunner,
  toRunnable,
} from '../score-runs/scoring-runner';
import { targetIdOf, type TargetRef, toTargets } from '../targets/target.entity';
import { TargetRepository } from '../targets/target.repository';
import { budgetOf, evenlySpread, isFarFrom, isSpent, NO_BUDGET, type StepBudget } from './pace';
import { quietSecondsOf } from './scoring-rule.dto';
import type { ScoringRuleEntity } from './scoring-rule.entity';
import { type ActiveRule, type RuleStep, ScoringRuleRepository, unseenBy } from './scoring-rule.repository';

/** Lease of a worker on a rule. Longer than a step takes. If the worker dies, the rule is delayed by this much. */
const LEASE_MS = 30_000;
/** Number of rules per read. */
const PAGE = 100;
/** Time of one organization in a pass, in ms. Its further rules wait for the next pass. */
const TURN_MS = 500;
/** Maximum number of open runs of one rule. With a slow scorer, arrivals wait instead of piling up as runs. */
const OPEN_RUNS_MAX = 3;

/**
 * With a cost limit, only one run is open at a time, so that concurrent runs cannot exceed the limit together. While it is far
 * from the limit, it scores as many targets at a time as three runs do.
 */
const openRunsMax = ({ max_cost_usd_per_day, scorer_kind }: ActiveRule): number =>
  max_cost_usd_per_day === null || scorer_kind !== 'llm_judge' ? OPEN_RUNS_MAX : 1; // code costs nothing

const idOf = ({ rule_id }: ActiveRule): string => rule_id;

const SCORER_ARCHIVED = 'The scorer is archived. Restore it to let the rule continue.';

/** Number of arrivals read per step. Limits the memory of a step, and the time that other rules wait. */
const ARRIVALS_MAX = 1_000;

export const NO_BACKEND = 'The judge of the scorer is not configured. Arriving traces wait until it is.';
export const NO_PRICE =
  'The model of the judge has no price, so max_cost_usd_per_day cannot be enforced. Arriving traces wait until it has one.';
export const TOO_MANY_RUNS =
  'The organization has the maximum number of open scoring runs. Arriving traces wait until some have ended.';
export const STEP_FAILED =
  'The last attempt failed and will be retried. The log of the worker contains the reason.';

/**
 * Processes the arrivals for the rules of all tenants, in every worker, and starts their runs. A pass makes one step for each
 * rule with work, so that the backlog of one rule or workspace does not delay the others. An organization with so many rules
 * that its steps take longer than `TURN_MS` continues in the next passes, so that the others do not wait for all of them.
 */
@Injectable()
export class ScoringRuleRunner implements RuleRuns {
  /** The rule at which an organization continues in the next pass, if the last one did not reach all of its rules. */
  private readonly continuesAt = new Map<string, string>();
  /** Organizations with a rule that had more work, since a pass has begun with their first rule. */
  private readonly withMore = new Set<string>();

  constructor(
    private readonly database: Database,
    private readonly rules: ScoringRuleRepository,
    private readonly arrivals: TraceFeedRepository,
    private readonly scorers: ScorerRepository,
    private readonly runner: ScoringRunner,
    private readonly targets: TargetRepository,
    private readonly runs: ScoreRunService,
    private readonly workspaces: WorkspaceAccessRepository,
    private readonly shutdown: WorkerShutdown,
  ) {}

  /** Runs passes until no rule has work left. */
  async runDue(): Promise<void> {
    while (await this.pass());
  }

  /**
   * Starts the next runs of a rule, when one of its runs has ended. Without this, the rule would wait for the next pass. Logs
   * errors instead of throwing them, because the next pass tries again.
   */
  async runNext(ruleId: string): Promise<void> {
    try {
      while (await this.stepAll(await this.rules.findActive(ruleId, OPEN_RUNS_MAX)));
    } catch (error) {
      rootLogger.warn({ err: error, rule_id: ruleId }, 'the next run of a scoring rule could not be started');
    }
  }

  /** Returns whether a rule has more work, or was not reached. */
  private async pass(): Promise<boolean> {
    const begin = new Map(this.continuesAt);
    this.continuesAt.clear();
    const spentMs = new Map<string, number>();
    let after = '';
    for (;;) {
      const page = await this.rules.listActive(after, PAGE, OPEN_RUNS_MAX);
      await this.stepInTurn(
        page.filter(({ org_id, rule_id }) => rule_id >= (begin.get(org_id) ?? '')),
        spentMs,
      );
      if (this.shutdown.stopping.aborted) return false;
      if (page.length < PAGE) break;
      after = page.at(-1)!.rule_id;
    }
    const hasMore = this.continuesAt.size + this.withMore.size > 0;
    for (const orgId of this.withMore) if (!this.continuesAt.has(orgId)) this.withMore.delete(orgId);
    return hasMore;
  }

  /** Makes a step for each rule with work, until the time of its organization is used up. @param spentMs by organization */
  private async stepInTurn(rules: readonly ActiveRule[], spentMs: Map<string, number>): Promise<void> {
    for (const due of await this.findDue(rules)) {
      const { org_id, rule_id } = due.rule;
      const spent = spentMs.get(org_id) ?? 0;
      if (spent >= TURN_MS) {
        if (!this.continuesAt.has(org_id)) this.continuesAt.set(org_id, rule_id);
        continue;
      }
      const startedAt = performance.now();
      if (await this.stepLeased(due)) this.withMore.add(org_id);
      spentMs.set(org_id, spent + performance.now() - startedAt);
    }
  }

  /** Makes a step for each rule with work. Returns whether a rule has more work. */
  private async stepAll(rules: readonly ActiveRule[]): Promise<boolean> {
    let hasMore = false;
    for (const due of await this.findDue(rules)) if (await this.stepLeased(due)) hasMore = true;
    return hasMore;
  }

  /** Leases a rule and makes a step, unless another worker holds it. Returns whether it has more work. */
  private async stepLeased({ rule, before_us }: DueRule): Promise<boolean> {
    // before the lease is taken, because a rule waits until a lease that is not released expires
    if (this.shutdown.stopping.aborted) return false;
    const leased = await this.rules.lease([rule.rule_id], LEASE_MS);
    return leased.size > 0 && this.step(rule, before_us);
  }

  /** Returns the rules that may start runs and have arrivals that have been quiet for long enough. */
  private async findDue(page: readonly ActiveRule[]): Promise<DueRule[]> {
    if (this.shutdown.stopping.aborted) return [];
    const blocked = page.filter((rule) => !rule.is_scorer_live && rule.last_error !== SCORER_ARCHIVED);
    if (blocked.length > 0) await this.rules.recordError(blocked.map(idOf), SCORER_ARCHIVED);
    const startable = page.filter((rule) => rule.is_scorer_live && rule.open_runs < openRunsMax(rule));
    if (startable.length === 0) return [];
    const clock = await this.arrivals.clock();
    const ranges = startable.map((rule) =>
      unseenBy(rule, Math.min(clock.settled_us, clock.now_us - quietSecondsOf(rule) * 1_000_000)),
    );
    const ready = await this.arrivals.nonEmptyRanges(ranges);
    if (ready.length === 0) return [];
    const live = await this.workspaces.filterLive(ready.map(({ workspace_id }) => workspace_id));
    return ready.filter(({ workspace_id }) => live.has(workspace_id));
  }

  /**
   * Processes the next arrivals of a rule that this worker has leased, and starts at most one run. Stores an error in the
   * rule and logs it once. After an error, the lease is not released but expires, which delays the next attempt.
   *
   * @param beforeUs end of the arrivals that have been quiet for long enough, in microseconds since 1970
   * @returns whether more arrivals can be processed at once
   */
  async step(active: ActiveRule, beforeUs: number): Promise<boolean> {
    const { org_id, workspace_id, created_by, rule_id } = active;
    const scope = workspaceScope(org_id, workspace_id, created_by, expandRoles(['evaluator']));
    try {
      return await this.process(scope, rule_id, beforeUs);
    } catch (error) {
      // While the database is unavailable, this also fails and ends the pass.
      const recorded = await this.rules.recordError([rule_id], STEP_FAILED);
      if (recorded.length > 0) {
        rootLogger.error({ err: error, rule_id, workspace_id }, 'a scoring rule failed');
      }
      return false;
    }
  }

  private async process(scope: Scope, ruleId: string, beforeUs: number): Promise<boolean> {
    const rule = await this.rules.find(scope, ruleId);
    const row = rule && (await this.scorers.find(scope, rule.scorer_id));
    if (!row) return false;
    const scorer = toRunnable(row);
    if (!(await this.runner.hasBackend(scorer))) {
      await this.rules.recordError([ruleId], NO_BACKEND);
      return false;
    }
    // Code costs nothing.
    const maxCostUsd = scorer.scorer_kind === 'llm_judge' ? rule.max_cost_usd_per_day : null;
    if (maxCostUsd !== null && !(await this.runner.isPriced(scorer))) {
      await this.rules.recordError([ruleId], NO_PRICE);
      return false;
    }
    let budget = NO_BUDGET;
    let meanUsd: number | null = null;
    if (maxCostUsd !== null) {
      // The rule was read first. If another worker starts a run from here on, it advances the rule, and this step ends.
      const { spentUsd, dayEnd, ...rest } = await this.rules.spending(scope, rule, scorer.scorer_version);
      if (spentUsd === null) {
        await this.rules.release(scope, ruleId);
        return false;
      }
      if (isSpent(maxCostUsd, spentUsd)) await this.rules.pause(scope, rule, dayEnd);
      budget = budgetOf(rule.pace, maxCostUsd, { spentUsd, ...rest });
      meanUsd = rest.meanUsd;
    }
    const arrived = await this.arrivals.read(scope, {
      after: { arrived_us: rule.seen_us, trace_id: rule.seen_trace_id },
      before_us: beforeUs,
      grain: rule.grain,
      filters: parseFilters(rule.filters.parse() as FilterInput[]),
      limit: ARRIVALS_MAX,
    });
    const batch = nextBatch(arrived, rule, budget);
    if (!batch) {
      await this.rules.release(scope, ruleId);
      return false;
    }
    const { maxUsd } = budget;
    const isFast = maxUsd !== null && isFarFrom(maxUsd, meanUsd, batch.refs.length);
    const concurrency = isFast ? OPEN_RUNS_MAX * CONCURRENCY_DEFAULT : CONCURRENCY_DEFAULT;
    const outcome = await this.advance(scope, rule, scorer, batch, { max_cost_usd: maxUsd, concurrency });
    if (outcome === 'full') await this.rules.recordError([ruleId], TOO_MANY_RUNS);
    return outcome === 'advanced' && batch.hasMore;
  }

  /**
   * Advances the rule and starts its run in one transaction. Takes the lock of requests for unscored targets, and skips
   * targets that this version of the scorer has scored, or that are in one of its open runs.
   *
   * @returns `full` if the organization may not have another open run; `changed` if the rule has changed since it was read
   */
  private advance(
    scope: Scope,
    rule: ScoringRuleEntity,
    scorer: RunnableScorer,
    { position, seenCount, chosenCount, refs }: Batch,
    options: { max_cost_usd: number | null; concurrency: number },
  ): Promise<'advanced' | 'changed' | 'full'> {
    const { grain, rule_id } = rule;
    const targets = toTargets(refs);
    return this.database.transaction(async (tx) => {
      // Requests take these locks in the same order.
      if (targets.length > 0 && (await this.runs.isFull(tx, scope))) return 'full';
      const takenIds = await this.targets.findTaken(tx, scope, { ...scorer, grain }, targets);
      const remaining = toTargets(targets.filter((target) => !takenIds.has(targetIdOf(target))));
      const runId = remaining.length > 0 ? newId('run') : null;
      const step = {
        position,
        seenCount,
        chosenCount,
        orderedCount: remaining.length,
        runId,
      };
      if (!(await this.rules.advance(tx, scope, rule, step))) return 'changed';
      if (runId !== null) {
        const run = { ...scorer, ...options, grain, rule_id, score_run_id: runId };
        await this.runs.start(tx, scope, run, remaining);
      }
      return 'advanced';
    });
  }
}

/** A rule with work, and the end of the arrivals that have been quiet for long enough, in microseconds since 1970. */
interface DueRule {
  rule: ActiveRule;
  before_us: number;
}

/** The arrivals that one step processes. */
interface Batch extends Pick<RuleStep, 'position' | 'seenCount' | 'chosenCount'> {
  /** The targets to score, of those that match the filters and are sampled. */
  refs: TargetRef[];
  /** Whether more arrivals follow. */
  hasMore: boolean;
}

/** Takes arrivals until a run is full. Returns null if there are no arrivals. */
function nextBatch(
  arrived: readonly FeedEntry[],
  rule: ScoringRuleEntity,
  { takeMax, sendMax }: StepBudget,
): Batch | null {
  const isChosen = ({ target_id, is_met }: FeedEntry): boolean =>
    is_met && target_id !== null && isSampled(target_id, rule.sample_rate);
  const chosen: TargetRef[] = [];
  let count = 0;
  while (count < arrived.length && chosen.length < takeMax) {
    const arrival = arrived[count++]!;
    if (!isChosen(arrival)) continue;
    const { trace_id, session_id } = arrival;
    chosen.push(rule.grain === 'trace' ? { trace_id, session_id } : { trace_id: null, session_id });
  }
  const last = arrived[count - 1];
  if (!last) return null;
  return {
    position: { arrived_us: last.arrived_us, trace_id: last.trace_id },
    seenCount: arrived.slice(0, count).filter(({ target_id }) => target_id !== null).length,
    chosenCount: chosen.length,
    refs: evenlySpread(chosen, sendMax),
    hasMore: count < arrived.length || arrived.length === ARRIVALS_MAX,
  };
}

/** Hexadecimal digits of the hash used for sampling: 52 bits, which a double represents exactly. */
const DIGITS = 13;

/**
 * Maps an id to a number in [0, 1): the first 52 bits of the SHA-256 of its UTF-8 text. It depends on nothing else, so
 * every rule and every process samples the same targets.
 */
export const sampleFraction = (targetId: string): number =>
  parseInt(createHash('sha256').update(targetId).digest('hex').slice(0, DIGITS), 16) / 16 ** DIGITS;

/** Tells whether a sample of this rate includes a target. A higher rate includes all targets of a lower one. */
export const isSampled = (targetId: string, rate: number): boolean => sampleFraction(targetId) < rate;
