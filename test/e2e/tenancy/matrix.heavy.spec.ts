import { ownApp } from '#testing';
import { testMatrix } from './matrix.harness';

describe('data of another tenant, for every outsider and request', () => {
  // an outsider without credentials gets thousands of 401s
  testMatrix(ownApp({ env: { RATE_LIMIT_UNAUTHORIZED: '1000000' } }));
});
