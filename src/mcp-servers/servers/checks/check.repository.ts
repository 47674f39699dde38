import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, DELETE_BATCH, deleteInBatches, join, prepared, raw, sql, Where } from '#platform/db';
import { listPage, type RowPage } from '#platform/paging';
import { REGISTRY_NAME, type ServerEntity, TARGET_FIELDS } from '../server.entity';
import type { CheckListQueryDto } from './check.dto';
import type { CheckOutcome, CheckRow, CheckTrigger } from './check.types';

const COLUMNS = `server_id, check_ordinal, trigger, checked_at, latency_ms, protocol_version, server_info, error, added_count,
  updated_count, archived_count, unchanged_count, skipped`;

/** The maximum number of left out tools that a check stores. */
const SKIPPED_MAX = 20;

/** The condition of the servers that workers check. It must match that of `mcp_servers_due` and `mcp_servers_due_by_org`. */
const IS_CHECKED = raw(`archived_at IS NULL AND NOT (is_system AND name = '${REGISTRY_NAME}')`);

/** A server that is due for a check. */
export type DueServer = Pick<ServerEntity, 'server_id' | 'org_id' | 'workspace_id'>;

/** Stores the checks of servers, and claims the servers that are due. */
@Injectable()
export class CheckRepository {
  constructor(private readonly database: Database) {}

  list(scope: OrgScope, serverId: string, { ok, ...query }: CheckListQueryDto): Promise<RowPage<CheckRow>> {
    const where = new Where(scope.orgKey)
      .add(sql`server_id = ${serverId}`)
      .addIndexed(ok, (isOk) => (isOk ? sql`error IS NULL` : sql`error IS NOT NULL`));
    return listPage<CheckRow>(
      this.database,
      {
        columns: COLUMNS,
        from: 'mcp_server_checks',
        where,
        id: 'check_ordinal',
        createdAt: 'checked_at',
        idType: 'int8',
      },
      query,
    );
  }

  /**
   * Stores a check and updates the health of the server. Writes nothing if the server was archived, or its URL, transport or
   * `auth` changed, during the check. Does not change the generation, because the configuration does not change.
   *
   * @param server the server at the start of the check
   */
  async record(server: ServerEntity, trigger: CheckTrigger, outcome: CheckOutcome): Promise<void> {
    const { error, latencyMs, protocolVersion, serverInfo, changes, skipped } = outcome;
    const at = new Date();
    const json = (value: object | null): string | null => (value ? JSON.stringify(value) : null);
    const target = join(
      TARGET_FIELDS.map((column) => sql`${raw(column)} IS NOT DISTINCT FROM ${server[column]}::text`),
      ' AND ',
    );
    await this.database.query(
      sql`WITH server AS (
          UPDATE mcp_servers
          SET health_status = ${error ? 'unhealthy' : 'healthy'}, health_checked_at = ${at},
            health_latency_ms = ${latencyMs}, health_error = ${json(error)}::jsonb, check_ordinal = check_ordinal + 1
          WHERE server_id = ${server.server_id} AND org_id = ${server.org_id} AND archived_at IS NULL AND ${target}
          RETURNING server_id, org_id, workspace_id, check_ordinal
        )
        INSERT INTO mcp_server_checks (server_id, check_ordinal, org_id, workspace_id, trigger, checked_at, latency_ms,
          protocol_version, server_info, error, added_count, updated_count, archived_count, unchanged_count,
          skipped)
        SELECT server_id, check_ordinal, org_id, workspace_id, ${trigger}, ${at}::timestamptz, ${latencyMs}::integer,
          ${protocolVersion}::text, ${json(serverInfo)}::jsonb, ${json(error)}::jsonb,
          ${changes && changes.added.length}::integer, ${changes && changes.updated.length}::integer,
          ${changes && changes.archived.length}::integer, ${changes && changes.unchangedCount}::integer,
          ${json(skipped && skipped.slice(0, SKIPPED_MAX))}::jsonb
        FROM server`,
    );
  }

  /**
   * Claims servers that are due, and sets when they are due again. Organizations take turns, each with the servers that have
   * waited longest. Two workers never claim the same server. Reads only the oldest servers of each organization, however
   * many are due.
   *
   * @param share the maximum number of servers per organization
   * @param busy organizations that have already reached their share
   */
  claimDue(
    limit: number,
    share: number,
    busy: readonly string[],
    intervalSeconds: number,
  ): Promise<DueServer[]> {
    const statement = sql`WITH RECURSIVE orgs AS (
        (
          SELECT org_id, next_check_at FROM mcp_servers
          WHERE ${IS_CHECKED} AND (SELECT min(next_check_at) FROM mcp_servers WHERE ${IS_CHECKED}) <= now()
          ORDER BY org_id, next_check_at LIMIT 1
        )
        UNION ALL
        SELECT following.* FROM orgs CROSS JOIN LATERAL (
          SELECT org_id, next_check_at FROM mcp_servers WHERE ${IS_CHECKED} AND org_id > orgs.org_id
          ORDER BY org_id, next_check_at LIMIT 1
        ) following
      ), due AS MATERIALIZED (
        SELECT own.* FROM orgs CROSS JOIN LATERAL (
          SELECT server_id, next_check_at, row_number() OVER (ORDER BY next_check_at) AS place FROM (
            SELECT server_id, next_check_at FROM mcp_servers
            -- a range, because with org_id = … the planner may prefer the index of all organizations by time
            WHERE ${IS_CHECKED} AND (org_id, next_check_at) <= (orgs.org_id, now())
              AND (org_id, next_check_at) >= (orgs.org_id, '-infinity'::timestamptz)
            ORDER BY org_id, next_check_at LIMIT ${share}
          ) oldest
        ) own
        WHERE orgs.next_check_at <= now() AND orgs.org_id <> ALL (${busy}::text[])
      ), locked AS MATERIALIZED (
        SELECT server.server_id, due.place, due.next_check_at FROM due JOIN mcp_servers server USING (server_id)
        -- Checks again that no other worker has claimed it. Omits IS_CHECKED, so that servers are found by primary key.
        WHERE server.next_check_at <= now()
        ORDER BY due.place, due.next_check_at LIMIT ${limit} FOR UPDATE OF server SKIP LOCKED
      ), claimed AS (
        UPDATE mcp_servers SET next_check_at = now() + ${intervalSeconds} * interval '1 second' FROM locked
        WHERE mcp_servers.server_id = locked.server_id
        RETURNING mcp_servers.server_id, org_id, workspace_id, locked.place, locked.next_check_at AS due_at
      )
      SELECT server_id, org_id, workspace_id FROM claimed ORDER BY place, due_at`;
    return this.database.query<DueServer>(prepared('mcp-server.claim-due', statement));
  }

  /** Deletes the checks that are older than a number of days, in batches. */
  async deleteExpired(days: number): Promise<void> {
    const before = new Date(Date.now() - days * 24 * 60 * 60_000);
    await deleteInBatches(
      this.database,
      sql`WITH deleted AS (
          DELETE FROM mcp_server_checks WHERE ctid = ANY (ARRAY (
            SELECT ctid FROM mcp_server_checks WHERE checked_at < ${before} ORDER BY checked_at LIMIT ${DELETE_BATCH}
          )) RETURNING 1
        ) SELECT count(*)::integer AS deleted FROM deleted`,
    );
  }
}
