import { AUTHENTICATION_CODES } from '#platform/problem';
import { AuthenticationHarness, now } from './authentication.harness';
import { type RawToken, signRaw } from './raw-token';

describe('authentication', () => {
  let auth: AuthenticationHarness;
  beforeAll(async () => {
    auth = await AuthenticationHarness.start();
  });
  afterAll(() => auth.app.close());

  describe('of a token with several faults', () => {
    type Faulty = RawToken & { scheme: string; tampered: boolean; unbound: boolean; suspended: boolean };

    /** The faults in the order of the verification steps. Each leaves the other faults in place where possible. */
    const FAULTS: [string, (token: Faulty) => void][] = [
      ['unauthorized', (token) => (token.scheme = 'Token')],
      ['token_malformed', (token) => (token.claims['iat'] = 'today')],
      ['alg_not_allowed', (token) => (token.header['alg'] = 'HS256')],
      ['token_rejected', (token) => (token.header['typ'] = 'id+jwt')],
      ['untrusted_issuer', (token) => (token.claims['iss'] = 'https://nobody.test')],
      ['unknown_key', (token) => (token.header['kid'] = 'nope')],
      ['alg_mismatch', (token) => (token.header['alg'] = 'ES384')],
      ['signature_invalid', (token) => (token.tampered = true)],
      ['token_expired', (token) => (token.claims['exp'] = now() - 100)],
      ['token_not_yet_valid', (token) => (token.claims['nbf'] = now() + 100)],
      ['audience_mismatch', (token) => (token.claims['aud'] = 'another')],
      ['missing_identity', (token) => delete token.claims['sub']],
      ['missing_org', (token) => delete token.claims['org_id']],
      [
        'missing_user',
        (token) => {
          delete token.claims['user_id'];
          token.unbound = token.suspended = false;
        },
      ],
      ['unknown_account', (token) => (token.claims['org_id'] = 'org_unknown')],
      ['token_service_account_unbound', (token) => (token.unbound = true)],
      ['account_suspended', (token) => (token.suspended = true)],
    ];

    const accounts = new Map<string, string>();

    beforeAll(async () => {
      for (const unbound of [true, false]) {
        for (const suspended of [true, false]) {
          const { serviceAccountId } = await auth.org.serviceAccount('viewer');
          await auth.app.database.query(
            'UPDATE service_accounts SET workspace_ids = $2, status = $3 WHERE service_account_id = $1',
            [serviceAccountId, unbound ? [] : [auth.org.workspaceId], suspended ? 'suspended' : 'active'],
          );
          accounts.set(`${unbound} ${suspended}`, serviceAccountId);
        }
      }
    });

    const send = async (token: Faulty): Promise<string> => {
      const { header, claims, scheme, tampered, unbound, suspended } = token;
      if (unbound || suspended) {
        claims['principal_type'] = 'service_account';
        claims['service_account_id'] = accounts.get(`${unbound} ${suspended}`);
      }
      let text = await signRaw(auth.strict, header, claims);
      if (tampered) text = text.replace(/[^.]+$/, (signature) => signature.split('').reverse().join(''));
      // a reversed signature may end in unused bits
      if (tampered) text = text.replace(/[^.]+$/, (s) => Buffer.from(s, 'base64url').toString('base64url'));
      return auth.codeOf(undefined, { authorization: `${scheme} ${text}` });
    };

    const faulty = (): Faulty => ({
      ...auth.valid(),
      scheme: 'Bearer',
      tampered: false,
      unbound: false,
      suspended: false,
    });

    it.each(FAULTS.map(([code], i) => [code, i] as const))(
      'reports %s before all later faults',
      async (code, i) => {
        const alone = faulty();
        FAULTS[i]![1](alone);
        expect(await send(alone)).toBe(code);
        for (const [, later] of FAULTS.slice(i + 1)) {
          const token = faulty();
          later(token);
          FAULTS[i]![1](token);
          expect(await send(token)).toBe(code);
        }
        const all = faulty();
        for (const [, fault] of FAULTS.slice(i).reverse()) fault(all);
        expect(await send(all)).toBe(code);
      },
    );
  });

  it('can return each of its 18 codes', async () => {
    await auth.codeOf(undefined);
    await auth.codeOf('rsk_unknown');
    expect(AUTHENTICATION_CODES).toHaveLength(18);
    expect(AUTHENTICATION_CODES.filter((code) => !auth.seen.has(code))).toEqual([]);
  });
});
