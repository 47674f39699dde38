import { sharedApp } from '#testing';
import { testMatrix } from './matrix.harness';

const OUTSIDERS = ['an owner of another organization', 'an admin of another workspace'];

describe('data of another tenant', () => {
  testMatrix(sharedApp(), {
    selects: (name) => OUTSIDERS.some((one) => name === `${one}, within their own workspace`),
    isShort: true,
  });
});
