import { Injectable } from '@nestjs/common';
import { expandRoles, type Scope, workspaceScope } from '#platform/auth';
import { Database } from '#platform/db';
import type { FieldError } from '#platform/problem';
import { rootLogger } from '#platform/logging';
import { type ArrivalPlace, type TraceArrival, TraceArrivals } from '../../telemetry';
import type { Grain } from '../scorers/scorer.entity';
import { ScorerRepository } from '../scorers/scorer.repository';
import { type Candidate, targetIdOf } from '../scoring/candidates';
import { EarlierScoresRepository } from '../scoring/earlier-scores.repository';
import { newRun, RunOrders } from '../scoring/run-orders';
import type { ScoringTarget } from '../scoring/score-run.entity';
import { CONCURRENCY_DEFAULT, TARGETS_MAX } from '../scoring/selection';
import { type RunnableScorer, runnable, TargetScorer } from '../scoring/target-scorer';
import { TargetSelector } from '../scoring/target-selector';
import { type GivenFilter, readFilters } from '../traces/trace-filters';
import { RULE_FIELDS } from './scoring-rule.dto';
import type { ScoringRuleEntity } from './scoring-rule.entity';
import { ScoringRuleRepository } from './scoring-rule.repository';
import { RuleWorkRepository, type WatchedRule } from './rule-work.repository';
import { isSampled } from './target-sampler';

/** Arrivals that one step looks at: bounds what it reads and holds in memory, and how long others wait for theirs. */
const ARRIVALS_MAX = 1_000;

export const NO_BACKEND =
  'The judge backend that the scorer asks is not configured. What arrives waits until it is.';
export const STEP_FAILED = 'The last attempt failed; the log of the worker says why. It is tried again.';

/** Takes rules on, a step at a time. */
@Injectable()
export class RuleStepper {
  constructor(
    private readonly database: Database,
    private readonly rules: ScoringRuleRepository,
    private readonly work: RuleWorkRepository,
    private readonly arrivals: TraceArrivals,
    private readonly scorers: ScorerRepository,
    private readonly scorer: TargetScorer,
    private readonly selector: TargetSelector,
    private readonly earlier: EarlierScoresRepository,
    private readonly orders: RunOrders,
  ) {}

  /**
   * Goes on with a rule that this worker holds, by as much as makes one run at most. What makes that impossible is told
   * in the rule, and once in the log; the hold then stays until it ends, so that it is not tried again at once.
   *
   * @param beforeUs what arrived by then has been quiet for long enough.
   * @returns whether there is more to do at once.
   */
  async take(watched: WatchedRule, beforeUs: number): Promise<boolean> {
    const { org_id, workspace_id, created_by, rule_id } = watched;
    const scope = workspaceScope(org_id, workspace_id, created_by, expandRoles(['evaluator']));
    try {
      return await this.step(scope, rule_id, beforeUs);
    } catch (error) {
      // where the database is gone, this fails too, and the sweep with it
      const told = await this.work.explain([rule_id], STEP_FAILED);
      if (told.length > 0) rootLogger.error({ err: error, rule_id, workspace_id }, 'a scoring rule failed');
      return false;
    }
  }

  private async step(scope: Scope, ruleId: string, beforeUs: number): Promise<boolean> {
    const rule = await this.rules.find(scope, ruleId);
    const row = rule && (await this.scorers.find(scope, rule.scorer_id));
    if (!row) return false;
    const scorer = runnable(row);
    if (!this.hasBackend(scorer)) {
      await this.work.explain([ruleId], NO_BACKEND);
      return false;
    }
    const arrived = await this.arrivals.read(scope, {
      after: { arrived_us: rule.seen_us, trace_id: rule.seen_trace_id },
      before_us: beforeUs,
      grain: rule.grain,
      filters: filtersOf(rule),
      limit: ARRIVALS_MAX,
    });
    const choice = chosenFrom(arrived, rule);
    if (!choice) {
      await this.work.release(scope, ruleId);
      return false;
    }
    const targets = await this.selector.withResults(scope, rule, choice.chosen);
    const isMoved = await this.order(scope, rule, scorer, choice, targets);
    return isMoved && choice.isCut;
  }

  /**
   * The rule moves on together with the order to score what it passed. What others have scored with this version of the
   * scorer, or are about to, is left out under the same lock as theirs.
   */
  private order(
    scope: Scope,
    rule: ScoringRuleEntity,
    scorer: RunnableScorer,
    { place, seenCount, chosen }: Choice,
    targets: readonly ScoringTarget[],
  ): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const taken =
        targets.length > 0
          ? await this.earlier.taken(tx, scope, scorer, rule.grain, targets.map(targetIdOf))
          : new Set<string>();
      const left = targets
        .filter((target) => !taken.has(targetIdOf(target)))
        .map((target, ordinal) => ({ ...target, ordinal }));
      const { grain, rule_id } = rule;
      const settled = { grain, rule_id, total: left.length, concurrency: CONCURRENCY_DEFAULT };
      const run = left.length > 0 ? newRun(scope, scorer, settled) : null;
      const step = {
        place,
        seenCount,
        chosenCount: chosen.length,
        orderedCount: left.length,
        runId: run && run.score_run_id,
      };
      if (!(await this.work.advance(tx, scope, rule, step))) return false;
      if (run) await this.orders.place(tx, scope, run, left);
      return true;
    });
  }

  private hasBackend(scorer: RunnableScorer): boolean {
    try {
      this.scorer.checkBackend(scorer);
      return true;
    } catch {
      return false;
    }
  }
}

/** They were valid when they were stored. */
const filtersOf = ({ filters }: ScoringRuleEntity): ReturnType<typeof readFilters> => {
  const errors: FieldError[] = [];
  const read = readFilters(filters.parse() as GivenFilter[], RULE_FIELDS, errors);
  if (errors.length > 0) throw new Error(`Stored filters cannot be read: ${JSON.stringify(errors)}`);
  return read;
};

interface Choice {
  /** Where the step ends. */
  place: ArrivalPlace;
  seenCount: number;
  chosen: Candidate[];
  /** It ends before what there is. */
  isCut: boolean;
}

/** What a step takes of arrivals: up to the one with which a run is full. Null where there are none. */
function chosenFrom(arrived: readonly TraceArrival[], rule: ScoringRuleEntity): Choice | null {
  const isChosen = ({ target_id, is_met }: TraceArrival): boolean =>
    is_met && target_id !== null && isSampled(target_id, rule.sample_rate);
  const chosen: Candidate[] = [];
  let passed = 0;
  while (passed < arrived.length && chosen.length < TARGETS_MAX.score) {
    const one = arrived[passed++]!;
    if (isChosen(one)) chosen.push(candidateOf(rule.grain, one));
  }
  const last = arrived[passed - 1];
  if (!last) return null;
  return {
    place: { arrived_us: last.arrived_us, trace_id: last.trace_id },
    seenCount: arrived.slice(0, passed).filter(({ target_id }) => target_id !== null).length,
    chosen,
    isCut: passed < arrived.length || arrived.length === ARRIVALS_MAX,
  };
}

const candidateOf = (grain: Grain, { trace_id, session_id }: TraceArrival): Candidate =>
  grain === 'trace' ? { trace_id, session_id } : { trace_id: null, session_id };
