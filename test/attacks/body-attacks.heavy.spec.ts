import { Client } from 'pg';
import { keyedSearches } from './body-attacks';
import { BODY_ATTACKS } from './catalogue';
import { itWithstands, SuiteService } from './suite.harness';

describe('an attack by bodies', () => {
  const suite = new SuiteService();
  afterAll(() => suite.close());

  itWithstands(
    suite,
    BODY_ATTACKS.filter((attack) => attack !== keyedSearches),
  );

  it(`does not affect others, and stores no responses: ${keyedSearches.title}`, async () => {
    await suite.get();
    const before = await storedKeys(suite.databaseUrl);
    await suite.expectNoHarm((service) => service.runAttack(keyedSearches, keyedSearches.sizes.test));
    expect(await storedKeys(suite.databaseUrl)).toBe(before);
  });
});

async function storedKeys(databaseUrl: string): Promise<number> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ count: number }>(
      'SELECT count(*)::int AS count FROM idempotency_keys',
    );
    return rows[0]!.count;
  } finally {
    await client.end();
  }
}
