import type { INestApplicationContext } from '@nestjs/common';
import { AccountChanges, EVERY_WORKSPACE, expandRoles, orgScope, type Role } from '#platform/auth';
import { Database, type SqlExecutor, type Tx } from '#platform/db';
import { newId } from '#platform/ids';
import { OrganizationRepository } from './accounts/org.repository';
import { OrgService } from './accounts/org.service';
import { AuditLog, changesTold } from './audit/audit-log';
import { ApiKeyService } from './service-accounts/api-key.service';
import { ServiceAccountRepository } from './service-accounts/service-account.repository';
import { ServiceAccountService } from './service-accounts/service-account.service';
import { changesOf, checkLive } from './shared/change';
import { WorkspacesRepository } from './workspaces/workspace.repository';
import { WorkspaceService } from './workspaces/workspace.service';

/** `created_by` of what is made here, and how it is found again, whatever it was renamed to. */
const MAKER = 'bootstrap';
const NAME = 'default';
/** What the service account holds: all of the organization. */
const HELD: { roles: Role[]; workspace_ids: string[] } = {
  roles: ['owner'],
  workspace_ids: [EVERY_WORKSPACE],
};

interface Ids {
  org_id: string;
  workspace_id: string;
  service_account_id: string;
}

export interface Bootstrapped extends Ids {
  /** Null where it was made before: a key is shown once. */
  api_key: string | null;
}

export interface BootstrapOptions {
  /**
   * Make another key where there was one before, because the caller has lost it; and make the service account the owner
   * of all of the organization again, because nobody else may be.
   */
  newKey?: boolean;
}

type App = Pick<INestApplicationContext, 'get'>;

const scopeOf = (orgId: string) => orgScope(orgId, MAKER, expandRoles(['owner']));

/**
 * Makes what a new installation needs to be used at all: the organization "default" with a workspace "default", and a
 * service account that owns them, with a key. On a database that has them it answers their ids. What was archived or
 * suspended since stays so: whoever closed that door does not find it open after a restart. Any number of processes
 * may call it at once.
 *
 * @param app an application that has the `RegistryModule`.
 */
export async function bootstrap(app: App, { newKey = false }: BootstrapOptions = {}): Promise<Bootstrapped> {
  const known = await find(app, app.get(Database, { strict: false }));
  if (known && !newKey) return { ...known, api_key: null };
  const orgId = known?.org_id ?? newId('org');
  return app.get(AccountChanges, { strict: false }).within(orgId, async (tx) => {
    await app.get(OrganizationRepository, { strict: false }).lockCreation(tx);
    const present = await find(app, tx);
    if (present && !newKey) return { ...present, api_key: null };
    const ids = present ?? (await make(app, tx, orgId));
    return { ...ids, api_key: await makeKey(app, tx, ids) };
  });
}

async function find(app: App, on: SqlExecutor): Promise<Ids | null> {
  const org = await app.get(OrganizationRepository, { strict: false }).findFirstBy(MAKER, on);
  if (!org) return null;
  const scope = scopeOf(org.org_id);
  const workspace = await app.get(WorkspacesRepository, { strict: false }).findFirstBy(scope, MAKER, on);
  const account = await app.get(ServiceAccountRepository, { strict: false }).findFirstBy(scope, MAKER, on);
  // made in one transaction, and never deleted
  if (!workspace || !account) throw new Error('The default organization has lost its workspace or account.');
  return {
    org_id: org.org_id,
    workspace_id: workspace.workspace_id,
    service_account_id: account.service_account_id,
  };
}

async function make(app: App, tx: Tx, orgId: string): Promise<Ids> {
  const scope = scopeOf(orgId);
  await app.get(OrgService, { strict: false }).insert(tx, scope, { name: NAME });
  const { workspace_id } = await app
    .get(WorkspaceService, { strict: false })
    .insert(tx, scope, { name: NAME });
  const { service_account_id } = await app.get(ServiceAccountService, { strict: false }).insert(tx, scope, {
    name: NAME,
    description: 'Made on the first start; owns the organization.',
    ...HELD,
  });
  return { org_id: orgId, workspace_id, service_account_id };
}

/** A key for the service account, which is made what it was at first if it has lost roles or workspaces since. */
async function makeKey(app: App, tx: Tx, { org_id, service_account_id }: Ids): Promise<string> {
  const scope = scopeOf(org_id);
  const account = await app.get(ServiceAccountService, { strict: false }).lock(tx, scope, service_account_id);
  checkLive(account, 'service account');
  const changes = changesOf(account, HELD);
  if (changes) {
    await app.get(ServiceAccountRepository, { strict: false }).update(tx, scope, service_account_id, changes);
    await app.get(AuditLog, { strict: false }).record(tx, scope, {
      action: 'update',
      type: 'service_account',
      id: service_account_id,
      workspaceId: null,
      changes: changesTold(account, changes, ['roles', 'workspace_ids']),
    });
  }
  const { key } = await app
    .get(ApiKeyService, { strict: false })
    .insert(tx, scope, service_account_id, MAKER, null);
  return key;
}
