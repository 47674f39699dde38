import { elsewhere, idOf, inEach, LATER, MANY, named, rarely } from './row-copies';
import { describeLists, type RowCopies, type Seeds } from './lists.harness';

const SINCE = ['2020-01-01T00:00:00Z'];
const UNTIL = ['2100-01-01T00:00:00Z'];

const copiesOf = (seeds: Seeds): RowCopies[] => {
  const { ids, sibling, foreign, orgId, foreignOrgId } = seeds;
  const workspaces = [ids, sibling, foreign];
  return [
    {
      table: 'organizations',
      where: `seed.org_id = '${orgId}'`,
      count: MANY,
      values: { org_id: idOf('org'), name: named(), status: rarely("'suspended'", "'active'"), updated_at: LATER },
    },
    ...[orgId, foreignOrgId].map((org) => ({
      table: 'users',
      where: `seed.org_id = '${org}' AND seed.user_id IN ('${ids.user_id}', '${foreign.user_id}')`,
      count: org === orgId ? MANY : 500,
      values: {
        user_ref: idOf('user'), user_id: idOf('usr'), display_name: named('seed.display_name'),
        status: rarely("'suspended'", "'active'"), updated_at: LATER,
      },
    })),
    ...inEach(seeds, 'workspaces', 'workspace_id', { workspace_id: idOf('wsp'), name: named(), updated_at: LATER }),
    ...workspaces.map((of, index) => ({
      table: 'workspace_members',
      where: `seed.workspace_id = '${of.workspace_id}' AND seed.principal_id = '${of.user_id}'`,
      count: index === 0 ? MANY : 500,
      values: { principal_id: idOf('usr') },
    })),
    ...inEach(seeds, 'service_accounts', 'service_account_id', {
      service_account_id: idOf('sva'), name: named(), status: rarely("'suspended'", "'active'"),
      workspace_ids: rarely(`'{${sibling.workspace_id}}'`, 'seed.workspace_ids'), updated_at: LATER,
    }),
    ...inEach(seeds, 'api_keys', 'key_id', { key_id: idOf('key'), name: named(), hash: 'sha256(n::text::bytea)', updated_at: LATER }),
    ...inEach(seeds, 'org_signing_keys', 'kid', { kid: idOf('kid'), name: named(), updated_at: LATER }),
    ...inEach(seeds, 'apps', 'app', { app_id: idOf('app'), app: `seed.app || '-' || n`, description: named(`'word'`), sync_state: rarely("'failed'", elsewhere(seeds, "'synced'", "'pending'")), updated_at: LATER }),
    ...inEach(seeds, 'apis', 'api_id', { api_id: idOf('api'), name: named(), app: rarely("'other'", elsewhere(seeds, "'first-app'", "'sibling-app'")), app_id: elsewhere(seeds, "'app_first'", "'app_sibling'"), declared_name: "'name ' || n", sync_state: rarely("'failed'", elsewhere(seeds, "'synced'", "'pending'")), updated_at: LATER }),
    ...inEach(seeds, 'api_versions', 'api_id', { version_ordinal: 'n + 1', version_id: idOf('ver') }),
    ...inEach(seeds, 'repos', 'repo_id', { repo_id: idOf('repo'), name: named(), url: `seed.url || n`, updated_at: LATER }),
    ...inEach(seeds, 'erasures', 'workspace_id', {
      erasure_id: idOf('era'), subject_kind: rarely("'session'", "'end_user'"), subject_hash: "md5(n::text)",
      erasure_status: rarely("'succeeded'", "'queued'"),
    }),
    ...inEach(seeds, 'audit_log', 'workspace_id', {
      audit_entry_id: idOf('aud'), principal_id: rarely("'usr_rare'", "'usr_common'"), action: rarely("'archive'", "'update'"),
      resource_type: rarely("'api'", "'repo'"), resource_id: rarely("'repo_rare'", "'repo_common'"),
    }).map((copies) => ({ ...copies, where: `${copies.where} AND seed.resource_type = 'repo'` })),
    ...inEach(seeds, 'search_documents', 'resource_id', {
      resource_id: idOf('repo'), name: named(), words: `to_tsvector('simple', ${rarely("'rare'", "'common'")} || ' word ' || n)`, updated_at: LATER,
    }, 'repo_id'),
  ]; // oxfmt-ignore
};

describeLists(['/registry/'], (seeds) => {
  const { ids, sibling, owner: by, platform } = seeds;
  const workspace_id = [ids.workspace_id!];
  const name = ['first account rare 7'];
  const siblingWith = (...filters: Record<string, string>[]) => filters.map((filter) => ({ workspace_id: sibling.workspace_id!, ...filter }));
  return {
    copies: copiesOf(seeds),
    requests: {
      lists: {
        listOrgs: { path: '/registry/v1/orgs', by: platform, filters: { status: ['active', 'suspended'], name } },
        listUsers: { path: '/registry/v1/users', by, filters: { status: ['active', 'suspended'] }, searches: { q: ['rare', 'common'] } },
        listWorkspaces: { path: '/registry/v1/workspaces', by, filters: { name }, searches: { q: ['rare', 'common'] } },
        listMembers: { path: `/registry/v1/workspaces/${ids.workspace_id}/members`, by },
        listServiceAccounts: {
          path: '/registry/v1/service-accounts', by,
          filters: { name, status: ['active', 'suspended'] },
          searches: { q: ['rare', 'common'], workspace_id: [ids.workspace_id!, sibling.workspace_id!] },
        },
        listApiKeys: { path: `/registry/v1/service-accounts/${ids.service_account_id}/keys`, by, filters: { name } },
        listSigningKeys: { path: '/registry/v1/org/signing-keys', by, filters: { name } },
        listApps: {
          path: '/registry/v1/apps', by,
          filters: { workspace_id, app: ['first-app-7'], name: ['first-app-7'], sync_state: ['failed', 'synced'] },
          searches: { q: ['rare', 'common'] }, narrowed: siblingWith({ sync_state: 'synced' }),
        },
        listApis: {
          path: '/registry/v1/apis', by,
          filters: { workspace_id, name, sync_state: ['failed', 'synced'], app: ['first-app', 'other', 'app_first'] },
          searches: { q: ['rare', 'common'] },
          narrowed: siblingWith({ sync_state: 'synced' }, { app: 'first-app' }, { app: 'app_first' }),
        },
        listApiVersions: { path: `/registry/v1/apis/${ids.api_id}/versions`, by },
        listRepos: {
          path: '/registry/v1/repos', by,
          filters: { workspace_id, name, url: ['https://git.example.com/first/repo7'] },
          searches: { q: ['rare', 'common'] },
        },
        listAuditEntries: {
          path: '/registry/v1/audit-log', by,
          filters: {
            workspace_id, principal_id: ['usr_rare', 'usr_common'], action: ['archive', 'update'],
            resource_type: ['api', 'repo'], resource_id: ['repo_rare', 'repo_common'], since: SINCE, until: UNTIL,
          },
        },
        listErasures: {
          path: '/registry/v1/erasures', by,
          filters: {
            workspace_id, subject_kind: ['session', 'end_user'], subject_id: ['nobody', 'first-visitor'],
            erasure_status: ['succeeded', 'queued'], since: SINCE, until: UNTIL,
          },
        },
        searchRegistry: { path: '/registry/v1/search', by, rows: 2 * MANY, bodies: [{ query: 'rare', mode: 'keyword' }, { query: 'common', mode: 'keyword' }] },
      },
    },
  };
}); // oxfmt-ignore
