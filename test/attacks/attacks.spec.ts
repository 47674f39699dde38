import { Client } from 'pg';
import { sized } from '#testing';
import type { Attack } from './attack';
import { keyedSearches } from './body-attacks';
import { ATTACKS } from './catalogue';
import { SuiteService } from './suite.harness';

const isHeavy = sized(0, 1) === 1;
const TIMEOUT_MS = sized(180_000, 600_000);

/** What another organization and the operator experience while one caller attacks the service. */
describe('others are answered, and memory stays within its budget, under', () => {
  const suite = new SuiteService();
  afterAll(() => suite.close());

  const withstands = async (attack: Attack): Promise<void> => {
    const sizes = isHeavy ? attack.sizes.heavy : attack.sizes.usual;
    await suite.withstands((service) => service.under(attack, sizes));
  };

  const others = ATTACKS.filter((attack) => attack !== keyedSearches);
  it.each(others.map((attack) => [attack.title, attack] as const))(
    '%s',
    (_, attack) => withstands(attack),
    TIMEOUT_MS,
  );

  it(
    `${keyedSearches.title}, and stores no answer`,
    async () => {
      await suite.get();
      const before = await storedKeys(suite.databaseUrl);
      await withstands(keyedSearches);
      expect(await storedKeys(suite.databaseUrl)).toBe(before);
    },
    TIMEOUT_MS,
  );
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
