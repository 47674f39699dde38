import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ArchivableEntity, JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';
import type { Grain } from '../../scorers';
import type { Pace } from './pace';

/** A rule by which a scorer scores traces or sessions as they arrive, and its progress. */
@Entity('scoring_rules')
export class ScoringRuleEntity extends ArchivableEntity {
  @PrimaryColumn('text')
  rule_id!: string;

  @Column('text')
  org_id!: string;

  @Column('text')
  workspace_id!: string;

  @Column('text')
  scorer_id!: string;

  @Column('double precision')
  sample_rate!: number;

  /** Verbatim. */
  @JsonColumn()
  filters!: RawJson;

  @Column('text')
  grain!: Grain;

  /** Null for the default of the grain. */
  @Column('integer', { nullable: true })
  quiet_seconds!: number | null;

  /** Limit for the cost of the runs that the rule starts on one day (UTC), in US dollars. */
  @Column('double precision', { nullable: true })
  max_cost_usd_per_day!: number | null;

  /** How it spends the budget of a day. */
  @Column('text')
  pace!: Pace;

  @Column('boolean')
  enabled!: boolean;

  /** The ETag. Incremented by every request that changes the rule. */
  @Column('integer')
  generation!: number;

  /** When the rule was created, or last enabled or restored. The rule ignores earlier arrivals. */
  @Column('timestamptz')
  enabled_at!: Date;

  /** The last arrival that was processed: its time in microseconds since 1970, and its trace id. */
  @Column('bigint')
  seen_us!: number;

  @Column('text')
  seen_trace_id!: string;

  @Column('timestamptz', { nullable: true })
  last_seen_at!: Date | null;

  @Column('bigint')
  seen_count!: number;

  @Column('bigint')
  chosen_count!: number;

  @Column('bigint')
  ordered_count!: number;

  /** Start of the day (UTC) of the counts of the day. Null before the first. */
  @Column('timestamptz', { nullable: true })
  counted_day!: Date | null;

  @Column('integer')
  sent_today!: number;

  @Column('integer')
  skipped_today!: number;

  @Column('integer')
  scored_today!: number;

  @Column('double precision')
  spent_today_usd!: number;

  @Column('timestamptz', { nullable: true })
  last_run_at!: Date | null;

  @Column('text', { nullable: true })
  last_score_run_id!: string | null;

  @Column('text', { nullable: true })
  last_error!: string | null;

  /** End of the last pause of a rule that reached `max_cost_usd_per_day`. */
  @Column('timestamptz', { nullable: true })
  paused_until!: Date | null;

  @Column('timestamptz', { nullable: true })
  last_paused_at!: Date | null;

  /** End of a worker's lease on the rule. */
  @Column('timestamptz', { nullable: true })
  held_until!: Date | null;
}
