import { Injectable } from '@nestjs/common';
import type { Member, Scope } from '#platform/auth';
import { Database, DELETE_BATCH, deleteInBatches, sql } from '#platform/db';

/** Seconds that a result can be read. */
const LIFETIME_SECONDS = 3600;

/** Results of one caller that are kept. Older ones are deleted. */
const KEPT_MAX = 20;

/** Whose a result is. */
export interface ResultOwner {
  readonly scope: Scope;
  readonly principal: Member;
}

/** A part of a stored result. */
export interface StoredPart {
  part: Buffer;
  size_bytes: number;
}

/** Results that are too large for one response. Only the caller who got one reads it, in the same workspace. */
@Injectable()
export class StoredResultRepository {
  constructor(private readonly database: Database) {}

  /** Stores a result, and deletes the oldest ones of the caller. */
  async insert({ scope, principal }: ResultOwner, id: string, content: Buffer): Promise<void> {
    const { orgId, workspaceId } = scope;
    await this.database.query(
      sql`WITH old AS (
          SELECT result_id FROM mcp_stored_results
          WHERE org_id = ${orgId} AND principal_type = ${principal.type} AND principal_id = ${principal.id}
          ORDER BY result_id DESC OFFSET ${KEPT_MAX - 1}
        ), gone AS (
          DELETE FROM mcp_stored_results WHERE result_id IN (SELECT result_id FROM old)
        )
        INSERT INTO mcp_stored_results (result_id, org_id, workspace_id, principal_type, principal_id, content)
        VALUES (${id}, ${orgId}, ${workspaceId}, ${principal.type}, ${principal.id}, ${content})`,
    );
  }

  /** Reads a part of a result; null if it does not exist, has expired or belongs to another caller or workspace. */
  async read(
    { scope, principal }: ResultOwner,
    id: string,
    offset: number,
    length: number,
  ): Promise<StoredPart | null> {
    const { orgId, workspaceId } = scope;
    const start = Math.min(offset, 2 ** 31 - 2) + 1;
    const [row] = await this.database.query<StoredPart>(
      sql`SELECT substring(content FROM ${start} FOR ${length}) AS part, size_bytes FROM mcp_stored_results
        WHERE result_id = ${id} AND org_id = ${orgId} AND workspace_id = ${workspaceId}
          AND principal_type = ${principal.type} AND principal_id = ${principal.id}
          AND created_at > now() - ${LIFETIME_SECONDS}::float8 * interval '1 second'`,
    );
    return row ?? null;
  }

  /** Deletes expired results, in batches. */
  async deleteExpired(): Promise<void> {
    await deleteInBatches(
      this.database,
      sql`WITH old AS (
          SELECT result_id FROM mcp_stored_results
          WHERE created_at <= now() - ${LIFETIME_SECONDS}::float8 * interval '1 second' LIMIT ${DELETE_BATCH}
        ), gone AS (
          DELETE FROM mcp_stored_results WHERE result_id IN (SELECT result_id FROM old) RETURNING 1
        ) SELECT count(*)::integer AS gone FROM gone`,
    );
  }
}
