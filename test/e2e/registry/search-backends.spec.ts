import { Environment } from '#platform/config';
import {
  type ApiClient,
  createTestApp,
  createTestWorker,
  newOrganization,
  type TestApp,
  type TestOrganization,
  type TestWorker,
} from '#testing';
import { EmbeddingWorker } from '../../../src/registry/search/embeddings/embedding.worker';
import { RemoteEmbedder } from '../../../src/registry/search/embeddings/remote.embedder';
import { EmbeddingsServer } from './embeddings.server';
import { editorOf, names, register, search } from './search.fixture';

describe('search with an embeddings backend', () => {
  let server: EmbeddingsServer;
  let app: TestApp;
  let org: TestOrganization;
  let editor: ApiClient;
  let worker: TestWorker;

  beforeAll(async () => {
    server = await EmbeddingsServer.listen();
    app = await createTestApp({ env: server.env() });
    org = await newOrganization(app);
    editor = await editorOf(org);
  });
  afterAll(async () => {
    await worker?.close();
    await app.close();
    await server.close();
  });
  beforeEach(() => {
    server.reply = () => 'answers';
  });

  /** Lets the worker embed due documents until a condition is met. */
  const until = async (isSo: () => Promise<boolean>, by = worker): Promise<void> => {
    for (let turn = 0; turn < 200; turn++) {
      await by.get(EmbeddingWorker).fill();
      if (await isSo()) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error('It is not so, and does not come to be.');
  };
  const isEmbedded = async (id: string): Promise<boolean> => {
    const rows = await app.database.query(
      'SELECT 1 FROM search_embeddings WHERE resource_id = $1 AND is_pending',
      [id],
    );
    return rows.length === 0;
  };
  const nothingIsDue = async (): Promise<boolean> =>
    (await app.database.query('SELECT 1 FROM search_embeddings WHERE is_pending AND attempts = 0')).length ===
    0;

  it('re-embeds documents of another embedder, and meanwhile finds them by keywords', async () => {
    const workspace_id = await org.newWorkspace();
    const builtin = await createTestApp({ databaseUrl: app.databaseUrl, issuer: app.issuer });
    try {
      const by = builtin.api(await org.token('editor'));
      for (let n = 0; n < 40; n++) await register(by, workspace_id, { name: `climate ${n}` });
      await register(by, workspace_id, { name: 'my car' });
      await register(by, workspace_id, { name: 'poisoned weather' });
      expect((await names(by, { mode: 'vector', query: 'my car', workspace_id }))[0]).toBe('my car');
    } finally {
      await builtin.close();
    }
    expect((await names(editor, { query: 'my car', workspace_id }))[0]).toBe('my car');
    expect(await names(editor, { mode: 'vector', query: 'automobile', workspace_id })).toEqual([]);

    // The backend rejects one of the texts, and the others are still embedded.
    server.reply = ({ json }) =>
      json.input.some((text) => text.includes('poison')) ? { status: 400 } : 'answers';
    worker = await createTestWorker(app);
    await worker.stopPeriodicTasks();
    await until(nothingIsDue);
    await app.database.query('UPDATE search_embeddings SET due_at = now() WHERE is_pending');
    await until(
      async () => (await names(editor, { mode: 'vector', query: 'car', workspace_id })).length >= 41,
    );
    const { body } = await search(editor, { mode: 'vector', query: 'automobile', workspace_id });
    expect(body.items[0]!.name).toBe('my car');
    expect(body.items.map(({ name }) => name)).not.toContain('poisoned weather');
    expect(await names(editor, { mode: 'keyword', query: 'poisoned', workspace_id })).toEqual([
      'poisoned weather',
    ]);
    const request = server.requests.find(({ json }) => json.input.includes('my car'));
    expect([request!.path, request!.authorization, request!.json.model]).toEqual([
      '/v1/embeddings',
      'Bearer sk-of-embeddings',
      'meaning-1',
    ]);
  });

  it('finds new resources by keywords at once, and by vectors once embedded', async () => {
    const workspace_id = await org.newWorkspace();
    const id = await register(editor, workspace_id, { name: 'invoice' });
    expect(await names(editor, { query: 'invoice', workspace_id })).toEqual(['invoice']);
    await until(() => isEmbedded(id));
    expect(await names(editor, { mode: 'vector', query: 'money', workspace_id })).toEqual(['invoice']);
    const { body } = await search(editor, { query: 'invoice', workspace_id });
    expect(body.items[0]!.ranks).toEqual({ keyword: 1, vector: 1 });
    expect(body.vector_unavailable).toBe(false);
  });

  it('discards embeddings of outdated texts', async () => {
    const workspace_id = await org.newWorkspace();
    let change: (() => Promise<unknown>) | undefined;
    server.reply = async ({ json }): Promise<'answers'> => {
      const isIts = json.input.some((text) => text.startsWith('weather of old'));
      if (isIts) await change?.();
      return 'answers';
    };
    const id = await register(editor, workspace_id, { name: 'weather of old' });
    change = () => {
      change = undefined;
      return editor.patch(`/registry/v1/repos/${id}`, { name: 'car of old' });
    };
    await until(() => isEmbedded(id));
    const nearest = async (query: string) =>
      (await search(editor, { mode: 'vector', query, workspace_id })).body.items[0]!.score;
    expect(await nearest('car')).toBeGreaterThan(0.9);
    expect(await nearest('weather')).toBeLessThan(0.1);
  });

  it('accepts only vectors of its length', async () => {
    const { status } = await search(editor, { mode: 'vector', vector: [1, 0, 0, 0, 0] });
    expect(status).toBe(200);
    expect((await search(editor, { mode: 'vector', vector: Array(256).fill(1) })).status).toBe(400);
  });

  const FAILURES = [
    ['is down', () => ({ status: 500 }), 'returned status 500'],
    ['returns 429', () => ({ status: 429, headers: { 'retry-after': '1' } }), 'returned status 429'],
    ['does not respond', () => 'hangs', 'did not respond within 0.5 s'],
    ['sends an endless response', () => 'floods', 'returned more than 330000 bytes'],
    ['returns invalid JSON', () => ({ status: 200, body: '<html>' }), 'did not return JSON'],
    [
      'returns too few vectors',
      () => ({ status: 200, body: '{"data": []}' }),
      'did not return the 1 requested vectors',
    ],
    [
      'returns vectors without numbers',
      () => ({ status: 200, body: '{"data": [{"embedding": [null]}]}' }),
      'invalid vectors',
    ],
    [
      'returns vectors of another length',
      () => ({ status: 200, body: '{"data": [{"embedding": [1, 2]}]}' }),
      'a different length',
    ],
    ['redirects', () => ({ status: 302, headers: { location: 'http://127.0.0.1/' } }), 'returned status 302'],
  ] as const;

  it.each(FAILURES)(
    'falls back to keyword search if the backend %s, and returns 503 for vector search',
    async (_, reply, reported) => {
      const environment = app.get(Environment);
      const { EMBEDDINGS_TIMEOUT_MS } = environment;
      if (reported.startsWith('did not respond')) environment.EMBEDDINGS_TIMEOUT_MS = 500;
      Object.assign(app.get(RemoteEmbedder), { pausedUntil: 0 }); // the failure before
      const workspace_id = await org.newWorkspace();
      await register(editor, workspace_id, { name: 'bill of lading' });
      server.reply = reply as EmbeddingsServer['reply'];
      const alone = await search(editor, { mode: 'vector', query: `lading ${reported}`, workspace_id });
      environment.EMBEDDINGS_TIMEOUT_MS = EMBEDDINGS_TIMEOUT_MS;
      expect([alone.status, (alone.body as any).code]).toEqual([503, 'service_unavailable']);
      expect((alone.body as any).detail).toContain(reported);
      // at least 5 seconds, and not before the end of the pause
      const pauseMs = app.get(RemoteEmbedder).pauseMs;
      expect(Number(alone.headers.get('retry-after'))).toBeGreaterThanOrEqual(Math.max(5, pauseMs / 1000));
      expect((alone.body as any).detail).toContain('Use the mode `hybrid` or `keyword`');
      const both = await search(editor, { query: 'lading', workspace_id });
      expect([both.status, both.body.vector_unavailable]).toEqual([200, true]);
      expect(both.body.items.map(({ name, ranks }) => [name, ranks])).toEqual([
        ['bill of lading', { keyword: 1, vector: null }],
      ]);
    },
  );

  it('goes back to the built-in embedder when a worker starts without a backend', async () => {
    const workspace_id = await org.newWorkspace();
    await register(editor, workspace_id, { name: 'my car' });
    const env = { EMBEDDINGS_BASE_URL: '', EMBEDDINGS_MODEL: '', EMBEDDINGS_API_KEY: '' };
    const next = await createTestWorker(app, env);
    await next.stopPeriodicTasks();
    const builtin = await createTestApp({ databaseUrl: app.databaseUrl, issuer: app.issuer });
    try {
      const isFilled = async () =>
        (await app.database.query('SELECT 1 FROM search_embeddings WHERE is_pending')).length === 0;
      // also texts whose embedding failed before
      await app.database.query('UPDATE search_embeddings SET due_at = now() WHERE is_pending');
      await until(isFilled, next);
      // The worker that started earlier does nothing.
      await worker.get(EmbeddingWorker).upkeep();
      await worker.get(EmbeddingWorker).fill();
      expect(await isFilled()).toBe(true);
      const by = builtin.api(await org.token('viewer'));
      expect(await names(by, { mode: 'vector', query: 'my cars', workspace_id })).toEqual(['my car']);
    } finally {
      await builtin.close();
      await next.close();
    }
  });
});
