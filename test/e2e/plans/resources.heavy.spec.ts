import { elsewhere, idAt, idOf, inEach, LATER, MANY, named, rarely } from './row-copies';
import { describeLists, type RowCopies, type Seeds } from './lists.harness';

const TRACE_ID = "lpad(to_hex(n), 32, '0')";
const VERSION = { version_ordinal: 'n + 1', version_id: idOf('ver') };

/** The catalogue entries of the Store items under one facet. */
const listings = ({ orgId }: Seeds, facet: string): RowCopies => ({
  table: 'store_listings',
  where: `seed.audience = '${orgId}' AND seed.facet = '' AND seed.store_item_id IN (SELECT store_item_id FROM store_items WHERE ordinal = 1)`,
  count: MANY,
  values: { facet, store_item_id: idOf('item', `((n - 1) % ${MANY} + 1)`) },
});

/** The columns of resources that apps can declare. */
const declaredIn = (seeds: Seeds): RowCopies['values'] => {
  const app = rarely("'other'", elsewhere(seeds, "'first-app'", "'sibling-app'"));
  const sync_state = rarely("'failed'", elsewhere(seeds, "'synced'", "'pending'"));
  return { app, app_id: `'app_' || ${app}`, sync_state, updated_at: LATER };
};

const copiesOf = (seeds: Seeds): RowCopies[] => [
  ...inEach(seeds, 'files', 'file_id', {
    file_id: idOf('file'), name: named(), media_type: rarely("'image/png'", elsewhere(seeds, "'text/plain'", "'text/html'")), ...declaredIn(seeds),
  }),
  ...inEach(seeds, 'file_versions', 'file_id', VERSION),
  ...inEach(seeds, 'skills', 'skill_id', { skill_id: idOf('skill'), name: named('seed.name', '-'), ...declaredIn(seeds) }),
  ...inEach(seeds, 'skill_versions', 'skill_id', VERSION),
  ...inEach(seeds, 'agents', 'agent_id', { agent_id: idOf('agent'), name: named(), ...declaredIn(seeds) }),
  ...inEach(seeds, 'agent_versions', 'agent_id', VERSION),
  ...inEach(seeds, 'agent_sessions', 'session_id', {
    session_id: idOf('ses'), session_status: rarely("'failed'", "'active'"), updated_at: LATER,
    agent_id: rarely(idOf('agent'), 'seed.agent_id'),
  }),
  ...inEach(seeds, 'session_messages', 'session_id', { ordinal: 'n + 2', message_id: idOf('msg'), role: rarely("'system'", "'user'") })
    .map((copies) => ({ ...copies, where: `${copies.where} AND seed.ordinal = 1` })),
  ...inEach(seeds, 'mcp_servers', 'server_id', {
    server_id: idOf('mcp'), name: named(), transport: rarely("'sse'", "'streamable_http'"), health_status: rarely("'healthy'", elsewhere(seeds, "'unhealthy'", "'unknown'")), declared_name: "'name ' || n", ...declaredIn(seeds),
  }),
  ...inEach(seeds, 'mcp_server_versions', 'server_id', VERSION),
  ...inEach(seeds, 'mcp_server_checks', 'server_id', { check_ordinal: 'n + 1', error: rarely('NULL', 'seed.error'), added_count: '0', updated_count: '0', archived_count: '0', unchanged_count: '0' })
    .map((copies) => ({ ...copies, where: `${copies.where} AND seed.check_ordinal = 1` })),
  ...inEach(seeds, 'mcp_tools', 'tool_id', { tool_id: idOf('tool'), name: named('seed.name', '_'), updated_at: LATER }),
  ...inEach(seeds, 'mcp_tool_versions', 'tool_id', VERSION),
  ...inEach(seeds, 'model_providers', 'provider_id', { provider_id: idOf('prov'), name: named(), kind: rarely("'anthropic'", "'openai'"), updated_at: LATER }),
  ...inEach(seeds, 'models', 'model_id', {
    model_id: idOf('model'), name: named('seed.name', '-'), strategy: rarely("'weighted'", "'single'"),
    targets: rarely(`jsonb_set(seed.targets, '{0,provider_id}', '"prov_rare"')`, 'seed.targets'), updated_at: LATER,
  }),
  ...inEach(seeds, 'service_accounts', 'service_account_id', { service_account_id: idOf('sva'), name: named() }),
  ...inEach(seeds, 'api_keys', 'key_id', { key_id: idOf('key'), hash: 'sha256(n::text::bytea)' }),
  ...inEach(seeds, 'gateway_keys', 'key_id', { service_account_id: idOf('sva'), key_id: idOf('key'), name: named(), updated_at: LATER }, '/model/key_id'),
  ...inEach(seeds, 'model_usage', 'workspace_id', {
    model_id: rarely("'model_rare'", 'seed.model_id'), principal_id: rarely("'usr_rare'", "'usr_' || n"),
    upstream_model: "'upstream ' || n",
  }),
  ...inEach(seeds, 'store_items', 'store_item_id', {
    store_item_id: idOf('item'), ordinal: 'n + 10', name: named(), category: rarely("'data'", "'skills'"),
    topics: rarely(`ARRAY['seldom']`, `ARRAY['often']`),
  }),
  ...inEach(seeds, 'traces', 'trace_id', { trace_id: TRACE_ID, trace_no: "nextval('trace_numbers')", started_at: `seed.started_at - n * interval '1 s'` }),
  listings(seeds, `''`),
  listings(seeds, `'category:' || ${rarely("'data'", "'skills'")}`),
  listings(seeds, `'topic:' || ${rarely("'seldom'", "'often'")}`),
  listings(seeds, `'name:first item ' || ${rarely("'rare'", "'common'")} || ' ' || (n - 1) % ${MANY} + 1`),
  ...inEach(seeds, 'store_releases', 'store_item_id', { release_id: idOf('rel') }),
  ...inEach(seeds, 'store_acquisitions', 'acquisition_id', { acquisition_id: idOf('acq'), store_item_id: idOf('item') }),
]; // oxfmt-ignore

