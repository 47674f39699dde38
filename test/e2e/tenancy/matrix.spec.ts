import { sharedApp } from '#testing';
import { testMatrix } from './matrix.harness';

/** matrix.heavy.spec.ts has every outsider and request. */
describe('data of another tenant', () => {
  testMatrix(sharedApp(), { isShort: true });
});
