import type { Ids } from './population';

/** How an operation is tried on what is another tenant's. */
export interface Row {
  /**
   * What it is sent, in turn: each refers to theirs in another way. Where a path names them, or the workspace, a body need
   * only be valid.
   */
  bodies?: (theirs: Ids, own: Ids) => unknown[];
  /** Queries that name them. */
  queries?: (theirs: Ids) => string[];
  /** Media type of the bodies; JSON unless given. */
  type?: string;
  /**
   * Whose it is: something of a workspace (the default), something of all of the organization, which people of its other
   * workspaces may see, or nobody's, such as the caller's own and what is public.
   */
  level?: 'workspace' | 'organization' | 'platform' | 'own';
}

const inWorkspace =
  (body: object = {}) =>
  (theirs: Ids) => [{ workspace_id: theirs.workspace_id, ...body }];

const filteredBy =
  (...members: string[]) =>
  (theirs: Ids) => [
    '',
    'limit=0',
    ...members.map((member) => `${member}=${encodeURIComponent(theirs[member] ?? '')}`),
  ];

const words = (theirs: Ids): string[] => ['', 'limit=0', 'include_archived=true', `q=${theirs.marker}`];
const ofWorkspace =
  (...members: string[]) =>
  (theirs: Ids) => [...words(theirs), ...filteredBy('workspace_id', ...members)(theirs)];

const NOTHING: Row = {};
const OWN: Row = { level: 'own' };
const ORGANIZATION: Row = { level: 'organization' };
const RESOURCES = { resources: [] };

