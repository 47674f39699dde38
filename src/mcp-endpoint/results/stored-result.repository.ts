import { Injectable } from '@nestjs/common';
import type { Member, Scope } from '#platform/auth';
import { Database, DELETE_BATCH, deleteInBatches, sql, type Tx } from '#platform/db';

/** How long a result can be read, in seconds. */
const LIFETIME_SECONDS = 3600;

/** The maximum number of stored results of a caller. Older ones are deleted. */
const STORED_MAX = 20;

/** The owner of a result. */
export interface ResultOwner {
  readonly scope: Scope;
  readonly principal: Member;
}

/** The tool that returned a result. */
export interface ResultTool {
  server_id: string;
  tool_name: string;
}

/** A part of a stored result. */
export interface StoredPart extends ResultTool {
  part: Buffer;
  size_bytes: number;
}

/**
 * Stores results that are too large for one response. Only the caller of the tool can read them, in the same workspace.
 */
@Injectable()
export class StoredResultRepository {
  constructor(private readonly database: Database) {}

  /** Stores a result, and deletes the caller's oldest results beyond the maximum. */
  async insert(
    { scope, principal }: ResultOwner,
    id: string,
    { server_id, tool_name }: ResultTool,
    content: Buffer,
  ): Promise<void> {
    const { orgId, workspaceId } = scope;
    await this.database.query(
      sql`WITH old AS (
          SELECT result_id FROM mcp_stored_results
          WHERE org_id = ${orgId} AND principal_type = ${principal.type} AND principal_id = ${principal.id}
          ORDER BY result_id DESC OFFSET ${STORED_MAX - 1}
        ), deleted AS (
          DELETE FROM mcp_stored_results WHERE result_id IN (SELECT result_id FROM old)
        )
        INSERT INTO mcp_stored_results (result_id, org_id, workspace_id, principal_type, principal_id, server_id, tool_name,
          content)
        VALUES (${id}, ${orgId}, ${workspaceId}, ${principal.type}, ${principal.id}, ${server_id}, ${tool_name}, ${content})`,
    );
  }

  /**
   * Reads a part of a result. Returns null if it does not exist, has expired or belongs to another caller or workspace.
   */
  async read(
    { scope, principal }: ResultOwner,
    id: string,
    offset: number,
    length: number,
  ): Promise<StoredPart | null> {
    const { orgId, workspaceId } = scope;
    const start = Math.min(offset, 2 ** 31 - 2) + 1;
    const [row] = await this.database.query<StoredPart>(
      sql`SELECT substring(content FROM ${start} FOR ${length}) AS part, size_bytes, server_id, tool_name
        FROM mcp_stored_results
        WHERE result_id = ${id} AND org_id = ${orgId} AND workspace_id = ${workspaceId}
          AND principal_type = ${principal.type} AND principal_id = ${principal.id}
          AND created_at > now() - ${LIFETIME_SECONDS}::float8 * interval '1 second'`,
    );
    return row ?? null;
  }

  /** Deletes results of a workspace, and returns how many. */
  async deleteIn(tx: Tx, workspaceId: string, limit: number): Promise<number> {
    const deleted = await tx.query(
      sql`DELETE FROM mcp_stored_results WHERE result_id IN (
          SELECT result_id FROM mcp_stored_results WHERE workspace_id = ${workspaceId} LIMIT ${limit}) RETURNING 1`,
    );
    return deleted.length;
  }

  /** Counts the results of a workspace. */
  async countIn(tx: Tx, workspaceId: string): Promise<number> {
    const [row] = await tx.query<{ count: number }>(
      sql`SELECT count(*) AS count FROM mcp_stored_results WHERE workspace_id = ${workspaceId}`,
    );
    return row!.count;
  }

  /** Deletes expired results, in batches. */
  async deleteExpired(): Promise<void> {
    await deleteInBatches(
      this.database,
      sql`WITH old AS (
          SELECT result_id FROM mcp_stored_results
          WHERE created_at <= now() - ${LIFETIME_SECONDS}::float8 * interval '1 second' LIMIT ${DELETE_BATCH}
        ), deleted AS (
          DELETE FROM mcp_stored_results WHERE result_id IN (SELECT result_id FROM old) RETURNING 1
        ) SELECT count(*)::integer AS deleted FROM deleted`,
    );
  }
}
