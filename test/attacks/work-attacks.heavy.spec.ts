import { WORK_ATTACKS } from './catalogue';
import { itWithstands, SuiteService } from './suite.harness';

describe('an attack by expensive work', () => {
  const suite = new SuiteService();
  afterAll(() => suite.close());

  itWithstands(suite, WORK_ATTACKS);
});
