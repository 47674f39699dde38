import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { RawJson } from '#platform/json';

/** The kinds of subjects that a request may erase. */
export const REQUESTED_SUBJECTS = ['end_user', 'session', 'workspace', 'org'] as const;
/** The kinds of subjects of all erasures: also of those that delete a resource with many rows. */
export const ERASURE_SUBJECTS = [...REQUESTED_SUBJECTS, 'dataset', 'experiment', 'traces'] as const;
export type ErasureSubject = (typeof ERASURE_SUBJECTS)[number];

export const ERASURE_STATUSES = ['queued', 'running', 'succeeded'] as const;
export type ErasureStatus = (typeof ERASURE_STATUSES)[number];

/** Numbers of erased rows, by what they are: `traces`, `results`, `audit_entries`. */
export type ErasedCounts = Record<string, number>;

/** The place at which an erasure continues. */
export interface ErasureProgress {
  /** Null for the rows outside of workspaces. */
  workspace_id: string | null;
  step: string;
  /** Null if the step has ended. */
  cursor: string | null;
}

/** An erasure, and its receipt once it has succeeded. */
@Entity('erasures')
export class ErasureEntity {
  @PrimaryColumn('text')
  erasure_id!: string;

  /** Null once the organization itself is erased. */
  @Column('text', { nullable: true })
  org_id!: string | null;

  /** Null for an erasure in all workspaces or of an organization, and once the workspace itself is erased. */
  @Column('text', { nullable: true })
  workspace_id!: string | null;

  @Column('text')
  subject_kind!: ErasureSubject;

  /** HMAC-SHA-256 of the subject's id, in hexadecimal. */
  @Column('text')
  subject_hash!: string;

  /** The subject's id, or what selects it. Null once the erasure has succeeded. */
  @Column('json', { nullable: true })
  target!: RawJson | null;

  @Column('boolean')
  dry_run!: boolean;

  @Column('text')
  erasure_status!: ErasureStatus;

  @Column('jsonb')
  counts!: ErasedCounts;

  /** Null before the first batch, and once the erasure has succeeded. */
  @Column('jsonb', { nullable: true })
  progress!: ErasureProgress | null;

  /** Why the last attempt failed. Null after a batch that succeeded. */
  @Column('text', { nullable: true })
  last_error!: string | null;

  @Column('timestamptz')
  created_at!: Date;

  @Column('timestamptz')
  updated_at!: Date;

  @Column('text')
  created_by!: string;

  @Column('timestamptz', { nullable: true })
  started_at!: Date | null;

  @Column('timestamptz', { nullable: true })
  finished_at!: Date | null;
}
