import { Client } from 'pg';
import type { Attack } from './attack';
import { keyedSearches } from './body-attacks';
import { ATTACKS } from './catalogue';
import { SuiteService } from './suite.harness';

const TIMEOUT_MS = 180_000;

/** The service keeps working for another organization and the operator while one caller attacks it. */
describe('an attack by one caller', () => {
  const suite = new SuiteService();
  afterAll(() => suite.close());

  const expectNoHarm = async (attack: Attack): Promise<void> => {
    await suite.expectNoHarm((service) => service.runAttack(attack, attack.sizes.test));
  };

  const others = ATTACKS.filter((attack) => attack !== keyedSearches);
  it.each(others.map((attack) => [attack.title, attack] as const))(
    'does not affect others, and keeps memory within its budget: %s',
    (_, attack) => expectNoHarm(attack),
    TIMEOUT_MS,
  );

  it(
    `does not affect others, keeps memory within its budget, and stores no responses: ${keyedSearches.title}`,
    async () => {
      await suite.get();
      const before = await storedKeys(suite.databaseUrl);
      await expectNoHarm(keyedSearches);
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
