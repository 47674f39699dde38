import { Column, Entity, PrimaryColumn } from 'typeorm';
import { JsonColumn } from '#platform/db';
import type { RawJson } from '#platform/json';
import { CaseEntity } from '../../datasets';

/** The parts of a score besides its number. */
export interface ScoreDetail {
  metadata?: unknown;
  comment?: string;
  label?: string;
  scorer_id?: string;
  scorer_version?: number;
}

/** The result of one case of an experiment. */
@Entity('results')
export class ResultEntity extends CaseEntity {
  @PrimaryColumn('text')
  experiment_id!: string;

  @PrimaryColumn('text')
  result_id!: string;

  @Column('text')
  case_id!: string;

  @Column('text', { nullable: true })
  dataset_record_id!: string | null;

  /** The version of the record in the experiment's snapshot. */
  @Column('integer', { nullable: true })
  dataset_record_version!: number | null;

  @JsonColumn({ nullable: true })
  output!: RawJson | null;

  @JsonColumn({ nullable: true })
  error!: RawJson | null;

  /** Scorer name to number, or null for a scorer that gave no score. */
  @Column('jsonb')
  scores!: Record<string, number | null>;

  /** Scorer name to `ScoreDetail`. */
  @JsonColumn()
  score_details!: RawJson;

  @Column('text', { nullable: true })
  trace_id!: string | null;

  @Column('text', { nullable: true })
  session_id!: string | null;

  @Column('double precision', { nullable: true })
  duration_ms!: number | null;

  @Column('text', { nullable: true })
  trial_group!: string | null;

  @Column('integer', { nullable: true })
  trial_index!: number | null;

  /** Raised when the result is replaced. */
  @Column('integer')
  version!: number;

  /** Whether the result's case is one that the experiment expects. */
  @Column('boolean')
  is_expected!: boolean;
}
