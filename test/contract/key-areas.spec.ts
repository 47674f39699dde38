import { type ApiClient, sharedApp } from '#testing';
import { type DocumentedOperation, documentedOperations, Resources } from './resources.fixture';

const AREAS = ['read', 'telemetry', 'models', 'apis', 'tools', 'scores'];

/** Operations that every key may call: those that describe the caller, and that revoke the caller's own tokens. */
const ALWAYS = ['/registry/v1/me', '/registry/v1/tokens/revoke'];
/** What clients of models need, besides the calls: the models, and what the key has spent. */
const OF_MODELS = /^\/model\/v1\/(models(\/\{model_id\})?|keys\/current|usage)$/;

/** Returns the areas that open an operation, by the words of the documentation. */
function areasOf({ method, path }: DocumentedOperation): string[] {
  if (ALWAYS.includes(path)) return AREAS;
  if (path === '/mcp') return ['read', 'tools'];
  if (path.startsWith('/api/v1/apis/')) return ['apis'];
  if (/^\/model\/v1\/(chat|responses|embeddings|messages)\b/.test(path)) return ['models'];
  if (method === 'GET' || method === 'HEAD') return OF_MODELS.test(path) ? ['read', 'models'] : ['read'];
  if (method !== 'POST') return [];
  if (/^\/telemetry\/v1\/(traces|logs|metrics)$/.test(path)) return ['telemetry'];
  if (path === '/telemetry/v1/traces/exists') return ['read', 'telemetry'];
  if (/\/scores(\/bulk)?$/.test(path)) return ['scores'];
  return /\/(search|query|gate)$/.test(path) ? ['read'] : [];
}

/** Operations that need a credential. */
const OPERATIONS = documentedOperations().filter(
  ({ path, statuses }) => statuses.includes('401') && path !== '/registry/v1/tokens',
);

describe('a key that is limited to areas', () => {
  const app = sharedApp();
  let resources: Resources;
  const keys = new Map<string, Promise<ApiClient>>();

  beforeAll(async () => {
    resources = await Resources.in(app);
  });

  /** Returns a client with a key for these areas, the same for each request. */
  const keyOf = (areas: string[]): Promise<ApiClient> => {
    const name = areas.join(', ');
    if (!keys.has(name)) keys.set(name, resources.withKey(app, { areas }));
    return keys.get(name)!;
  };

  it('opens some operation in each area, and many in none', () => {
    expect(OPERATIONS.length).toBeGreaterThan(200);
    expect(new Set(OPERATIONS.flatMap(areasOf))).toEqual(new Set(AREAS));
    expect(OPERATIONS.filter((operation) => areasOf(operation).length === 0).length).toBeGreaterThan(80);
  });

  it.each(OPERATIONS.map((one) => [one.id, one] as const))('opens %s or not', async (_, operation) => {
    const { method } = operation;
    const path = resources.pathOf(operation, 'unknown');
    const sent = {
      ...(['POST', 'PUT', 'PATCH'].includes(method) && { body: {} }),
      // the content of files is not JSON
      ...(path.startsWith('/file/') && { headers: { 'if-none-match': '*' } }),
    };
    const open = areasOf(operation);
    const closed = AREAS.filter((area) => !open.includes(area));
    // an operation that a key for all other areas does not open is opened by none of them
    for (const areas of [...open.map((area) => [area]), ...(closed.length > 0 ? [closed] : [])]) {
      const { status, body } = await (await keyOf(areas)).request(method, path, sent);
      const detail = String((body as { detail?: string } | undefined)?.detail);
      const isRefused = status === 403 && (method === 'HEAD' || detail.startsWith('This key does not allow'));
      expect([areas, isRefused]).toEqual([areas, areas === closed]);
      // HEAD has no body
      if (isRefused && method !== 'HEAD') {
        expect([body.code, detail.split('It allows: ')[1]]).toEqual(['forbidden', `${areas.join(', ')}.`]);
      }
    }
  });
});
