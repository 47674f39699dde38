import { CONNECTION_ATTACKS } from './catalogue';
import { itWithstands, SuiteService } from './suite.harness';

describe('an attack by connections', () => {
  const suite = new SuiteService();
  afterAll(() => suite.close());

  itWithstands(suite, CONNECTION_ATTACKS);
});