describeLists(['/file/', '/skill/', '/agent/', '/mcp/', '/model/', '/store/', '/api/'], (seeds) => {
  const { ids, owner: by } = seeds;
  const workspace_id = [ids.workspace_id!];
  const declared = { workspace_id, sync_state: ['failed', 'synced'], app: ['first-app', 'other', 'app_first-app', 'app_other'] };
  const searches = { q: ['rare', 'common'] };
  /** Adds the other workspace to filters. */
  const siblingWith = (...filters: Record<string, string>[]) => filters.map((filter) => ({ workspace_id: seeds.sibling.workspace_id!, ...filter }));
  const siblingDeclared = siblingWith({ sync_state: 'synced' }, { app: 'first-app' }, { app: 'app_first-app' });
  return {
    copies: copiesOf(seeds),
    requests: {
      lists: {
        listFiles: { path: '/file/v1/files', by, filters: { ...declared, name: ['first file rare 7'], media_type: ['image/png', 'text/plain'] }, searches, narrowed: [...siblingDeclared, ...siblingWith({ media_type: 'text/plain' })] },
        listFileVersions: { path: `/file/v1/files/${ids.file_id}/versions`, by },
        listSkills: { path: '/skill/v1/skills', by, filters: { ...declared, name: ['first-skill-rare-7'] }, searches, narrowed: siblingDeclared },
        listSkillVersions: { path: `/skill/v1/skills/${ids.skill_id}/versions`, by },
        listAgents: { path: '/agent/v1/agents', by, filters: { ...declared, name: ['first agent rare 7'] }, searches, narrowed: siblingDeclared },
        listAgentVersions: { path: `/agent/v1/agents/${ids.agent_id}/versions`, by },
        listAgentSessions: {
          path: '/agent/v1/sessions', by,
          filters: {
            workspace_id, agent_id: [ids.agent_id!, idAt('agent', 7)], session_status: ['active', 'failed'],
            since: ['2020-01-01T00:00:00Z'], until: ['2100-01-01T00:00:00Z'],
          },
        },
        listMessages: { path: `/agent/v1/sessions/${ids.session_id}/messages`, by, filters: { role: ['system', 'user'] } },
        listMcpServers: {
          path: '/mcp/v1/servers', by,
          filters: { ...declared, name: ['first server rare 7'], transport: ['sse', 'streamable_http'], health: ['healthy', 'unhealthy'] },
          searches, narrowed: [...siblingDeclared, ...siblingWith({ health: 'unhealthy' })],
        },
        listMcpServerVersions: { path: `/mcp/v1/servers/${ids.server_id}/versions`, by },
        listMcpServerChecks: { path: `/mcp/v1/servers/${ids.server_id}/checks`, by, filters: { ok: ['true', 'false'] } },
        listMcpTools: { path: `/mcp/v1/servers/${ids.server_id}/tools`, by, filters: { name: ['first_tool_rare_7'] } },
        listMcpToolVersions: { path: `/mcp/v1/servers/${ids.server_id}/tools/${ids.tool_id}/versions`, by },
        listModelProviders: { path: '/model/v1/providers', by, filters: { workspace_id, name: ['first provider rare 7'], kind: ['openai', 'anthropic'] }, searches },
        listModels: {
          path: '/model/v1/models', by,
          filters: { workspace_id, name: ['first-model-rare-7'], strategy: ['single', 'weighted'] },
          searches: { ...searches, provider_id: [ids.provider_id!, 'prov_rare'] },
        },
        listGatewayKeys: { path: '/model/v1/keys', by, filters: { workspace_id, name: ['first gateway key rare 7'] } },
        listModelUsage: {
          path: '/model/v1/usage', by, isComputed: true, isShort: true, rows: 2 * MANY,
          searches: {
            workspace_id, model_id: [ids.model_id!, 'model_rare'], principal_id: ['usr_rare', 'usr_5'],
            since: ['2026-01-01T00:00:00Z'], until: ['2100-01-01T00:00:00Z'], group_by: ['day', 'principal'],
          },
        },
        listPublisherItems: { path: '/store/v1/publisher/items', by, filters: { name: ['first item rare 7'] } },
        listPublisherItemReleases: { path: `/store/v1/publisher/items/${ids.store_item_id}/releases`, by },
        listStoreItems: {
          path: '/store/v1/items', by,
          filters: { name: ['first item rare 7'], category: ['data', 'skills'], topic: ['seldom', 'often'] },
          searches,
        },
        listStoreItemReleases: { path: `/store/v1/items/${ids.store_item_id}/releases`, by },
        listAcquisitions: { path: '/store/v1/acquisitions', by, filters: { workspace_id, store_item_id: [idAt('item', 7)] } },
        listAgentSessionTraces: { path: `/agent/v1/sessions/${ids.session_id}/traces`, by, searches: { since: [], until: [], user_id: ['nobody'], environment: ['nowhere'], prompt_name: ['none'], prompt_version: ['1'], tag: ['none'] } },
      },
    },
  };
}); // oxfmt-ignore
