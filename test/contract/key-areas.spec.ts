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
  if (/\/scores$/.test(path)) return ['scores'];
  return /\/(search|query|gate)$/.test(path) ? ['read'] : [];
}

/** Operations that need a credential. */
const OPERATIONS = documentedOperations().filter(
  ({ path, statuses }) => statuses.includes('401') && path !== '/registry/v1/tokens',
);

describe('a key that is limited to an area', () => {
  const app = sharedApp();
  let resources: Resources;
  const keys = new Map<string, ApiClient>();

  beforeAll(async () => {
    resources = await Resources.in(app);
    for (const area of AREAS) keys.set(area, await resources.withKey(app, { areas: [area] }));
  });

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
    const open: string[] = [];
    for (const [area, key] of keys) {
      const { status, body } = await key.request(method, path, sent);
      const detail = String((body as { detail?: string } | undefined)?.detail);
      const isRefused = status === 403 && (method === 'HEAD' || detail.startsWith('This key does not allow'));
      if (!isRefused) open.push(area);
      // HEAD has no body
      else if (method !== 'HEAD') {
        expect([body.code, detail.endsWith(`It allows: ${area}.`)]).toEqual(['forbidden', true]);
      }
    }
    expect(open).toEqual(areasOf(operation));
  });
});
