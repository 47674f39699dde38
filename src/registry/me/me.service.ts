import { Injectable } from '@nestjs/common';
import { type Credential, type Principal, reduceRoles, scopeOf } from '#platform/auth';
import type { MeCredentialDto, MeDto } from './me.dto';
import { OrgRepository } from '../orgs/org.repository';
import { PrincipalRepository } from '../accounts/principal.repository';
import { KeyAllows } from '../service-accounts/key-allow';
import { WorkspaceRepository } from '../workspaces/workspace.repository';

const MAX_WORKSPACES = 500;

/** Describes callers to themselves. */
@Injectable()
export class MeService {
  constructor(
    private readonly organizations: OrgRepository,
    private readonly principals: PrincipalRepository,
    private readonly workspaces: WorkspaceRepository,
    private readonly allows: KeyAllows,
  ) {}

  async describe(principal: Principal): Promise<MeDto> {
    const { type, id, orgId } = principal;
    const credential = credentialOf(principal.credential);
    if (orgId === null) {
      const platform = { principal_id: id, principal_type: type, name: null };
      return { principal: platform, organization: null, roles: [], workspaces: [], credential, allow: null };
    }
    const scope = scopeOf({ ...principal, orgId });
    const [org, account, workspaces, [allow = null]] = await Promise.all([
      this.organizations.find(scope, orgId),
      this.principals.find(scope, id),
      this.workspaces.listAccessible(scope, MAX_WORKSPACES),
      this.allows.views(scope, [principal.allow]),
    ]);
    return {
      principal: { principal_id: id, principal_type: type, name: account?.name ?? null },
      organization: org && { org_id: org.org_id, name: org.name, status: org.status },
      roles: reduceRoles(principal.roles),
      workspaces: workspaces.map(({ workspace_id, name }) => ({
        workspace_id,
        name,
        roles: reduceRoles(scope.rolesIn(workspace_id)),
      })),
      credential,
      allow,
    };
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
