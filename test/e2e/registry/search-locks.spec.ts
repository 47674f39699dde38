import { createTestApp, newOrganization, type TestApp, type TestOrganization } from '#testing';
import { PendingEmbeddingRepository } from '../../../src/registry/search/embeddings/pending-embedding.repository';
import { SearchBackendRepository } from '../../../src/registry/search/embeddings/search-backend.repository';
import { SearchIndex } from '../../../src/registry/search/search-index';
import { BACKENDS_LOCK } from '../../../src/registry/search/search-index.repository';

describe('documents that are written while a backend of embeddings comes', () => {
  let app: TestApp;
  let org: TestOrganization;

  beforeAll(async () => {
    app = await createTestApp();
    org = await newOrganization(app);
  });
  afterAll(() => app.close());

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
    const comes = async (): Promise<void> => {
      await app.get(SearchBackendRepository).want('openai:first', 5);
      const backends = await app.get(SearchBackendRepository).list();
      const { backend_id } = backends.find(({ identity }) => identity === 'openai:first')!;
      await new PendingEmbeddingRepository(app.database).queueAll(backend_id);
    };
    let coming: Promise<void> | undefined;
    await put('begun before', () => settled((coming = comes())));
    await coming;
    expect(await identitiesOf('begun before')).toEqual(['builtin-2:256', 'openai:first']);
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
