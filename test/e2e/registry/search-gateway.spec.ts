import { createTestApp, createTestWorker, newOrganization, type TestApp, type TestWorker } from '#testing';
import { EmbeddingWorker } from '../../../src/registry/search/embeddings/embedding.worker';
import { newModel, newProvider } from '../model-gateway/provider.fixture';
import { EmbeddingsServer } from './embeddings.server';
import { names, register } from './search.fixture';

describe('search with embeddings from a gateway model', () => {
  let server: EmbeddingsServer;
  let prepared: TestApp;
  let app: TestApp;
  let worker: TestWorker;

  afterAll(async () => {
    await worker?.close();
    await app?.close();
    await prepared.close();
    await server.close();
  });

  it('finds documents with the same meaning, and records its usage', async () => {
    server = await EmbeddingsServer.listen();
    prepared = await createTestApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });
    const org = await newOrganization(prepared);
    const admin = await org.member('admin');
    const provider_id = await newProvider(admin, org.workspaceId, server.env().EMBEDDINGS_BASE_URL!);
    const target = { provider_id, upstream_model: 'meaning-1' };
    const modelId = await newModel(admin, org.workspaceId, { name: 'embeddings', targets: [target] });

    app = await prepared.another({ EMBEDDINGS_MODEL: `gateway:${modelId}` });
    worker = await createTestWorker(app);
    await worker.stopPeriodicTasks();
    const editor = app.api(await org.token('editor'));
    await register(editor, org.workspaceId, { name: 'my car' });
    await register(editor, org.workspaceId, { name: 'poisoned weather' });
    await worker.get(EmbeddingWorker).fill();
    expect(
      (await names(editor, { mode: 'vector', query: 'automobile', workspace_id: org.workspaceId }))[0],
    ).toBe('my car');
    expect(server.requests[0]).toMatchObject({
      authorization: 'Bearer sk-of-the-provider',
      json: { model: 'meaning-1' },
    });
    const { body } = await admin.get(
      `/model/v1/usage?workspace_id=${org.workspaceId}&group_by=model,principal`,
    );
    expect(body.items).toEqual([expect.objectContaining({ model: 'embeddings', principal_id: 'search' })]);

    const wrong = await prepared.another({ EMBEDDINGS_MODEL: 'gateway:model_nope' });
    const missing = await wrong
      .api(await org.token('editor'))
      .post('/registry/v1/search', { mode: 'vector', query: 'car' });
    await wrong.close();
    expect(missing.body.detail).toContain(
      'cannot be called: There is no model model_nope, or it was archived.',
    );
  });
});
