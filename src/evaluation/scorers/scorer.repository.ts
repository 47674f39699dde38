import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, type SqlExecutor, type Tx, Where, WorkspaceRepository } from '#platform/db';
import { BY_NAME, type ListQueryDto, listPage, type RowPage } from '#platform/paging';
import { explainConstraint } from '#platform/problem';
import type { ScorerListQueryDto } from './scorer.dto';
import { ScorerEntity } from './scorer.entity';

explainConstraint('scorers_name', 'conflict', 'The workspace has a scorer of this name already.');

const VERSION = `scorer_id, workspace_id, scorer_version, version_id, name, description, scorer_kind, grain, definition,
  tags, metadata, created_at, created_by`;
const COLUMNS = `${VERSION}, updated_at, archived_at`;

/** The first version is made with the scorer, each later one with a change of it. */
const KEEP_VERSION = `INSERT INTO scorer_versions (${VERSION})
  SELECT scorer_id, workspace_id, scorer_version, version_id, name, description, scorer_kind, grain, definition, tags,
         metadata, updated_at, $3
  FROM scorers WHERE scorer_id = $1 AND workspace_id = $2`;

const FIND_VERSION = {
  name: 'scorer.find-version',
  text: `SELECT ${VERSION} FROM scorer_versions WHERE scorer_id = $1 AND scorer_version = $2 AND workspace_id = $3`,
};

export type ScorerVersionRow = Omit<ScorerEntity, 'updated_at' | 'archived_at'>;

@Injectable()
export class ScorerRepository extends WorkspaceRepository<ScorerEntity> {
  constructor(database: Database) {
    super(database, ScorerEntity, 'scorer_id');
  }

  list(scope: Scope, query: ScorerListQueryDto): Promise<RowPage<ScorerEntity>> {
    const where = new Where(scope.key)
      .addIf(query.scorer_kind, 'scorer_kind = ?')
      .addIf(query.grain, 'grain = ?');
    where.addSearch(query.q);
    if (query.tag !== undefined) where.add('tags @> ARRAY[?::text]', query.tag);
    return listPage<ScorerEntity>(
      this.database,
      {
        columns: COLUMNS,
        from: 'scorers',
        where,
        id: 'scorer_id',
        sorts: BY_NAME,
        archivedAt: 'archived_at',
        bytes: 'bytes',
      },
      query,
    );
  }

  /** Keeps what the scorer is now as its present version. */
  async keepVersion(tx: Tx, scope: Scope, id: string): Promise<void> {
    await tx.query(KEEP_VERSION, [id, scope.workspaceId, scope.principalId]);
  }

  listVersions(scope: Scope, id: string, query: ListQueryDto): Promise<RowPage<ScorerVersionRow>> {
    const where = new Where(scope.key).add('scorer_id = ?', id);
    return listPage<ScorerVersionRow>(
      this.database,
      { columns: VERSION, from: 'scorer_versions', where, id: 'version_id', bytes: 'bytes' },
      query,
    );
  }

  async findVersion(
    scope: Scope,
    id: string,
    version: number,
    on: SqlExecutor = this.database,
  ): Promise<ScorerVersionRow | null> {
    const [row] = await on.query<ScorerVersionRow>(FIND_VERSION, [id, version, scope.workspaceId]);
    return row ?? null;
  }
}
