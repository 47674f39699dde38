import { Injectable } from '@nestjs/common';
import type { OrgScope, Scope } from '#platform/auth';
import { Database, OrgScopedRepository, sql, type Tx, Where } from '#platform/db';
import { BY_NAME, listPage, type RowPage } from '#platform/paging';
import { problem } from '#platform/problem';
import { whereReadable } from '../../resources';
import type { RepoListQueryDto } from './repo.dto';
import { RepoEntity } from './repo.entity';
import { normalizeRepoUrl } from './repo-url';

@Injectable()
export class RepoRepository extends OrgScopedRepository<RepoEntity> {
  constructor(database: Database) {
    super(database, RepoEntity, 'repo_id');
  }

  /** Lists repositories. Errors: 400 for an invalid `url` filter. */
  list(scope: OrgScope, query: RepoListQueryDto): Promise<RowPage<RepoEntity>> {
    const where = whereReadable(scope, query.workspace_id)
      .addSearch(query.q)
      .addIndexedInParts(query.name, (name) => sql`name COLLATE "C" = ${name}`)
      .addIndexed(query.url, (url) => sql`url = ${filterUrl(url)}`);
    return listPage<RepoEntity>(this.database, { ...this.listed, where, sorts: BY_NAME }, query);
  }

  /** Locks this URL of the workspace against other registrations until the transaction ends. */
  async lockUrl(tx: Tx, scope: Scope, url: string): Promise<void> {
    await tx.query(
      sql`SELECT pg_advisory_xact_lock(hashtextextended(${`repo ${scope.workspaceId} ${url}`}, 0))`,
    );
  }

  async findByUrl(tx: Tx, scope: Scope, url: string): Promise<RepoEntity | null> {
    const where = new Where(scope.key).add(sql`url = ${url} AND archived_at IS NULL`);
    const [row] = await tx.query<RepoEntity>(sql`SELECT * FROM repos WHERE ${where.sql}`);
    return row ?? null;
  }
}

function filterUrl(text: string): string {
  const url = normalizeRepoUrl(text);
  if (url === null) throw problem.invalidQuery('url', 'must be the URL of a repository');
  return url;
}
