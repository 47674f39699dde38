import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, type Tx, Where, WorkspaceRepository } from '#platform/db';
import { BY_CHANGE, listPage, type RowPage } from '#platform/paging';
import type { ScoringRuleListQueryDto } from './scoring-rule.dto';
import { ScoringRuleEntity } from './scoring-rule.entity';

/** Rules as requests see them. What workers do to them is in `RuleWorkRepository`. */
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
        where: new Where(scope.key).add('scorer_id = ?', scorerId),
        id: 'rule_id',
        sorts: BY_CHANGE,
        archivedAt: 'archived_at',
        bytes: 'bytes',
      },
      query,
    );
  }

  /** How many rules of a scorer are not archived. */
  async countLive(tx: Tx, scope: Scope, scorerId: string): Promise<number> {
    const [row] = await tx.query<{ live: number }>(
      `SELECT count(*) AS live FROM scoring_rules
       WHERE workspace_id = $1 AND scorer_id = $2 AND archived_at IS NULL`,
      [scope.workspaceId, scorerId],
    );
    return row!.live;
  }
}
