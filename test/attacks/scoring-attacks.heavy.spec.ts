import { SCORING_ATTACKS } from './catalogue';
import { itWithstands, SuiteService } from './suite.harness';

describe('an attack by scoring', () => {
  const suite = new SuiteService();
  afterAll(() => suite.close());

  itWithstands(suite, SCORING_ATTACKS);
});
