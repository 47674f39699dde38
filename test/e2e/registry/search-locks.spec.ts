import {
  createTestApp,
  createTestWorker,
  newOrganization,
  type TestApp,
  type TestOrganization,
} from '#testing';
import { EmbeddingSweeper } from '../../../src/registry/search/embeddings/embedding.sweeper';
import { PendingEmbeddingRepository } from '../../../src/registry/search/embeddings/pending-embedding.repository';
import { SearchBackendRepository } from '../../../src/registry/search/embeddings/search-backend.repository';
import { SearchIndex } from '../../../src/registry/search/search-index';
import { BACKENDS_LOCK } from '../../../src/registry/search/search-index.repository';
import { EmbeddingsServer } from './embeddings.server';

describe('documents that are written while a backend of embeddings comes', () => {
  let app: TestApp;
  let org: TestOrganization;
  let server: EmbeddingsServer;

  beforeAll(async () => {
    server = await EmbeddingsServer.listen();
    app = await createTestApp();
    org = await newOrganization(app);
  });
  afterAll(async () => {
    await app.close();
    await server.close();
  });

  const put = (id: string, then?: () => Promise<void>): Promise<void> =>
    app.database.transaction(async (tx) => {
      const { workspaceId } = org;
      const document = { type: 'repo' as const, id, workspaceId, name: 'a document', description: null };
      await app.get(SearchIndex).put(tx, org.scope, document);
      await then?.();
    });
  /** Until the work is done, or waits for a lock. */
  const settled = async (work: Promise<unknown>): Promise<void> => {
    let isDone = false;
    void work.finally(() => (isDone = true));
    for (let isWaiting = false; !isDone && !isWaiting;) {
      const rows = await app.database.query(
        `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      );
      isWaiting = rows.length > 0;
    }
  };
  const identitiesOf = async (id: string): Promise<string[]> =>
    (
      await app.database.query<{ identity: string }>(
        `SELECT identity FROM search_embeddings JOIN search_backends USING (backend_id)
         WHERE resource_id = $1 ORDER BY backend_id`,
        [id],
      )
    ).map(({ identity }) => identity);

  it('are queued for it where they were begun before', async () => {
    const env = { ...server.env(), EMBEDDINGS_MODEL: 'first' };
    const worker = await createTestWorker(app, env);
    try {
      const sweep = () => worker.get(EmbeddingSweeper).sweep();
      const queuedTo = async (): Promise<unknown> => {
        const rows = await app.database.query<{ queued_to: string }>(
          `SELECT queued_to::text FROM search_backends WHERE identity LIKE '%:first:'`,
        );
        return rows.map(({ queued_to }) => queued_to);
      };
      await put('begun before', async () => {
        await sweep();
        await sweep();
        expect(await queuedTo()).toEqual(['0']);
        // the writer holds up nobody
        await put('begun meanwhile');
      });
      await sweep();
      expect(await queuedTo()).toEqual(['9223372036854775807']);
      for (const id of ['begun before', 'begun meanwhile']) {
        expect([id, (await identitiesOf(id)).map((one) => one.split(':')[0])]).toEqual([
          id,
          ['builtin-2', 'openai'],
        ]);
      }
    } finally {
      await worker.close();
    }
  });

  it('hold up no change of backends, and are held up by none', async () => {
    const backends = app.get(SearchBackendRepository);
    const idOf = async (of: string): Promise<number> =>
      (await backends.list()).find(({ identity }) => identity === of)!.backend_id;
    const before = await idOf('builtin-2:256');
    await put('a long one', async () => {
      await backends.want('openai:third', 5);
      await backends.activate(await idOf('openai:third'));
      await put('another');
      await backends.activate(before);
      await backends.want('openai:fourth', 5);
      // some document may have an embedding of it: it stays for now
      await backends.drop(await idOf('openai:third'));
      await put('one more');
      expect(await idOf('openai:third')).toBeGreaterThan(0);
    });
    await backends.drop(await idOf('openai:third'));
    expect((await backends.list()).map(({ identity }) => identity)).not.toContain('openai:third');
  });

  it('are queued again for a backend that was about to be taken away', async () => {
    const backends = app.get(SearchBackendRepository);
    const queuedTo = async (): Promise<string> => {
      const [row] = await app.database.query<{ queued_to: string }>(
        `SELECT queued_to::text FROM search_backends WHERE identity = 'openai:fifth'`,
      );
      return row!.queued_to;
    };
    await backends.want('openai:fifth', 5);
    const { backend_id } = (await backends.list()).find(({ identity }) => identity === 'openai:fifth')!;
    await new PendingEmbeddingRepository(app.database).queueAll(backend_id);
    expect(await queuedTo()).toBe('9223372036854775807');
    await backends.want('openai:fifth', 5);
    expect(await queuedTo()).toBe('9223372036854775807');
    await backends.want('openai:sixth', 5);
    await new PendingEmbeddingRepository(app.database).deleteMost(backend_id);
    await backends.want('openai:fifth', 5);
    expect(await queuedTo()).toBe('0');
  });

  it('are pending for it where they were begun after', async () => {
    let writing: Promise<void> | undefined;
    await app.database.transaction(async (tx) => {
      await tx.query(`SELECT pg_advisory_xact_lock(${BACKENDS_LOCK})`);
      await tx.query(
        `INSERT INTO search_backends (identity, dimensions, is_active, wanted_at) VALUES ('openai:second', 5, false, now())`,
      );
      await settled((writing = put('begun after')));
    });
    await writing;
    expect(await identitiesOf('begun after')).toContain('openai:second');
  });
});
