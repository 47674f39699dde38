import { ApiProperty, type ApiResponseOptions } from '@nestjs/swagger';
import { Reply } from '#platform/http';
import {
  type ErasedCounts,
  ERASURE_STATUSES,
  ERASURE_SUBJECTS,
  type ErasureEntity,
  type ErasureStatus,
  type ErasureSubject,
} from './erasure.entity';

/** Whose or what data is erased. */
export class ErasureSubjectDto {
  @ApiProperty({ enum: ERASURE_SUBJECTS })
  kind!: ErasureSubject;
  /** HMAC-SHA-256 of the id with a key of the installation, in hexadecimal; random for `traces`. The receipt does not hold the id. */
  id_hash!: string;
}

/** An erasure, and its receipt once it has succeeded. */
export class ErasureDto {
  erasure_id!: string;
  subject!: ErasureSubjectDto;
  /** Null for all workspaces or the organization, and once the workspace itself is erased. */
  workspace_id!: string | null;
  /** Whether it only counts what it would erase. */
  dry_run!: boolean;
  /** Never fails for good: it is retried until it has `succeeded`. */
  @ApiProperty({ enum: ERASURE_STATUSES })
  erasure_status!: ErasureStatus;
  /** Numbers of erased rows so far, by what they are, such as `traces`. In a dry run, of those that it would erase. */
  @ApiProperty({ type: 'object', additionalProperties: { type: 'integer', minimum: 0 } })
  counts!: ErasedCounts;
  /** Why the last attempt failed. Null while nothing is wrong. */
  last_error!: string | null;
  created_at!: Date;
  updated_at!: Date;
  /** Who requested it. */
  created_by!: string;
  started_at!: Date | null;
  finished_at!: Date | null;
}

export const toErasureDto = (row: ErasureEntity): ErasureDto => ({
  erasure_id: row.erasure_id,
  subject: { kind: row.subject_kind, id_hash: row.subject_hash },
  workspace_id: row.workspace_id,
  dry_run: row.dry_run,
  erasure_status: row.erasure_status,
  counts: row.counts,
  last_error: row.last_error,
  created_at: row.created_at,
  updated_at: row.updated_at,
  created_by: row.created_by,
  started_at: row.started_at,
  finished_at: row.finished_at,
});

/** Returns a 202 with an erasure and its `Location`. */
export const acceptedErasure = (row: ErasureEntity): Reply =>
  new Reply(202, toErasureDto(row), { Location: `/registry/v1/erasures/${row.erasure_id}` });

/** The response of operations that request an erasure. */
export const ERASURE_RESPONSE: ApiResponseOptions = {
  type: ErasureDto,
  description: 'The erasure, which a worker runs. `GET` its `Location` for the receipt.',
};
