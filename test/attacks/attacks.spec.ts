import { ATTACKS } from './catalogue';
import { SuiteService } from './suite.harness';

/** Attacks in a size that takes seconds. `npm run test:heavy` runs all attacks in full size. */
describe('a small attack by one caller', () => {
  const suite = new SuiteService();
  afterAll(() => suite.close());

  const quick = ATTACKS.flatMap((attack) => (attack.sizes.quick ? [[attack.title, attack] as const] : []));
  it.each(quick)('does not affect others, and keeps memory within its budget: %s', async (_, attack) => {
    await suite.expectNoHarm((service) => service.runAttack(attack, attack.sizes.quick!));
  });
});
