import { Injectable } from '@nestjs/common';
import type { OrgScope, Scope } from '#platform/auth';
import { Database, OrgRepository, type Tx, Where } from '#platform/db';
import { BY_NAME, listPage, type RowPage } from '#platform/paging';
import { explainConstraint, problem } from '#platform/problem';
import { whereReadable } from '../access/workspace-access';
import type { RepoListQueryDto } from './repo.dto';
import { RepoEntity } from './repo.entity';
import { normalizeRepoUrl } from './repo-url';

explainConstraint('repos_url', 'conflict', 'The workspace has this repository already.');

/** 400 for what is no address: there is none of it, and nobody should look for why. */
function urlSought(text: string): string {
  const url = normalizeRepoUrl(text);
  if (url === null) throw problem.invalidQuery('url', 'is not the address of a repository');
  return url;
}

@Injectable()
export class RepoRepository extends OrgRepository<RepoEntity> {
  constructor(database: Database) {
    super(database, RepoEntity, 'repo_id');
  }

  list(scope: OrgScope, query: RepoListQueryDto): Promise<RowPage<RepoEntity>> {
    const where = whereReadable(scope, query.workspace_id).addSearch(query.q);
    if (query.url !== undefined) where.add('url = ?', urlSought(query.url));
    return listPage<RepoEntity>(
      this.database,
      { columns: '*', from: 'repos', where, id: 'repo_id', sorts: BY_NAME, archivedAt: 'archived_at' },
      query,
    );
  }

  /** Writes a row, unless the workspace has its repository; then nothing, and the row is awaited that is being written. */
  async insertNew(tx: Tx, row: RepoEntity): Promise<boolean> {
    const result = await tx.manager
      .createQueryBuilder()
      .insert()
      .into(RepoEntity)
      .values(row)
      .orIgnore()
      .returning('repo_id')
      .updateEntity(false)
      .execute();
    return (result.raw as unknown[]).length > 0;
  }

  async findByUrl(tx: Tx, scope: Scope, url: string): Promise<RepoEntity | null> {
    const where = new Where(scope.key).add('url = ?', url).add('archived_at IS NULL');
    const [row] = await tx.query<RepoEntity>(`SELECT * FROM repos WHERE ${where.toString()}`, where.values);
    return row ?? null;
  }
}
