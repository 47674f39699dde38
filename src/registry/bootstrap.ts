import type { INestApplicationContext } from '@nestjs/common';
import { AccountChanges, EVERY_WORKSPACE, expandRoles, orgScope, type Role } from '#platform/auth';
import { Database, type SqlExecutor, type Tx } from '#platform/db';
import { newId } from '#platform/ids';
import { ApiKeyService } from './service-accounts/api-key.service';
import { OrgRepository } from './orgs/org.repository';
import { OrgService } from './orgs/org.service';
import { ServiceAccountRepository } from './service-accounts/service-account.repository';
import { ServiceAccountService } from './service-accounts/service-account.service';
import { WorkspaceRepository } from './workspaces/workspace.repository';
import { WorkspaceService } from './workspaces/workspace.service';

/** The `created_by` of the default organization, workspace and account. It identifies them after they are renamed. */
const CREATOR = 'bootstrap';
const NAME = 'default';
/** The roles and workspaces of an owner of the whole organization. */
const OWNER: { roles: Role[]; workspace_ids: string[] } = {
  roles: ['owner'],
  workspace_ids: [EVERY_WORKSPACE],
};

interface Ids {
  org_id: string;
  workspace_id: string;
  service_account_id: string;
}

export interface BootstrapResult extends Ids {
  /** Null if the account already existed, because a key is shown only once. */
  api_key: string | null;
}

export interface BootstrapOptions {
  /**
   * Creates another key for a caller who has lost the first one, and makes the service account an owner again, because there
   * may be no other owner.
   */
  newKey?: boolean;
}

type App = Pick<INestApplicationContext, 'get'>;

const scopeOf = (orgId: string) => orgScope(orgId, CREATOR, expandRoles(['owner']));

/**
 * Creates what a new installation needs: the organization "default" with a workspace "default", and a service account
 * that owns them, with a key. If they already exist, returns their ids, even if they are archived or suspended. Any number of
 * processes may call it at once.
 *
 * @param app an application that has the `RegistryModule`
 */
export async function bootstrap(
  app: App,
  { newKey = false }: BootstrapOptions = {},
): Promise<BootstrapResult> {
  const existing = await find(app, app.get(Database, { strict: false }));
  if (existing && !newKey) return { ...existing, api_key: null };
  const orgId = existing?.org_id ?? newId('org');
  return app.get(AccountChanges, { strict: false }).run(orgId, async (tx) => {
    await app.get(OrgRepository, { strict: false }).lockCreation(tx);
    const current = await find(app, tx);
    if (current && !newKey) return { ...current, api_key: null };
    const ids = current ?? (await create(app, tx, orgId));
    return { ...ids, api_key: await createKey(app, tx, ids) };
  });
}

async function find(app: App, on: SqlExecutor): Promise<Ids | null> {
  const org = await app.get(OrgRepository, { strict: false }).findFirstBy(CREATOR, on);
  if (!org) return null;
  const scope = scopeOf(org.org_id);
  const workspace = await app.get(WorkspaceRepository, { strict: false }).findFirstBy(scope, CREATOR, on);
  const account = await app.get(ServiceAccountRepository, { strict: false }).findFirstBy(scope, CREATOR, on);
  // They are created in one transaction and never deleted.
  if (!workspace || !account)
    throw new Error('The default organization has no default workspace or service account.');
  return {
    org_id: org.org_id,
    workspace_id: workspace.workspace_id,
    service_account_id: account.service_account_id,
  };
}

async function create(app: App, tx: Tx, orgId: string): Promise<Ids> {
  const scope = scopeOf(orgId);
  await app.get(OrgService, { strict: false }).add(tx, scope, { name: NAME });
  const { workspace_id } = await app.get(WorkspaceService, { strict: false }).add(tx, scope, { name: NAME });
  const { service_account_id } = await app.get(ServiceAccountService, { strict: false }).add(tx, scope, {
    name: NAME,
    description: 'Created on the first start. Owns the organization.',
    ...OWNER,
  });
  return { org_id: orgId, workspace_id, service_account_id };
}

/** Creates a key for the service account, and makes the account an owner again if it has lost roles or workspaces. */
async function createKey(app: App, tx: Tx, { org_id, service_account_id }: Ids): Promise<string> {
  const scope = scopeOf(org_id);
  await app.get(ServiceAccountService, { strict: false }).reinstate(tx, scope, service_account_id, OWNER);
  const keys = app.get(ApiKeyService, { strict: false });
  const made = { serviceAccountId: service_account_id, name: CREATOR, expiresAt: null, allow: null };
  return (await keys.add(tx, scope, made)).key;
}
