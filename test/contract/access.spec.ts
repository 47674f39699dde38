import { type Answer, sharedApp } from '#testing';
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
});
