import { setTimeout as sleep } from 'node:timers/promises';
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
import { EmbeddingsServer } from './embeddings.server';
import { editorOf, names, register, search } from './search.fixture';

describe('search with a failing embeddings backend', () => {
  let server: EmbeddingsServer;
  let app: TestApp;
  let org: TestOrganization;
  let editor: ApiClient;
  let workspace_id: string;
  let worker: TestWorker;

  beforeAll(async () => {
    server = await EmbeddingsServer.listen();
    app = await createTestApp({ env: server.env({ EMBEDDINGS_DIMENSIONS: String(server.dimensions) }) });
    org = await newOrganization(app);
    editor = await editorOf(org);
    workspace_id = await org.newWorkspace();
    for (let n = 0; n < 3; n++) await register(editor, workspace_id, { name: `climate ${n}` });
    await register(editor, workspace_id, { name: 'my car' });
  });
  afterAll(async () => {
    await worker?.close();
    await app.close();
    await server.close();
  });

  const fill = () => worker.get(EmbeddingWorker).fill();
  const dueNow = () => app.database.query('UPDATE search_embeddings SET due_at = now() WHERE is_pending');
  const pending = () =>
    app.database.query<{ name: string; attempts: number }>(
      `SELECT name, attempts FROM search_embeddings JOIN search_documents USING (document_id) WHERE is_pending`,
    );

  it('embeds the rest of a batch when one text is rejected', async () => {
    server.reply = ({ json }) =>
      json.input.some((text) => text.includes('car')) ? { status: 400 } : 'answers';
    worker = await createTestWorker(app);
    // The tests start the embedding.
    await worker.stopPeriodicTasks();
    for (let n = 0; n < 40; n++) await register(editor, workspace_id, { name: `weather ${n}` });
    for (let turn = 0; turn < 3; turn++) {
      await fill();
      await dueNow();
    }
    expect(await pending()).toEqual([{ name: 'my car', attempts: expect.any(Number) }]);
    const [text, ...others] = server.requests.at(-1)!.json.input;
    expect([text!.startsWith('my car\n'), others]).toEqual([true, []]);
    const { body } = await search(editor, { mode: 'vector', query: 'climate', workspace_id, limit: 100 });
    expect(body.items).toHaveLength(43);
  });

  it('retries a failing text with back-off', async () => {
    await app.database.query('UPDATE search_embeddings SET attempts = 30 WHERE is_pending');
    server.reply = () => ({ status: 500 });
    await dueNow();
    await fill();
    const [row] = await app.database.query<{ hours: number }>(
      `SELECT round(extract(epoch FROM due_at - now()) / 3600)::integer AS hours FROM search_embeddings WHERE is_pending`,
    );
    expect(row!.hours).toBe(24);
    server.reply = () => 'answers';
    for (let turn = 0; turn < 100 && (await pending()).length > 0; turn++) {
      await dueNow();
      await fill();
      await sleep(50);
    }
    expect((await names(editor, { mode: 'vector', query: 'automobile', workspace_id }))[0]).toBe('my car');
  });

  it('embeds a popular query once, and caches it', async () => {
    let release: (() => void) | undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    server.reply = async (): Promise<'answers'> => {
      await released;
      return 'answers';
    };
    const query = { mode: 'vector', query: 'climate of the many', workspace_id };
    const answers = Promise.all(Array.from({ length: 5 }, () => search(editor, query)));
    while (server.count('climate of the many') === 0) await sleep(5);
    await sleep(100);
    release!();
    expect((await answers).map(({ status }) => status)).toEqual(Array(5).fill(200));
    expect((await search(editor, { ...query, offset: 1 })).status).toBe(200);
    expect(server.count('climate of the many')).toBe(1);
  });

  it('embeds a few queries at a time', async () => {
    const before = server.requests.length;
    let release: (() => void) | undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    server.reply = async (): Promise<'answers'> => {
      await released;
      return 'answers';
    };
    const answers = Promise.all(
      Array.from({ length: 12 }, (_, n) => search(editor, { mode: 'vector', query: `climate of ${n}` })),
    );
    while (server.requests.length < before + 8) await sleep(5);
    await sleep(200);
    expect(server.requests.length - before).toBe(8);
    release!();
    expect((await answers).map(({ status }) => status)).toEqual(Array(12).fill(200));
  });

  it('embeds a query separately for each organization', async () => {
    server.reply = () => 'answers';
    const stranger = await (await newOrganization(app)).member('viewer');
    for (const by of [editor, stranger, editor, stranger]) {
      expect((await search(by, { mode: 'vector', query: 'climate of each' })).status).toBe(200);
    }
    expect(server.count('climate of each')).toBe(2);
  });

  it('is not affected by the timeouts of impatient callers', async () => {
    let release: (() => void) | undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    server.reply = async (): Promise<'answers'> => {
      await released;
      return 'answers';
    };
    const hasty = await app.another({ REQUEST_TIMEOUT_MS: '4000' });
    const stranger = hasty.api(await (await newOrganization(app)).token('viewer'));
    const impatient = hasty.api(await org.token('viewer'));
    for (const by of [stranger, impatient])
      expect((await search(by, { mode: 'keyword', query: 'car' })).status).toBe(200);
    const flood = await Promise.all(
      Array.from({ length: 12 }, (_, n) => search(impatient, { mode: 'vector', query: `car of ${n}` })),
    );
    expect(flood.map(({ status }) => status)).toEqual(Array(12).fill(503));
    release!();
    expect((await search(stranger, { mode: 'vector', query: 'car of the stranger' })).status).toBe(200);
    await hasty.close();
    // requests that were sent complete even if their callers gave up, and the others were never sent
    expect(server.count('car of 1')).toBeGreaterThan(0);
    expect(server.requests.filter(({ json }) => /^car of \d/.test(json.input[0]!))).toHaveLength(8);
  });

  it('falls back to keyword search if the backend is slow', async () => {
    server.reply = () => 'hangs';
    const hasty = await app.another({ REQUEST_TIMEOUT_MS: '4000' });
    const impatient = hasty.api(await org.token('viewer'));
    const { status, body } = await search(impatient, { query: 'car', workspace_id });
    await hasty.close();
    expect([status, body.vector_unavailable, body.items[0]?.name]).toEqual([200, true, 'my car']);
  });

  it('honours the backend’s Retry-After', async () => {
    const other = await app.another();
    try {
      const by = other.api(await org.token('viewer'));
      server.reply = () => ({ status: 429, headers: { 'retry-after': '60' } });
      const of = async (query: string): Promise<number> =>
        (await search(by, { mode: 'vector', query, workspace_id })).status;
      expect(await of('limited one')).toBe(503);
      server.reply = () => 'answers';
      expect(await of('limited two')).toBe(503);
      expect([server.count('limited one'), server.count('limited two')]).toEqual([1, 0]);
    } finally {
      await other.close();
    }
    await register(editor, workspace_id, { name: 'money of workers' });
    server.reply = () => ({ status: 429, headers: { 'retry-after': '60' } });
    await fill();
    await dueNow();
    await fill();
    expect(server.count('money of workers')).toBe(1);
  });
});
