import { Injectable } from '@nestjs/common';
import { type OrgScope, type Principal, scopeOf } from '#platform/auth';
import { Database } from '#platform/db';
import type { RowPage } from '#platform/paging';
import { problem } from '#platform/problem';
import { type ErasureEntity, Erasures, WorkspaceAccess } from '../../resources';
import { OrgService } from '../orgs/org.service';
import { WorkspaceService } from '../workspaces/workspace.service';
import type { CreateErasureDto, ErasureListQueryDto } from './erasure.dto';

/** Requests erasures, and reads their receipts. */
@Injectable()
export class ErasureService {
  constructor(
    private readonly database: Database,
    private readonly erasures: Erasures,
    private readonly access: WorkspaceAccess,
    private readonly workspaces: WorkspaceService,
    private readonly organizations: OrgService,
  ) {}

  /**
   * Requests an erasure. Throws 400 for a workspace that the caller cannot access, 403 without the role, 404 for an unknown
   * workspace or another organization, 409 if the subject is already being erased.
   */
  create(scope: OrgScope, dto: CreateErasureDto): Promise<ErasureEntity> {
    const { subject, workspace_id, dry_run: isDryRun = false } = dto;
    const { kind, id } = subject;
    if (kind === 'org') {
      checkPlace(workspace_id, undefined);
      if (!scope.rolesEverywhere.has('owner')) throw problem.accessDenied(ROLE_NEEDED.owner);
      if (id !== scope.orgId) throw problem.notFound('organization', id);
      return this.organizations.erase(scope, isDryRun);
    }
    if (kind === 'workspace') {
      checkPlace(workspace_id, id);
      return this.workspaces.erase(scope, id, isDryRun);
    }
    if (workspace_id === undefined) {
      if (kind === 'session') throw problem.invalidField('/workspace_id', 'is required to erase a session');
      if (!scope.rolesEverywhere.has('admin')) throw problem.accessDenied(ROLE_NEEDED.admin);
    }
    return this.database.transaction(async (tx) => {
      if (workspace_id !== undefined) await this.access.checkExists(tx, scope, workspace_id, ['admin']);
      return this.erasures.request(tx, scope, {
        subject: kind,
        id,
        workspaceId: workspace_id ?? null,
        isDryRun,
      });
    });
  }

  /** Returns an erasure; for platform principals, only one of an organization. Throws 403 without the role, and 404. */
  get(principal: Principal, id: string): Promise<ErasureEntity> {
    const { orgId } = principal;
    if (orgId === null) return this.erasures.getOfOrganization(id);
    const scope = scopeOf({ ...principal, orgId });
    if (scope.workspacesWith('admin')?.size === 0) throw problem.accessDenied(ROLE_NEEDED.admin);
    return this.erasures.get(scope, id);
  }

  list(scope: OrgScope, { subject_id, ...query }: ErasureListQueryDto): Promise<RowPage<ErasureEntity>> {
    return this.erasures.list(scope, query, subject_id);
  }
}

const ROLE_NEEDED = {
  owner: 'To erase the organization, you need the role owner in it.',
  admin: 'You need the role admin: in the workspace, or in the whole organization for all workspaces.',
};

/** Throws 400 for a `workspace_id` that is not the subject's own. */
function checkPlace(named: string | undefined, own: string | undefined): void {
  if (named === undefined || named === own) return;
  throw problem.invalidField('/workspace_id', 'does not go with this subject. Leave it out');
}
