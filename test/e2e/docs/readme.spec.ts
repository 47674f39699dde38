import { createTestDatabase, describeGuide, Guide, StandaloneService, type TestDatabase } from '#testing';

/** The other pages take longer, see pages.heavy.spec.ts. */
describeGuide('the README', () => {
  let database: TestDatabase;
  let service: StandaloneService;

  beforeAll(async () => {
    database = await createTestDatabase();
    service = await StandaloneService.start({ databaseUrl: database.url });
  }, 60_000);
  afterAll(async () => {
    await service.stop();
    await database.drop();
  });

  it('runs as written, and prints its samples', async () => {
    const { workspace_id: workspaceId } = service.bootstrap;
    const guide = Guide.open('README.md', service, { workspaceId });
    try {
      await guide.runBlocks();
    } finally {
      guide.close();
    }
  }, 60_000);
});
