import { expandRoles, type OrgScope, orgScope, type Role } from '#platform/auth';
import { AccountChanges } from '#platform/auth';
import type { Tx } from '#platform/db';
import { newId } from '#platform/ids';
import { ApiKeyService } from '../../src/registry/service-accounts/api-key.service';
import { ServiceAccountService } from '../../src/registry/service-accounts/service-account.service';
import { OrgService } from '../../src/registry/orgs/org.service';
import { WorkspaceService } from '../../src/registry/workspaces/workspace.service';
import type { ApiClient } from './api-client';
import type { TestApp } from './test-app';

/** A service account of a test, with a key. */
export interface TestServiceAccount {
  serviceAccountId: string;
  keyId: string;
  key: string;
}

/** The organization of one test, with one workspace. */
export class TestOrganization {
  /** Owns everything. */
  readonly scope: OrgScope;

  constructor(
    private readonly app: TestApp,
    readonly orgId: string,
    readonly workspaceId: string,
  ) {
    this.scope = orgScope(orgId, 'test', expandRoles(['owner']));
  }

  /** Issues an access token of a new user with these roles in the organization. */
  token(...roles: Role[]): Promise<string> {
    return this.tokenOf(newId('usr'), { roles });
  }

  /** Issues an access token of a user, who need not exist. */
  tokenOf(userId: string, claims: Record<string, unknown> = {}): Promise<string> {
    return this.app.issuer.issueToken({ sub: userId, org_id: this.orgId, user_id: userId, ...claims });
  }

  /** Returns a client of a new user with these roles, within the workspace. */
  async as(...roles: Role[]): Promise<ApiClient> {
    return this.app.api(await this.token(...roles)).in(this.workspaceId);
  }

  /** Returns a client of a new user with these roles, without a workspace. */
  async member(...roles: Role[]): Promise<ApiClient> {
    return this.app.api(await this.token(...roles));
  }

  /** Creates a service account with these roles in the workspace, and a key. */
  async serviceAccount(...roles: Role[]): Promise<TestServiceAccount> {
    return this.app.get(AccountChanges).run(this.orgId, async (tx) => {
      const { service_account_id: serviceAccountId } = await this.app
        .get(ServiceAccountService)
        .add(tx, this.scope, { name: newId('sva'), roles, workspace_ids: [this.workspaceId] });
      const { key, row } = await this.app
        .get(ApiKeyService)
        .add(tx, this.scope, { serviceAccountId, name: 'test', expiresAt: null, allow: null });
      return { serviceAccountId, keyId: row.key_id, key };
    });
  }

  /** Creates another workspace, without members. */
  async newWorkspace(name: string = newId('wsp')): Promise<string> {
    const create = (tx: Tx) => this.app.get(WorkspaceService).add(tx, this.scope, { name });
    return (await this.app.database.transaction(create)).workspace_id;
  }
}

/** Creates an organization with one workspace. Each test has its own. */
export async function newOrganization(app: TestApp): Promise<TestOrganization> {
  const orgId = newId('org');
  const scope = orgScope(orgId, 'test', expandRoles(['owner']));
  const workspace = await app.database.transaction(async (tx) => {
    await app.get(OrgService).add(tx, scope, { name: orgId });
    return app.get(WorkspaceService).add(tx, scope, { name: 'main' });
  });
  return new TestOrganization(app, orgId, workspace.workspace_id);
}