/** Every operation. One that has no row here fails the test. */
export const ROWS: Readonly<Record<string, Row>> = {
  'GET /health/live': OWN,
  'GET /health/ready': OWN,
  'GET /.well-known/jwks.json': OWN,
  'GET /registry/v1/me': OWN,
  'GET /registry/v1/org': OWN,
  'PATCH /registry/v1/org': { level: 'own', bodies: () => [{}] },
  'POST /registry/v1/orgs': { level: 'platform', bodies: () => [{}] },
  'GET /registry/v1/orgs': { level: 'platform' },
  'GET /registry/v1/orgs/{org_id}': { level: 'platform' },
  'PATCH /registry/v1/orgs/{org_id}': { level: 'platform', bodies: () => [{ status: 'suspended' }] },
  'POST /registry/v1/users': { level: 'own', bodies: () => [{}] },
  'GET /registry/v1/users': { level: 'organization', queries: words },
  'GET /registry/v1/users/{user_id}': ORGANIZATION,
  'PATCH /registry/v1/users/{user_id}': { level: 'organization', bodies: () => [{ status: 'suspended' }] },
  'POST /registry/v1/workspaces': { level: 'own', bodies: () => [{}] },
  'GET /registry/v1/workspaces': { queries: words },
  'GET /registry/v1/workspaces/{workspace_id}': NOTHING,
  'PATCH /registry/v1/workspaces/{workspace_id}': { bodies: () => [{ name: 'taken over' }] },
  'POST /registry/v1/workspaces/{workspace_id}/archive': NOTHING,
  'GET /registry/v1/workspaces/{workspace_id}/members': NOTHING,
  'GET /registry/v1/workspaces/{workspace_id}/members/{principal_id}': NOTHING,
  'PUT /registry/v1/workspaces/{workspace_id}/members/{principal_id}': {
    level: 'organization',
    bodies: () => [{ roles: ['viewer'] }],
  },
  'DELETE /registry/v1/workspaces/{workspace_id}/members/{principal_id}': NOTHING,
  // who manages accounts is told apart what there is not, and what they cannot grant
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
  'POST /registry/v1/service-accounts/{service_account_id}/keys': {
    level: 'organization',
    bodies: () => [{ name: 'x' }],
  },
  'GET /registry/v1/service-accounts/{service_account_id}/keys': ORGANIZATION,
  'GET /registry/v1/service-accounts/{service_account_id}/keys/{key_id}': ORGANIZATION,
  'POST /registry/v1/service-accounts/{service_account_id}/keys/{key_id}/revoke': ORGANIZATION,
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
  'GET /registry/v1/audit-log': {
    queries: (theirs) => [
      ...filteredBy('workspace_id', 'principal_id')(theirs),
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
  'POST /registry/v1/apps/{app}/reconcile': NOTHING,
  'POST /registry/v1/search': {
    bodies: (theirs) =>
      ['keyword', 'vector', 'hybrid'].flatMap((mode) => [
        { mode, query: theirs.marker },
        { mode, query: `${theirs.marker} agent` },
        { mode, query: 'agent', workspace_id: theirs.workspace_id },
      ]),
  },

  'POST /skill/v1/skills': {
    bodies: inWorkspace({ name: 'x', description: 'x', instructions: 'x' }),
  },
  'GET /skill/v1/skills': { queries: ofWorkspace() },
  'GET /skill/v1/skills/{skill_id}': NOTHING,
  'PATCH /skill/v1/skills/{skill_id}': { bodies: () => [{ description: 'taken over' }] },
  'POST /skill/v1/skills/{skill_id}/archive': NOTHING,
  'POST /skill/v1/skills/{skill_id}/versions': {
    bodies: () => [{ description: 'x', instructions: 'taken over' }],
  },
  'GET /skill/v1/skills/{skill_id}/versions': NOTHING,
  'GET /skill/v1/skills/{skill_id}/versions/{version_ordinal}': NOTHING,
  'GET /skill/v1/skills/{skill_id}/versions/{version_ordinal}/content': NOTHING,

  'POST /mcp/v1/servers': { bodies: inWorkspace({ name: 'x', url: 'https://x.example.com' }) },
  'GET /mcp/v1/servers': { queries: ofWorkspace() },
  'GET /mcp/v1/servers/{server_id}': NOTHING,
  'PATCH /mcp/v1/servers/{server_id}': { bodies: () => [{ url: 'https://x.example.com' }] },
  'POST /mcp/v1/servers/{server_id}/archive': NOTHING,
  'GET /mcp/v1/servers/{server_id}/versions': NOTHING,
  'GET /mcp/v1/servers/{server_id}/versions/{version_ordinal}': NOTHING,
  'GET /mcp/v1/servers/{server_id}/tools': NOTHING,
  'GET /mcp/v1/servers/{server_id}/tools/{tool_id}': NOTHING,

  'POST /agent/v1/agents': {
    bodies: (theirs, own) => [
      { workspace_id: theirs.workspace_id, name: 'x' },
      { workspace_id: own.workspace_id, name: 'x', skills: [{ skill_id: theirs.skill_id }] },
      {
        workspace_id: own.workspace_id,
        name: 'x',
        tools: [{ server_id: theirs.server_id, tool_name: `${theirs.marker}_tool` }],
      },
    ],
  },
  'GET /agent/v1/agents': {
    queries: (theirs) => [...ofWorkspace('app')(theirs), `name=${theirs.marker} agent`],
  },
  'GET /agent/v1/agents/{agent_id}': NOTHING,
  'PATCH /agent/v1/agents/{agent_id}': { bodies: () => [{ instructions: 'taken over' }] },
  'POST /agent/v1/agents/{agent_id}/archive': NOTHING,
  'GET /agent/v1/agents/{agent_id}/versions': NOTHING,
  'GET /agent/v1/agents/{agent_id}/versions/{version_ordinal}': NOTHING,
  'POST /agent/v1/agents/{agent_id}/sessions': { bodies: () => [{ prompt: 'x' }] },
  'GET /agent/v1/sessions': { queries: filteredBy('workspace_id', 'agent_id') },
  'GET /agent/v1/sessions/{session_id}': NOTHING,
  'PATCH /agent/v1/sessions/{session_id}': { bodies: () => [{ title: 'taken over' }] },
  'POST /agent/v1/sessions/{session_id}/archive': NOTHING,
  'GET /agent/v1/sessions/{session_id}/traces': NOTHING,
  'POST /agent/v1/sessions/{session_id}/messages': { bodies: () => [{ role: 'user', content: 'x' }] },
  'GET /agent/v1/sessions/{session_id}/messages': NOTHING,
  'GET /agent/v1/sessions/{session_id}/messages/{message_id}': NOTHING,

  'POST /telemetry/v1/traces': { level: 'own', bodies: () => [{ resourceSpans: [] }] },
  'GET /telemetry/v1/traces': {
    queries: (theirs) => [...filteredBy('session_id')(theirs), `model=${theirs.marker}-model`],
  },
  'GET /telemetry/v1/traces/{trace_id}': NOTHING,
  'GET /telemetry/v1/traces/{trace_id}/spans': NOTHING,
  'GET /telemetry/v1/traces/{trace_id}/spans/export': NOTHING,
  'GET /telemetry/v1/sessions': { queries: filteredBy() },
  'GET /telemetry/v1/sessions/{session_id}': NOTHING,
  'GET /telemetry/v1/sessions/{session_id}/traces': NOTHING,
  'POST /telemetry/v1/logs': { level: 'own', bodies: () => [{ resourceLogs: [] }] },
  'GET /telemetry/v1/logs': { queries: filteredBy() },
  'POST /telemetry/v1/metrics': { level: 'own', bodies: () => [{ resourceMetrics: [] }] },
  'GET /telemetry/v1/metrics': { queries: filteredBy() },

  'POST /eval/v1/datasets': { bodies: inWorkspace({ name: 'x' }) },
  'GET /eval/v1/datasets': { queries: words },
  'POST /eval/v1/datasets/search': {
    bodies: (theirs) => [{ q: theirs.marker }, { workspace_id: theirs.workspace_id }],
  },
  'GET /eval/v1/datasets/{dataset_id}': NOTHING,
  'PATCH /eval/v1/datasets/{dataset_id}': { bodies: () => [{ name: 'taken over' }] },
  'POST /eval/v1/datasets/{dataset_id}/archive': NOTHING,
  'POST /eval/v1/datasets/{dataset_id}/versions': { type: 'text/csv', bodies: () => ['question\nx\n'] },
  'GET /eval/v1/datasets/{dataset_id}/versions': NOTHING,
  'GET /eval/v1/datasets/{dataset_id}/versions/{version}': NOTHING,
  'GET /eval/v1/datasets/{dataset_id}/versions/{version}/content': NOTHING,
  'GET /eval/v1/datasets/{dataset_id}/versions/{version}/rows': NOTHING,
  'GET /eval/v1/datasets/{dataset_id}/records/export': NOTHING,
  'POST /eval/v1/datasets/{dataset_id}/records/import': {
    type: 'application/jsonl',
    bodies: () => ['{"input": 1}\n'],
  },
  'POST /eval/v1/datasets/{dataset_id}/records': {
    bodies: (_, own) => [{ workspace_id: own.workspace_id, input: 1 }],
  },
  'GET /eval/v1/datasets/{dataset_id}/records': { queries: words },
  'POST /eval/v1/datasets/{dataset_id}/records/bulk': {
    bodies: (_, own) => [{ workspace_id: own.workspace_id, items: [{ input: 1 }] }],
  },
  'GET /eval/v1/datasets/{dataset_id}/records/{dataset_record_id}': NOTHING,
  'PATCH /eval/v1/datasets/{dataset_id}/records/{dataset_record_id}': { bodies: () => [{ label: 'x' }] },
  'POST /eval/v1/datasets/{dataset_id}/records/{dataset_record_id}/archive': NOTHING,
  'GET /eval/v1/datasets/{dataset_id}/records/{dataset_record_id}/versions': NOTHING,
  'GET /eval/v1/datasets/{dataset_id}/records/{dataset_record_id}/versions/{version}': NOTHING,

  'POST /eval/v1/experiments': {
    bodies: (theirs, own) => [
      { workspace_id: theirs.workspace_id, name: 'x' },
      { workspace_id: own.workspace_id, name: 'x', dataset_id: theirs.dataset_id },
      { workspace_id: own.workspace_id, name: 'x', baseline_experiment_id: theirs.experiment_id },
    ],
  },
  'GET /eval/v1/experiments': {
    queries: (theirs) => [
      ...words(theirs),
      ...filteredBy('dataset_id')(theirs),
      `config=marker:${theirs.marker}`,
    ],
  },
  'POST /eval/v1/experiments/search': {
    bodies: (theirs) => [{ q: theirs.marker }, { score: { scorer: theirs.marker, gte: 0 } }],
  },
  'GET /eval/v1/experiments/{experiment_id}': NOTHING,
  'PATCH /eval/v1/experiments/{experiment_id}': { bodies: () => [{ experiment_status: 'failed' }] },
  'POST /eval/v1/experiments/{experiment_id}/archive': NOTHING,
  'GET /eval/v1/experiments/{experiment_id}/compare': {
    queries: (theirs) => [`baseline_experiment_id=${theirs.experiment_id}`],
  },
  'POST /eval/v1/experiments/{experiment_id}/gate': {
    bodies: (theirs) => [
      { rules: [{ scorer: 's', min_mean: 0 }], baseline_experiment_id: theirs.experiment_id },
    ],
  },
  'POST /eval/v1/experiments/{experiment_id}/results': {
    bodies: (_, own) => [{ workspace_id: own.workspace_id, case_id: 'x' }],
  },
  'GET /eval/v1/experiments/{experiment_id}/results': NOTHING,
  'POST /eval/v1/experiments/{experiment_id}/results/bulk': {
    bodies: (_, own) => [{ workspace_id: own.workspace_id, items: [{ case_id: 'x' }] }],
  },
  'GET /eval/v1/experiments/{experiment_id}/results/{result_id}': NOTHING,
  'GET /eval/v1/experiments/{experiment_id}/traces': NOTHING,
  'GET /eval/v1/experiments/{experiment_id}/traces/{trace_id}': NOTHING,
  'GET /eval/v1/experiments/{experiment_id}/traces/{trace_id}/spans': NOTHING,
  'POST /eval/v1/experiments/{experiment_id}/traces/stats/query': { bodies: () => [{}] },

  'POST /eval/v1/scorers': {
    bodies: inWorkspace({ name: 'x', scorer_kind: 'code', definition: { checks: [{ type: 'equals' }] } }),
  },
  'GET /eval/v1/scorers': { queries: words },
  'GET /eval/v1/scorers/{scorer_id}': NOTHING,
  'PATCH /eval/v1/scorers/{scorer_id}': { bodies: () => [{ name: 'taken over' }] },
  'POST /eval/v1/scorers/{scorer_id}/archive': NOTHING,
  'GET /eval/v1/scorers/{scorer_id}/versions': NOTHING,
  'GET /eval/v1/scorers/{scorer_id}/versions/{version}': NOTHING,
  'GET /eval/v1/scorers/{scorer_id}/agreement': {
    queries: (theirs) => [`reference_scorer_id=${theirs.scorer_id}`],
  },
  'GET /eval/v1/scorer-starters': OWN,
  'POST /eval/v1/scorers/{scorer_id}/score': {
    bodies: (theirs) =>
      (['trace_id', 'session_id', 'agent_id'] as const)
        .map((one): object => ({ mode: 'test', [`${one}s`]: [theirs[one]] }))
        .concat({ mode: 'test', experiment_id: theirs.experiment_id }),
  },
  'GET /eval/v1/score-runs': { queries: filteredBy('scorer_id', 'experiment_id') },
  'GET /eval/v1/score-runs/{score_run_id}': NOTHING,
  'GET /eval/v1/score-runs/{score_run_id}/results': NOTHING,
  'POST /eval/v1/score-runs/{score_run_id}/cancel': NOTHING,
  'POST /eval/v1/scorers/{scorer_id}/rules': {
    bodies: (_, own) => [{ workspace_id: own.workspace_id, sample_rate: 0.5 }],
  },
  'GET /eval/v1/scorers/{scorer_id}/rules': NOTHING,
  'GET /eval/v1/scorers/{scorer_id}/rules/{rule_id}': NOTHING,
  'PATCH /eval/v1/scorers/{scorer_id}/rules/{rule_id}': { bodies: () => [{ enabled: true }] },
  'POST /eval/v1/scorers/{scorer_id}/rules/{rule_id}/archive': NOTHING,
  'POST /eval/v1/scores': {
    bodies: (theirs, own) => [
      {
        workspace_id: own.workspace_id,
        scorer_id: theirs.scorer_id,
        result_id: theirs.result_id,
        value: true,
      },
      {
        workspace_id: own.workspace_id,
        scorer_id: own.human_scorer_id,
        result_id: theirs.result_id,
        value: true,
      },
      {
        workspace_id: own.workspace_id,
        scorer_id: own.human_scorer_id,
        trace_id: theirs.trace_id,
        value: true,
      },
      {
        workspace_id: own.workspace_id,
        scorer_id: own.human_scorer_id,
        session_id: theirs.session_id,
        value: true,
      },
    ],
  },
  'GET /eval/v1/scores': {
    queries: filteredBy('scorer_id', 'trace_id', 'session_id', 'result_id', 'experiment_id'),
  },
  'GET /eval/v1/scores/{score_id}': NOTHING,
};
