import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { patchMetadata, type Versioned } from '#platform/http';
import { newId } from '#platform/ids';
import { toRawJson } from '#platform/json';
import type { Page } from '#platform/paging';
import { problem } from '#platform/problem';
import { documentOf, OrgResourceService, type ResourceKind, ResourceKit, stamps } from '../../resources';
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

const REPO: ResourceKind<RepoEntity, RepoDto> = {
  noun: 'repository',
  type: 'repo',
  id: 'repo_id',
  generation: 'generation',
  immutable: ['repo_id'],
  auditedFields: ['url', 'name', 'default_branch', 'visibility'],
  createdFields: ['url', 'name'],
  unique: { constraint: 'repos_url', field: 'url' },
  search: { type: 'repo', document: (row) => documentOf('repo', row.repo_id, row, row.url) },
  toView: toRepoDto,
};

/** Manages the repositories that a team's agents, skills and servers come from. */
@Injectable()
export class RepoService extends OrgResourceService<RepoEntity, RepoDto> {
  constructor(
    kit: ResourceKit,
    private readonly repos: RepoRepository,
  ) {
    super(kit, repos, REPO);
  }

  /**
   * Registers a repository, or returns the live one that already has this URL in the workspace. Errors: 400 for an invalid URL
   * or an unknown workspace; 403; 409 if the workspace is archived.
   */
  create(scope: OrgScope, dto: CreateRepoDto): Promise<{ repo: Versioned<RepoDto>; isNew: boolean }> {
    const url = urlOf(dto.url);
    return this.transaction(scope, async (tx) => {
      const workspace = await this.kit.access.enter(tx, scope, dto.workspace_id, ['editor']);
      // Registrations of the same URL wait for each other, so that the second finds the first.
      await this.repos.lockUrl(tx, workspace, url);
      const existing = await this.repos.findByUrl(tx, workspace, url);
      if (existing) return { repo: this.versioned(existing), isNew: false };
      const row = await this.insert(tx, scope, {
        ...stamps(scope),
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
      });
      return { repo: this.versioned(row), isNew: true };
    });
  }

  async list(scope: OrgScope, query: RepoListQueryDto): Promise<Page<RepoDto>> {
    return this.page(await this.repos.list(scope, query));
  }

  /** Changes a repository. Errors: 400 for an invalid URL, 409 for one that the workspace already has, and those of every change. */
  patch(scope: OrgScope, id: string, dto: PatchRepoDto, ifMatch?: string): Promise<Versioned<RepoDto>> {
    const url = dto.url === undefined ? undefined : urlOf(dto.url);
    return this.change(scope, id, dto, ifMatch, (row) => ({
      url,
      name: dto.name,
      description: dto.description,
      default_branch: dto.default_branch,
      visibility: dto.visibility,
      metadata: patchMetadata(row.metadata, dto.metadata),
    }));
  }
}

function urlOf(text: string): string {
  const url = normalizeRepoUrl(text);
  if (url !== null) return url;
  const detail =
    'must be the URL of a repository, such as https://host/path or git@host:path, without query and fragment';
  throw problem.invalidField('/url', detail);
}
