import { parseIssuers } from './issuer.config';

const PUBLIC = { kty: 'EC', crv: 'P-256', x: 'x', y: 'y' };
const entry = (changes: Record<string, unknown> = {}) => ({
  issuer: 'https://idp',
  audience: 'api',
  jwks_uri: 'https://idp/jwks.json',
  org_ids: ['org_1'],
  ...changes,
});

describe('AUTH_ISSUERS', () => {
  it('allows all roles but owner, no platform principals and no new users by default', () => {
    const [issuer] = parseIssuers([entry()]);
    expect(issuer).toMatchObject({ audience: ['api'], platform: false, provision: false, claims: {} });
    expect([...issuer!.roles]).toEqual([
      'viewer',
      'annotator',
      'editor',
      'evaluator',
      'publisher',
      'runtime',
      'admin',
    ]);
    expect(issuer!.algorithms).toEqual(['RS256', 'ES256', 'EdDSA']);
    expect(issuer!.orgIds).toEqual(new Set(['org_1']));
  });

  it('accepts every documented member', () => {
    const [issuer] = parseIssuers([
      entry({
        audience: ['api', 'other'],
        jwks_uri: undefined,
        jwks: { keys: [PUBLIC] },
        algorithms: ['PS512', 'ES384'],
        org_ids: '*',
        roles: ['viewer', 'owner'],
        platform: true,
        claims: { org_id: 'https://idp/org', roles: '/realm_access/roles', user_id: 'sub' },
        provision: true,
      }),
    ]);
    expect(issuer).toEqual({
      issuer: 'https://idp',
      audience: ['api', 'other'],
      keys: { set: { keys: [PUBLIC] } },
      algorithms: ['PS512', 'ES384'],
      orgIds: '*',
      roles: new Set(['viewer', 'owner']),
      platform: true,
      claims: { org_id: 'https://idp/org', roles: '/realm_access/roles', user_id: 'sub' },
      provision: true,
    });
  });

  it.each<[string, unknown]>([
    ['AUTH_ISSUERS: must be a JSON array', {}],
    ['AUTH_ISSUERS: must be a JSON array', 'https://idp'],
    ['AUTH_ISSUERS[0]: must be an object', ['https://idp']],
    ['AUTH_ISSUERS[0].issuer: must be a non-empty string', [entry({ issuer: undefined })]],
    ['AUTH_ISSUERS[0].issuer: must be a non-empty string', [entry({ issuer: '' })]],
    ['AUTH_ISSUERS[1].issuer: must be unique', [entry(), entry()]],
    ['AUTH_ISSUERS[0].audience: must be', [entry({ audience: undefined })]],
    ['AUTH_ISSUERS[0].audience: must be', [entry({ audience: [] })]],
    ['AUTH_ISSUERS[0].audience[0]: must be', [entry({ audience: [5] })]],
    ['AUTH_ISSUERS[0]: must have exactly one of jwks_uri and jwks', [entry({ jwks_uri: undefined })]],
    ['AUTH_ISSUERS[0]: must have exactly one of jwks_uri and jwks', [entry({ jwks: { keys: [PUBLIC] } })]],
    ['AUTH_ISSUERS[0].jwks_uri: must be an http', [entry({ jwks_uri: 'file:///etc/passwd' })]],
    ['AUTH_ISSUERS[0].jwks_uri: must be an http', [entry({ jwks_uri: 'idp' })]],
    ['AUTH_ISSUERS[0].jwks: must be', [entry({ jwks_uri: undefined, jwks: { keys: [] } })]],
    ['AUTH_ISSUERS[0].jwks: must be', [entry({ jwks_uri: undefined, jwks: [] })]],
    [
      'AUTH_ISSUERS[0].jwks.keys[0]: must be a public key',
      [entry({ jwks_uri: undefined, jwks: { keys: [{ ...PUBLIC, d: 'd' }] } })],
    ],
    [
      'AUTH_ISSUERS[0].jwks.keys[0]: must be a public key',
      [entry({ jwks_uri: undefined, jwks: { keys: [{ kty: 'oct', k: 'k' }] } })],
    ],
    ['AUTH_ISSUERS[0].algorithms: may contain only', [entry({ algorithms: ['HS256'] })]],
    ['AUTH_ISSUERS[0].algorithms: may contain only', [entry({ algorithms: ['RS256', 'none'] })]],
    ['AUTH_ISSUERS[0].algorithms: must be', [entry({ algorithms: [] })]],
    ['AUTH_ISSUERS[0].org_ids: must be', [entry({ org_ids: undefined })]],
    ['AUTH_ISSUERS[0].org_ids: must be', [entry({ org_ids: 'org_1' })]],
    ['AUTH_ISSUERS[0].org_ids: must be', [entry({ org_ids: [] })]],
    ['AUTH_ISSUERS[0].roles: may contain only', [entry({ roles: ['superuser'] })]],
    ['AUTH_ISSUERS[0].platform: must be true or false', [entry({ platform: 'true' })]],
    ['AUTH_ISSUERS[0].provision: must be true or false', [entry({ provision: 1 })]],
    ['AUTH_ISSUERS[0].claims: must be an object', [entry({ claims: ['sub'] })]],
    ['AUTH_ISSUERS[0].claims.iss: cannot be mapped', [entry({ claims: { iss: 'issuer' } })]],
    ['AUTH_ISSUERS[0].claims.org_id: must be a non-empty string', [entry({ claims: { org_id: 5 } })]],
    ['AUTH_ISSUERS[0].org_id: is not a known member', [entry({ org_id: ['org_1'] })]],
  ])('rejects an invalid value: %s', (message, value) => {
    expect(() => parseIssuers(value)).toThrow(message);
  });
});
