import { inWorkspace, NOTHING, ofWorkspace, ORGANIZATION, OWN, words, type Row } from './row.fixture';

const RESOURCES = { resources: [] };

/** The registry, the API proxy, and public operations. */
export const REGISTRY_ROWS: Readonly<Record<string, Row>> = {
  'GET /health/live': OWN,
  'GET /health/ready': OWN,
  'GET /.well-known/jwks.json': OWN,
  'GET /registry/v1/me': OWN,
  'GET /registry/v1/usage': { level: 'organization', isTotal: true },
  'GET /registry/v1/org': OWN,
  'PATCH /registry/v1/org': { level: 'own', bodies: () => [{}] },
  // names no id: it is the caller's own
  'DELETE /registry/v1/org': { level: 'own', queries: () => [] },
  // published keys are public, so the population revokes its key
  'POST /registry/v1/org/signing-keys': { level: 'own', bodies: () => [{ name: 1 }] },
  'GET /registry/v1/org/signing-keys': ORGANIZATION,
  'GET /registry/v1/org/signing-keys/{kid}': ORGANIZATION,
  'POST /registry/v1/org/signing-keys/{kid}/revoke': ORGANIZATION,
  'POST /registry/v1/orgs': { level: 'platform', bodies: () => [{}] },
  'GET /registry/v1/orgs': { level: 'platform' },
  'GET /registry/v1/orgs/{org_id}': { level: 'platform' },
  'PATCH /registry/v1/orgs/{org_id}': { level: 'platform', bodies: () => [{ status: 'suspended' }] },
  'DELETE /registry/v1/orgs/{org_id}': { level: 'platform' },
  'POST /registry/v1/erasures': {
    bodies: (theirs) => [
      ...['end_user', 'session'].map((kind) => ({
        subject: { kind, id: 'one' },
        workspace_id: theirs.workspace_id,
      })),
      { subject: { kind: 'workspace', id: theirs.workspace_id } },
      { subject: { kind: 'org', id: theirs.org_id ?? 'org_unknown' } },
    ],
  },
  'GET /registry/v1/erasures': { queries: ofWorkspace() },
  'GET /registry/v1/erasures/{erasure_id}': NOTHING,
  'POST /registry/v1/users': { level: 'own', bodies: () => [{}] },
  'GET /registry/v1/users': { level: 'organization', queries: words },
  'GET /registry/v1/users/{user_id}': ORGANIZATION,
  'PATCH /registry/v1/users/{user_id}': { level: 'organization', bodies: () => [{ status: 'suspended' }] },
  'DELETE /registry/v1/users/{user_id}': ORGANIZATION,
  'POST /registry/v1/workspaces': { level: 'own', bodies: () => [{}] },
  'GET /registry/v1/workspaces': { queries: words },
  'GET /registry/v1/workspaces/{workspace_id}': NOTHING,
  'PATCH /registry/v1/workspaces/{workspace_id}': { bodies: () => [{ name: 'taken over' }] },
  'DELETE /registry/v1/workspaces/{workspace_id}': NOTHING,
  'POST /registry/v1/workspaces/{workspace_id}/archive': NOTHING,
  'POST /registry/v1/workspaces/{workspace_id}/restore': NOTHING,
  'GET /registry/v1/workspaces/{workspace_id}/members': NOTHING,
  'GET /registry/v1/workspaces/{workspace_id}/members/{principal_id}': NOTHING,
  'PUT /registry/v1/workspaces/{workspace_id}/members/{principal_id}': {
    level: 'organization',
    bodies: () => [{ roles: ['viewer'] }],
  },
  'DELETE /registry/v1/workspaces/{workspace_id}/members/{principal_id}': NOTHING,
  // account managers get different responses for unknown roles and for roles that they cannot grant
  'POST /registry/v1/service-accounts': {
    level: 'organization',
    bodies: (theirs) => [{ name: 'x', workspace_ids: [theirs.workspace_id] }],
  },
  'GET /registry/v1/service-accounts': { level: 'organization', queries: ofWorkspace() },
  'GET /registry/v1/service-accounts/{service_account_id}': ORGANIZATION,
  'PATCH /registry/v1/service-accounts/{service_account_id}': {
    level: 'organization',
    bodies: () => [{ status: 'suspended' }],
  },
  'POST /registry/v1/service-accounts/{service_account_id}/archive': ORGANIZATION,
  'POST /registry/v1/service-accounts/{service_account_id}/restore': ORGANIZATION,
  'DELETE /registry/v1/service-accounts/{service_account_id}': ORGANIZATION,
  'POST /registry/v1/service-accounts/{service_account_id}/keys': {
    level: 'organization',
    bodies: () => [{ name: 'x' }],
  },
  'GET /registry/v1/service-accounts/{service_account_id}/keys': ORGANIZATION,
  'GET /registry/v1/service-accounts/{service_account_id}/keys/{key_id}': ORGANIZATION,
  'POST /registry/v1/service-accounts/{service_account_id}/keys/{key_id}/revoke': ORGANIZATION,
  'DELETE /registry/v1/service-accounts/{service_account_id}/keys/{key_id}': ORGANIZATION,
  'POST /registry/v1/tokens': {
    level: 'own',
    bodies: (theirs) => [
      { grant_type: 'client_credentials', client_id: theirs.service_account_id, client_secret: 'rsk_x' },
    ],
  },
  'POST /registry/v1/tokens/revoke': { level: 'own', bodies: () => [{}] },
  'POST /registry/v1/repos': {
    bodies: (theirs) => inWorkspace({ url: `https://git.example.com/${theirs.marker}/repo` })(theirs),
  },
  'GET /registry/v1/repos': {
    queries: (theirs) => [...ofWorkspace()(theirs), `url=https://git.example.com/${theirs.marker}/repo`],
  },
  'GET /registry/v1/repos/{repo_id}': NOTHING,
  'PATCH /registry/v1/repos/{repo_id}': { bodies: () => [{ name: 'taken over' }] },
  'POST /registry/v1/repos/{repo_id}/archive': NOTHING,
  'POST /registry/v1/repos/{repo_id}/restore': NOTHING,
  'DELETE /registry/v1/repos/{repo_id}': NOTHING,
  'GET /registry/v1/audit-log': {
    // filtered, because the rows of the MCP endpoint add the caller's own tool calls to the log
    queries: (theirs) => [
      'action=create',
      'action=create&limit=0',
      `workspace_id=${theirs.workspace_id}`,
      `principal_id=${theirs.principal_id}`,
      `resource_id=${theirs.agent_id}`,
    ],
  },
  'POST /registry/v1/apps': {
    bodies: (theirs) => inWorkspace({ app: `${theirs.marker}-app`, ...RESOURCES })(theirs),
  },
  'GET /registry/v1/apps': { queries: ofWorkspace() },
  'GET /registry/v1/apps/{app}': NOTHING,
  'PATCH /registry/v1/apps/{app}': { bodies: () => [RESOURCES] },
  'POST /registry/v1/apps/{app}/archive': NOTHING,
  'POST /registry/v1/apps/{app}/restore': NOTHING,
  'DELETE /registry/v1/apps/{app}': NOTHING,
  'POST /registry/v1/apps/{app}/plan': NOTHING,
  'POST /registry/v1/apps/{app}/reconcile': NOTHING,
  'POST /registry/v1/apis': { bodies: inWorkspace({ name: 'x', base_url: 'https://x.example.com' }) },
  'GET /registry/v1/apis': {
    queries: (theirs) => [...ofWorkspace('app')(theirs), `name=${theirs.marker} api`],
  },
  'GET /registry/v1/apis/{api_id}': NOTHING,
  'PATCH /registry/v1/apis/{api_id}': { bodies: () => [{ base_url: 'https://x.example.com' }] },
  'POST /registry/v1/apis/{api_id}/archive': NOTHING,
  'POST /registry/v1/apis/{api_id}/restore': NOTHING,
  'DELETE /registry/v1/apis/{api_id}': NOTHING,
  'DELETE /registry/v1/apis/{api_id}/versions/{version_ordinal}': NOTHING,
  'GET /registry/v1/apis/{api_id}/versions': NOTHING,
  'GET /registry/v1/apis/{api_id}/versions/{version_ordinal}': NOTHING,
  ...Object.fromEntries(
    ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].map((method) => [
      `${method} /api/v1/apis/{api_id}/{path}`,
      NOTHING,
    ]),
  ),
  'POST /registry/v1/search': {
    bodies: (theirs) =>
      ['keyword', 'vector', 'hybrid'].flatMap((mode) => [
        { mode, query: theirs.marker },
        { mode, query: `${theirs.marker} agent` },
        { mode, query: 'agent', workspace_id: theirs.workspace_id },
      ]),
  },
};
