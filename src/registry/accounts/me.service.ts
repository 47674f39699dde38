import { Injectable } from '@nestjs/common';
import { type Credential, type Principal, reduceRoles, scopeOf } from '#platform/auth';
import { ServiceAccountRepository } from '../service-accounts/service-account.repository';
import { WorkspacesRepository } from '../workspaces/workspace.repository';
import type { MeCredentialDto, MeDto } from './me.dto';
import { OrganizationRepository } from './org.repository';
import { UserRepository } from './user.repository';

const MAX_WORKSPACES = 500;

/** Tells callers who they are here. */
@Injectable()
export class MeService {
  constructor(
    private readonly organizations: OrganizationRepository,
    private readonly users: UserRepository,
    private readonly serviceAccounts: ServiceAccountRepository,
    private readonly workspaces: WorkspacesRepository,
  ) {}

  async describe(principal: Principal): Promise<MeDto> {
    const { type, id, orgId } = principal;
    const credential = credentialOf(principal.credential);
    if (orgId === null) {
      const named = { principal_id: id, principal_type: type, name: null };
      return { principal: named, organization: null, roles: [], workspaces: [], credential };
    }
    const scope = scopeOf({ ...principal, orgId });
    const [org, name, workspaces] = await Promise.all([
      this.organizations.find(orgId),
      this.nameOf({ ...principal, orgId }),
      this.workspaces.listReached(scope, MAX_WORKSPACES),
    ]);
    return {
      principal: { principal_id: id, principal_type: type, name },
      organization: org && { org_id: org.org_id, name: org.name, status: org.status },
      roles: reduceRoles(principal.roles),
      workspaces: workspaces.map(({ workspace_id, name }) => ({
        workspace_id,
        name,
        roles: reduceRoles(scope.rolesIn(workspace_id)),
      })),
      credential,
    };
  }

  private async nameOf(principal: Principal & { orgId: string }): Promise<string | null> {
    const scope = scopeOf(principal);
    if (principal.type === 'user') return (await this.users.find(scope, principal.id))?.display_name ?? null;
    return (await this.serviceAccounts.find(scope, principal.id))?.name ?? null;
  }
}

const credentialOf = (credential: Credential): MeCredentialDto =>
  credential.kind === 'token'
    ? {
        kind: 'token',
        issuer: credential.issuer,
        jti: credential.jti,
        key_id: null,
        expires_at: credential.expiresAt,
      }
    : {
        kind: 'api_key',
        issuer: null,
        jti: null,
        key_id: credential.keyId,
        expires_at: credential.expiresAt,
      };
