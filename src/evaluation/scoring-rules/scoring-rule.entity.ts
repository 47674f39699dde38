import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ArchivableEntity, JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';
import type { Grain } from '../scorers/scorer.entity';

/** What a scorer is to score as it arrives, in one workspace, and how far that has come. */
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

  /** As they were sent. */
  @JsonColumn()
  filters!: RawJson;

  @Column('text')
  grain!: Grain;

  /** Null: that of the grain. */
  @Column('integer', { nullable: true })
  quiet_seconds!: number | null;

  @Column('boolean')
  enabled!: boolean;

  /** Raised by every change that people make; the ETag. */
  @Column('integer')
  generation!: number;

  /** When it was last told to go on: what arrived before is not for it. */
  @Column('timestamptz')
  enabled_at!: Date;

  /** How far it has come in what arrives, in microseconds since 1970, and by the id of a trace of that moment. */
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

  @Column('timestamptz', { nullable: true })
  last_run_at!: Date | null;

  @Column('text', { nullable: true })
  last_score_run_id!: string | null;

  @Column('text', { nullable: true })
  last_error!: string | null;

  /** A worker is at it until then, unless it dies. */
  @Column('timestamptz', { nullable: true })
  held_until!: Date | null;
}
