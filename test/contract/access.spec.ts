import { type Answer, type ApiClient, sharedApp } from '#testing';
import { type DocumentedOperation, documentedOperations, Resources } from './resources.fixture';

/** Operations that viewers may call, although their method is not GET. */
const OF_VIEWERS = /\/(search|query|gate|plan)$|^\/registry\/v1\/tokens|^\/mcp$|\/acknowledge$/;

const OPERATIONS = documentedOperations();
/** Operations on one resource that need no body. */
const ON_ONE = OPERATIONS.filter(
  ({ method, path, body }) =>
    path.includes('{') && !path.startsWith('/api/') && (method === 'PATCH' || !body),
);
const WRITES = OPERATIONS.filter(
  ({ method, path }) => !['GET', 'HEAD', 'OPTIONS'].includes(method) && !OF_VIEWERS.test(path),
);

const named = (operations: readonly DocumentedOperation[]) => operations.map((one) => [one.id, one] as const);

describe('every operation of openapi.json', () => {
  const app = sharedApp();
  let resources: Resources;

  beforeAll(async () => {
    resources = await Resources.in(app);
  });

  const codeOf = ({ status, body }: Answer) => [status, (body as { code?: string } | null)?.code];

  it.each(named(ON_ONE))('returns 404 for an unknown id: %s', async (_, operation) => {
    const path = resources.pathOf({ path: operation.path.replace(/\{\w+\}/, 'unknown') }, '1');
    const query = operation.id === 'getScorerAgreement' ? '?reference_scorer_id=unknown' : '';
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

    // evaluation and telemetry take the workspace from the header
    const changes = WRITES.filter((one) => ON_ONE.includes(one) && !/^\/(eval|telemetry)\//.test(one.path));
    it.each(named(changes))('rejects the change: %s', async (_, operation) => {
      const body = operation.method === 'PATCH' ? {} : undefined;
      const answer = await viewer.request(operation.method, resources.pathOf(operation, 'unknown'), { body });
      expect(codeOf(answer)).toEqual([403, 'access_denied']);
    });

    it('rejects creation, and the budget', async () => {
      const { workspaceId: workspace_id } = resources;
      const refused = { workspace_id, name: 'refused' };
      const answers = [
        await viewer.post('/registry/v1/repos', { workspace_id, url: 'https://git.example/refused.git' }),
        await viewer.post('/registry/v1/apis', { ...refused, base_url: 'https://api.example' }),
        await viewer.post('/agent/v1/agents', refused),
        await viewer.post('/skill/v1/skills', { ...refused, description: 'd', instructions: 'i' }),
        await viewer.post('/mcp/v1/servers', { ...refused, url: 'https://mcp.example' }),
        await viewer.post('/model/v1/providers', { ...refused, kind: 'openai' }),
        await viewer.post('/model/v1/keys', refused),
        await viewer.put(`/model/v1/budgets/${workspace_id}`, { monthly_budget_usd: 1 }),
      ];
      expect(answers.map(codeOf)).toEqual(answers.map(() => [403, 'access_denied']));
    });
  });
});
