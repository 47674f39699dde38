import { type Answer, type ApiClient, sharedApp } from '#testing';
import { type DocumentedOperation, documentedOperations, Resources } from './resources.fixture';

/** Operations that viewers may call, although their method is not GET. */
const OF_VIEWERS = /\/(search|query|gate|exists)$|^\/registry\/v1\/tokens|^\/mcp$/;

const OPERATIONS = documentedOperations();
/** Operations on one resource that need no body. */
const ON_ONE = OPERATIONS.filter(
  ({ method, path, body }) =>
    path.includes('{') && !path.startsWith('/api/') && (method === 'PATCH' || !body),
);
const WRITES = OPERATIONS.filter(
  ({ method, path }) => !['GET', 'HEAD', 'OPTIONS'].includes(method) && !OF_VIEWERS.test(path),
);

const SERVER_JSON = {
  name: 'example.mcp/refused',
  description: 'd',
  version: '1.0.0',
  remotes: [{ type: 'streamable-http', url: 'https://mcp.example' }],
};

const named = (operations: readonly DocumentedOperation[]) => operations.map((one) => [one.id, one] as const);

/** The required parameters of operations. */
const REQUIRED: Record<string, string> = {
  getScorerAgreement: '?reference_scorer_id=unknown',
  listExperimentTrials: '?scorer=unknown',
};

describe('every operation of openapi.json', () => {
  const app = sharedApp();
  let resources: Resources;

  beforeAll(async () => {
    resources = await Resources.in(app);
  });

  const codeOf = ({ status, body }: Answer) => [status, (body as { code?: string } | null)?.code];

  it.each(named(ON_ONE))('returns 404 for an unknown id: %s', async (_, operation) => {
    const path = resources.pathOf({ path: operation.path.replace(/\{\w+\}/, 'unknown') }, '1');
    const query = REQUIRED[operation.id] ?? '';
    const body = operation.method === 'PATCH' ? {} : undefined;
    const answer = await resources.callerOf(operation).request(operation.method, path + query, { body });
    expect(codeOf(answer)).toEqual([404, 'not_found']);
  });

  it.each(named(WRITES))('rejects a viewer, before it reads the body: %s', async (_, operation) => {
    const viewer = await resources.viewer();
    const body = operation.method === 'DELETE' ? undefined : '{';
    const answer = await viewer.request(operation.method, resources.pathOf(operation, 'unknown'), { body });
    expect(codeOf(answer)).toEqual([403, 'access_denied']);
  });

  describe('for a viewer who owns another workspace', () => {
    let viewer: ApiClient;
    beforeAll(async () => {
      viewer = await resources.viewerHere(app);
    });

    /** Bodies that these operations accept. The others accept an empty one, or refuse the caller before they read it. */
    const bodies = (workspace_id: string): Record<string, object> => {
      const refused = { workspace_id, name: 'refused' };
      return {
        createErasure: { workspace_id, subject: { kind: 'end_user', id: 'refused' } },
        createRepo: { workspace_id, url: 'https://git.example/refused.git' },
        createApp: { workspace_id, app: 'refused', resources: [] },
        createApi: { ...refused, base_url: 'https://api.example' },
        createAgent: refused,
        createAgentSession: { prompt: 'Hello' },
        setAgentLabel: { version_ordinal: 1 },
        createMessage: { role: 'user', content: 'Hello' },
        createSkill: { ...refused, description: 'd', instructions: 'i' },
        createSkillVersion: { description: 'd', instructions: 'i' },
        setSkillLabel: { version_ordinal: 1 },
        createMcpServer: { ...refused, url: 'https://mcp.example' },
        importMcpServer: { workspace_id, server: SERVER_JSON },
        createModelProvider: { ...refused, kind: 'openai' },
        createModel: {
          ...refused,
          targets: [{ provider_id: resources.idOf('provider_id'), upstream_model: 'm' }],
        },
        createGatewayKey: refused,
        setModelBudget: { monthly_budget_usd: 1 },
        setMember: { roles: ['viewer'] },
        createPublisherItem: {
          ...refused,
          artifact: { kind: 'skill', artifact_id: resources.idOf('skill_id') },
          category: 'skills',
          license: 'MIT',
          actions: ['install'],
        },
        setPublisherItemPolicy: { audience: { is_public: false }, is_listed: false, can_acquire: false },
        acquireStoreItem: { workspace_id },
      };
    };

    // evaluation and telemetry take the workspace from the header, and calls of models and registered APIs change nothing
    const changes = WRITES.filter(
      ({ path }) =>
        !/^\/(eval|telemetry|api)\/|^\/model\/v1\/(chat|responses|embeddings|messages)/.test(path),
    );
    it.each(named(changes))('rejects the change: %s', async (_, operation) => {
      const { workspaceId } = resources;
      const file = operation.id === 'createFile' ? `?workspace_id=${workspaceId}&name=refused` : '';
      const body = operation.body ? (bodies(workspaceId)[operation.id] ?? {}) : undefined;
      const path = resources.pathOf(operation, 'unknown') + file;
      const answer = await viewer.request(operation.method, path, { body });
      expect(codeOf(answer)).toEqual([403, 'access_denied']);
    });
  });
});
