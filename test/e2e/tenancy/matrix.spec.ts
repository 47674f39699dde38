import { sharedApp } from '#testing';
import { testMatrix } from './matrix.harness';

const OUTSIDERS = [
  'an owner of another organization, within their own workspace',
  'an admin of another workspace, within their own workspace',
];

describe('data of another tenant', () => {
  testMatrix(sharedApp(), {
    selects: (name) => OUTSIDERS.includes(name),
    isShort: true,
  });
});
