import { PROVIDER_ATTACKS } from './catalogue';
import { itWithstands, SuiteService } from './suite.harness';

describe('an attack by model providers', () => {
  const suite = new SuiteService();
  afterAll(() => suite.close());

  itWithstands(suite, PROVIDER_ATTACKS);
});
