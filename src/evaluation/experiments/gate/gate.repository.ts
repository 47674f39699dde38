import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, prepared, raw, sql, Where } from '#platform/db';
import { newId } from '#platform/ids';
import { type RawJson, toRawJson } from '#platform/json';
import { BY_CREATION, listPage, type RowPage } from '#platform/paging';
import type { GateDto, GateResultDto, KeptGateListQueryDto, KeptGateRow } from './gate.dto';

/** Maximum number of checks that are kept for an experiment. */
const KEPT_MAX = 1_000;

const COLUMNS = 'gate_check_id, experiment_id, workspace_id, passed, request, result, created_at, created_by';

/** Keeps the newest checks of each experiment. */
@Injectable()
export class GateRepository {
  constructor(private readonly database: Database) {}

  /** Stores a check, and deletes those beyond the newest 1,000 of the experiment. */
  async keep(
    { workspaceId, principalId }: Scope,
    experimentId: string,
    request: GateDto,
    result: GateResultDto,
  ): Promise<void> {
    const own = sql`experiment_id = ${experimentId} AND workspace_id = ${workspaceId}`;
    const [sent, answered]: RawJson[] = [toRawJson(request), toRawJson(result)];
    await this.database.query(
      prepared(
        'gate.keep',
        sql`WITH expired AS (
            DELETE FROM gate_checks WHERE ${own} AND gate_check_id <= (
              SELECT gate_check_id FROM gate_checks WHERE ${own}
              ORDER BY gate_check_id DESC OFFSET ${raw(String(KEPT_MAX - 1))} LIMIT 1))
          INSERT INTO gate_checks (${raw(COLUMNS)})
          SELECT ${newId('gate')}, experiment_id, workspace_id, ${result.passed}::boolean, ${sent}::json, ${answered}::json, now(),
                 ${principalId}
          FROM (SELECT experiment_id, workspace_id FROM experiments WHERE ${own} FOR KEY SHARE) experiment`,
      ),
    );
  }

  list(scope: Scope, experimentId: string, query: KeptGateListQueryDto): Promise<RowPage<KeptGateRow>> {
    const where = new Where(scope.key).add(sql`experiment_id = ${experimentId}`);
    return listPage<KeptGateRow>(
      this.database,
      {
        columns: COLUMNS,
        bytes: raw('bytes'),
        from: 'gate_checks',
        where,
        id: 'gate_check_id',
        createdAt: 'created_at',
        sorts: BY_CREATION,
      },
      query,
    );
  }
}
