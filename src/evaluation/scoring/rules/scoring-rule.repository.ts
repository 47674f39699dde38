import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import {
  Database,
  microsecondsToTime,
  prepared,
  sql,
  type Tx,
  Where,
  WorkspaceRepository,
} from '#platform/db';
import { BY_CHANGE, listPage, type RowPage } from '#platform/paging';
import type { FeedPosition } from '../../../telemetry';
import type { ScoringRuleListQueryDto } from './scoring-rule.dto';
import { ScoringRuleEntity } from './scoring-rule.entity';

/** The columns that decide whether a rule has anything to do. */
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
  /** Open runs of the rule, counted up to a limit. */
  open_runs: number;
};

/** The outcome of one step of a rule. */
export interface RuleStep {
  /** The place in the arrivals that the rule has reached. */
  place: FeedPosition;
  seenCount: number;
  chosenCount: number;
  orderedCount: number;
  /** The run that the step started. */
  runId: string | null;
}

@Injectable()
export class ScoringRuleRepository extends WorkspaceRepository<ScoringRuleEntity> {
  constructor(database: Database) {
    super(database, ScoringRuleEntity, 'rule_id');
  }

  list(scope: Scope, scorerId: string, query: ScoringRuleListQueryDto): Promise<RowPage<ScoringRuleEntity>> {
    return listPage<ScoringRuleEntity>(
      this.database,
      {
        columns: '*',
        from: 'scoring_rules',
        where: new Where(scope.key).add(sql`scorer_id = ${scorerId}`),
        id: 'rule_id',
        sorts: BY_CHANGE,
        archivedAt: 'archived_at',
        bytes: 'bytes',
      },
      query,
    );
  }

  /** Counts the rules of a scorer that are not archived. */
  async countLive(tx: Tx, scope: Scope, scorerId: string): Promise<number> {
    const [row] = await tx.query<{ live: number }>(
      sql`SELECT count(*) AS live FROM scoring_rules
        WHERE workspace_id = ${scope.workspaceId} AND scorer_id = ${scorerId} AND archived_at IS NULL`,
    );
    return row!.live;
  }

  /**
   * Reads the enabled rules of all tenants after a rule id, with their scorers and open runs.
   *
   * @param openMax open runs of one rule that are counted at most
   */
  watched(after: string, limit: number, openMax: number): Promise<WatchedRule[]> {
    return this.database.query<WatchedRule>(
      prepared(
        'scoring-rule.watched',
        sql`SELECT r.rule_id, r.org_id, r.workspace_id, r.created_by, r.grain, r.quiet_seconds, r.seen_us,
              r.seen_trace_id, r.last_error,
              (SELECT s.archived_at IS NULL FROM scorers s
               WHERE s.scorer_id = r.scorer_id AND s.workspace_id = r.workspace_id) AS is_scorer_live,
              (SELECT count(*) FROM (
                 SELECT FROM score_runs o
                 WHERE o.rule_id = r.rule_id AND o.workspace_id = r.workspace_id
                   AND o.run_status IN ('queued', 'running')
                 LIMIT ${openMax}) open) AS open_runs
            FROM scoring_rules r
            WHERE r.enabled AND r.archived_at IS NULL AND r.rule_id > ${after} ORDER BY r.rule_id LIMIT ${limit}`,
      ),
    );
  }

  /** Leases rules of any tenants to this worker. Returns the ids of those that no other worker holds. */
  async hold(ruleIds: readonly string[], holdMs: number): Promise<ReadonlySet<string>> {
    const rows = await this.database.query<{ rule_id: string }>(
      prepared(
        'scoring-rule.hold',
        sql`UPDATE scoring_rules SET held_until = now() + ${holdMs} * interval '1 millisecond' WHERE rule_id IN (
            SELECT rule_id FROM scoring_rules
            WHERE rule_id = ANY (${ruleIds}::text[]) AND enabled AND archived_at IS NULL
              AND (held_until IS NULL OR held_until < now())
            FOR UPDATE SKIP LOCKED
          ) RETURNING rule_id`,
      ),
    );
    return new Set(rows.map((row) => row.rule_id));
  }

  /** Moves a rule on. Returns false, and writes nothing, when the rule was changed or moved on since it was read. */
  async advance(tx: Tx, scope: Scope, rule: ScoringRuleEntity, step: RuleStep): Promise<boolean> {
    const { place, runId } = step;
    const moved = await tx.query(
      prepared(
        'scoring-rule.advance',
        sql`UPDATE scoring_rules
          SET seen_us = ${place.arrived_us}, seen_trace_id = ${place.trace_id},
              last_seen_at = ${microsecondsToTime(sql`${place.arrived_us}`)},
              seen_count = seen_count + ${step.seenCount}, chosen_count = chosen_count + ${step.chosenCount},
              ordered_count = ordered_count + ${step.orderedCount},
              last_score_run_id = coalesce(${runId}, last_score_run_id),
              last_run_at = CASE WHEN ${runId}::text IS NULL THEN last_run_at ELSE now() END,
              last_error = NULL, held_until = NULL
          WHERE rule_id = ${rule.rule_id} AND workspace_id = ${scope.workspaceId} AND generation = ${rule.generation}
            AND seen_us = ${rule.seen_us} AND seen_trace_id = ${rule.seen_trace_id}
            AND enabled AND archived_at IS NULL
          RETURNING 1`,
      ),
    );
    return moved.length > 0;
  }

  /** Releases a rule that had nothing to do. */
  async release(scope: Scope, ruleId: string): Promise<void> {
    await this.database.query(
      sql`UPDATE scoring_rules SET held_until = NULL
        WHERE rule_id = ${ruleId} AND workspace_id = ${scope.workspaceId}`,
    );
  }

  /** Stores why rules cannot go on. Returns the ids of the rules for which this is news. */
  async explain(ruleIds: readonly string[], reason: string): Promise<string[]> {
    const rows = await this.database.query<{ rule_id: string }>(
      sql`UPDATE scoring_rules SET last_error = ${reason}
        WHERE rule_id = ANY (${ruleIds}::text[]) AND last_error IS DISTINCT FROM ${reason} RETURNING rule_id`,
    );
    return rows.map((row) => row.rule_id);
  }
}
