import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, timeOfMicroseconds, type Tx } from '#platform/db';
import type { ArrivalPlace } from '../../telemetry';
import type { ScoringRuleEntity } from './scoring-rule.entity';

/** What of a rule says whether there is anything to do for it. */
export type WatchedRule = Pick<
  ScoringRuleEntity,
  | 'rule_id'
  | 'org_id'
  | 'workspace_id'
  | 'created_by'
  | 'grain'
  | 'quiet_seconds'
  | 'seen_us'
  | 'seen_trace_id'
  | 'last_error'
> & {
  is_scorer_live: boolean;
  /** Counted up to the number that was asked for. */
  open_runs: number;
};

/** Scorers and runs are looked up for the rules of the page alone. */
const WATCHED = {
  name: 'scoring-rule.watched',
  text: `SELECT r.rule_id, r.org_id, r.workspace_id, r.created_by, r.grain, r.quiet_seconds, r.seen_us, r.seen_trace_id,
      r.last_error,
      (SELECT s.archived_at IS NULL FROM scorers s
       WHERE s.scorer_id = r.scorer_id AND s.workspace_id = r.workspace_id) AS is_scorer_live,
      (SELECT count(*) FROM (
         SELECT FROM score_runs o
         WHERE o.rule_id = r.rule_id AND o.workspace_id = r.workspace_id AND o.run_status IN ('queued', 'running')
         LIMIT $3) open) AS open_runs
    FROM scoring_rules r
    WHERE r.enabled AND r.archived_at IS NULL AND r.rule_id > $1 ORDER BY r.rule_id LIMIT $2`,
};

const HOLD = {
  name: 'scoring-rule.hold',
  text: `UPDATE scoring_rules SET held_until = now() + $2 * interval '1 millisecond' WHERE rule_id IN (
      SELECT rule_id FROM scoring_rules
      WHERE rule_id = ANY ($1::text[]) AND enabled AND archived_at IS NULL
        AND (held_until IS NULL OR held_until < now())
      FOR UPDATE SKIP LOCKED
    ) RETURNING rule_id`,
};

const ADVANCE = {
  name: 'scoring-rule.advance',
  text: `UPDATE scoring_rules
    SET seen_us = $6, seen_trace_id = $7,
        last_seen_at = ${timeOfMicroseconds('$6')},
        seen_count = seen_count + $8, chosen_count = chosen_count + $9, ordered_count = ordered_count + $10,
        last_score_run_id = coalesce($11, last_score_run_id),
        last_run_at = CASE WHEN $11::text IS NULL THEN last_run_at ELSE now() END,
        last_error = NULL, held_until = NULL
    WHERE rule_id = $1 AND workspace_id = $2 AND generation = $3 AND seen_us = $4 AND seen_trace_id = $5
      AND enabled AND archived_at IS NULL
    RETURNING 1`,
};

/** What a step of a rule came to. */
export interface RuleStep {
  /** Where it stands afterwards. */
  place: ArrivalPlace;
  seenCount: number;
  chosenCount: number;
  orderedCount: number;
  /** The run that it ordered. */
  runId: string | null;
}

/** What workers do to rules, of all tenants. Each move is one conditional statement, so that two never both make it. */
@Injectable()
export class RuleWorkRepository {
  constructor(private readonly database: Database) {}

  /** Rules that are enabled, by their ids after this one, with how many of their runs are open, up to `openMax`. */
  watched(after: string, limit: number, openMax: number): Promise<WatchedRule[]> {
    return this.database.query<WatchedRule>(WATCHED, [after, limit, openMax]);
  }

  /** Takes rules for a while. @returns the ids of those that nobody else has. */
  async hold(ruleIds: readonly string[], holdMs: number): Promise<ReadonlySet<string>> {
    const rows = await this.database.query<{ rule_id: string }>(HOLD, [ruleIds, holdMs]);
    return new Set(rows.map((row) => row.rule_id));
  }

  /** @returns false where the rule was changed, or has moved on, since it was read; then nothing is written. */
  async advance(tx: Tx, scope: Scope, rule: ScoringRuleEntity, step: RuleStep): Promise<boolean> {
    const moved = await tx.query(ADVANCE, [
      rule.rule_id,
      scope.workspaceId,
      rule.generation,
      rule.seen_us,
      rule.seen_trace_id,
      step.place.arrived_us,
      step.place.trace_id,
      step.seenCount,
      step.chosenCount,
      step.orderedCount,
      step.runId,
    ]);
    return moved.length > 0;
  }

  /** Lets go of a rule for which nothing was to be done. */
  async release(scope: Scope, ruleId: string): Promise<void> {
    await this.database.query(
      'UPDATE scoring_rules SET held_until = NULL WHERE rule_id = $1 AND workspace_id = $2',
      [ruleId, scope.workspaceId],
    );
  }

  /** Tells why rules do not go on. @returns the ids of those of which that was not told before. */
  async explain(ruleIds: readonly string[], reason: string): Promise<string[]> {
    const rows = await this.database.query<{ rule_id: string }>(
      `UPDATE scoring_rules SET last_error = $2
       WHERE rule_id = ANY ($1::text[]) AND last_error IS DISTINCT FROM $2 RETURNING rule_id`,
      [ruleIds, reason],
    );
    return rows.map((row) => row.rule_id);
  }
}
