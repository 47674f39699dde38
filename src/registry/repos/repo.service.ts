import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, type Tx } from '#platform/db';
import { checkIfMatch, checkImmutable, checkValues, patchMetadata, type Versioned } from '#platform/http';
import { newId } from '#platform/ids';
import { toRawJson } from '#platform/json';
import type { Page } from '#platform/paging';
import { problem } from '#platform/problem';
import { checkNotMoved, readable, WorkspaceAccess } from '../access/workspace-access';
import { AuditLog, changesTold, given } from '../audit/audit-log';
import type { SearchDocument } from '../search/search-document';
import { SearchIndex } from '../search/search-index';
import { changesOf, checkLive } from '../shared/change';
import {
  type CreateRepoDto,
  type PatchRepoDto,
  type RepoDto,
  type RepoListQueryDto,
  toRepoDto,
} from './repo.dto';
import type { RepoEntity } from './repo.entity';
import { RepoRepository } from './repo.repository';
import { normalizeRepoUrl, repoNameOf } from './repo-url';

const KIND = 'repository';
const TOLD = ['url', 'name', 'default_branch', 'visibility'] as const;

/** Repositories that a team's agents, skills and servers come from. */
@Injectable()
export class RepoService {
  constructor(
    private readonly database: Database,
    private readonly access: WorkspaceAccess,
    private readonly repos: RepoRepository,
    private readonly audit: AuditLog,
    private readonly index: SearchIndex,
  ) {}

  /**
   * Registers a repository; one that the workspace has already is answered as it is stored. Errors: 400 for an address
   * that is none, or an unknown workspace; 403; 409 when the workspace is archived.
   */
  create(scope: OrgScope, dto: CreateRepoDto): Promise<Versioned<RepoDto> & { isNew: boolean }> {
    const url = urlOf(dto.url);
    return this.database.transaction(async (tx) => {
      const workspace = await this.access.enter(tx, scope, dto.workspace_id, ['editor']);
      const row = newRow(scope, dto, url);
      if (await this.repos.insertNew(tx, row)) {
        await this.audit.record(tx, scope, {
          ...audited(row),
          action: 'create',
          changes: given({ url, name: row.name }),
        });
        await this.index.put(tx, scope, found(row));
        return { ...versionedView(row), isNew: true };
      }
      const known = await this.repos.findByUrl(tx, workspace, url);
      if (!known) throw problem.conflict('The repository was archived at this moment. Try again.');
      return { ...versionedView(known), isNew: false };
    });
  }

  async list(scope: OrgScope, query: RepoListQueryDto): Promise<Page<RepoDto>> {
    const { rows, page } = await this.repos.list(scope, query);
    return { items: rows.map(toRepoDto), page };
  }

  async get(scope: OrgScope, id: string): Promise<Versioned<RepoDto>> {
    return versionedView(readable(scope, await this.repos.find(scope, id), KIND, id));
  }

  /**
   * Errors: 404, 403, 412 for a stale `If-Match`, 409 when it or its workspace is archived, or the workspace has the
   * repository of the new address already.
   */
  patch(scope: OrgScope, id: string, dto: PatchRepoDto, ifMatch?: string): Promise<Versioned<RepoDto>> {
    const url = dto.url === undefined ? undefined : urlOf(dto.url);
    return this.database.transaction(async (tx) => {
      const row = await this.lock(tx, scope, id, 'editor');
      checkIfMatch(ifMatch, row.generation);
      checkLive(row, KIND);
      checkNotMoved(row, dto.workspace_id);
      checkImmutable(row, dto, ['repo_id']);
      checkValues(dto);
      const changes = changesOf(row, {
        url,
        name: dto.name,
        description: dto.description,
        default_branch: dto.default_branch,
        visibility: dto.visibility,
        metadata: dto.metadata === undefined ? undefined : patchMetadata(row.metadata, dto.metadata),
      });
      if (!changes) return versionedView(row);
      await this.repos.update(tx, scope, id, changes);
      await this.audit.record(tx, scope, {
        ...audited(row),
        action: 'update',
        changes: changesTold(row, changes, TOLD),
      });
      const changed = Object.assign(row, changes);
      await this.index.put(tx, scope, found(changed));
      return versionedView(changed);
    });
  }

  /** Archives a repository; repeated, it answers the same. Its address can be registered again. */
  archive(scope: OrgScope, id: string, ifMatch?: string): Promise<Versioned<RepoDto>> {
    return this.database.transaction(async (tx) => {
      const row = await this.lock(tx, scope, id, 'admin');
      if (!row.archived_at) checkIfMatch(ifMatch, row.generation);
      const changes = row.archived_at ? null : changesOf(row, { archived_at: new Date() });
      if (!changes) return versionedView(row);
      await this.repos.update(tx, scope, id, changes);
      await this.audit.record(tx, scope, { ...audited(row), action: 'archive' });
      await this.index.remove(tx, scope, 'repo', id);
      return versionedView(Object.assign(row, changes));
    });
  }

  private async lock(tx: Tx, scope: OrgScope, id: string, role: 'editor' | 'admin'): Promise<RepoEntity> {
    const row = await this.repos.lock(tx, scope, id, 'update');
    return this.access.admit(tx, scope, row, KIND, id, [role]);
  }
}

function urlOf(text: string): string {
  const url = normalizeRepoUrl(text);
  if (url !== null) return url;
  throw problem.invalidFields([
    {
      pointer: '/url',
      detail:
        'must be the address of a repository, such as https://host/path or git@host:path, without ? and #',
    },
  ]);
}

function newRow(scope: OrgScope, dto: CreateRepoDto, url: string): RepoEntity {
  const now = new Date();
  return {
    repo_id: newId('repo'),
    org_id: scope.orgId,
    workspace_id: dto.workspace_id,
    url,
    name: dto.name ?? repoNameOf(url),
    description: dto.description ?? null,
    default_branch: dto.default_branch ?? null,
    visibility: dto.visibility ?? null,
    metadata: toRawJson(dto.metadata ?? {}),
    generation: 1,
    created_at: now,
    updated_at: now,
    created_by: scope.principalId,
    archived_at: null,
  };
}

const audited = (row: RepoEntity) => ({
  type: 'repo' as const,
  id: row.repo_id,
  workspaceId: row.workspace_id,
});

const found = (row: RepoEntity): SearchDocument => ({
  type: 'repo',
  id: row.repo_id,
  workspaceId: row.workspace_id,
  name: row.name,
  description: row.description,
  body: row.url,
  updatedAt: row.updated_at,
});

const versionedView = (row: RepoEntity): Versioned<RepoDto> => ({
  view: toRepoDto(row),
  version: row.generation,
});
