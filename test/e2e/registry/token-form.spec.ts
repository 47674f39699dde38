import net from 'node:net';
import { TestIssuer } from '#testing';
import { AuthenticationHarness, ME, now } from './authentication.harness';
import { base64url, signHmac, signRaw } from './raw-token';

const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];

describe('authentication', () => {
  let auth: AuthenticationHarness;
  /** One issuer for each algorithm. */
  const issuers = new Map<string, TestIssuer>();

  beforeAll(async () => {
    for (const algorithm of ALGORITHMS) {
      issuers.set(algorithm, await TestIssuer.create(`https://${algorithm}.test`, { algorithm }));
    }
    auth = await AuthenticationHarness.start({
      issuers: [...issuers.values()].map((issuer) => issuer.entry()),
    });
  });
  afterAll(() => auth.app.close());

  describe('checks the Authorization header and', () => {
    it('returns a challenge if it is missing', async () => {
      const answer = await auth.app.api().get(ME);
      expect(answer.status).toBe(401);
      expect(answer.body).toMatchObject({ code: 'token_missing', status: 401 });
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
      expect(await auth.codeOf(undefined, { authorization: '' })).toBe('token_missing');
    });

    it('names the error in WWW-Authenticate', async () => {
      const answer = await auth.app.api('x.y.z').get(ME);
      expect(answer.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
    });

    it.each(['Basic dXNlcjpwYXNz', 'Token abc', 'bearerabc', 'Negotiate'])('refuses %s', async (value) => {
      expect(await auth.codeOf(undefined, { authorization: value })).toBe('unauthorized');
      const answer = await auth.app.api().get(ME, { authorization: value });
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    });

    it('accepts the scheme in any case', async () => {
      const token = await auth.org.token('viewer');
      expect(await auth.codeOf(undefined, { authorization: `bEARER  ${token}` })).toBe('ok');
    });

    it('accepts no token from the query or a cookie', async () => {
      const token = await auth.org.token('viewer');
      expect(await auth.codeOf(undefined, { cookie: `access_token=${token}` })).toBe('token_missing');
      const answer = await auth.app.api().get(`${ME}?access_token=${token}`);
      expect(answer.body).toMatchObject({ code: 'token_missing' });
    });

    it('refuses two headers, although Node would keep the first', async () => {
      const token = await auth.org.token('viewer');
      const two = await rawGet([`Authorization: Bearer ${token}`, `Authorization: Bearer ${token}`]);
      expect(two).toContain('"code":"token_malformed"');
      const mixed = await rawGet([`authorization: Bearer ${token}`, 'AUTHORIZATION: Basic dXNlcjpwYXNz']);
      expect(mixed).toContain('"code":"unauthorized"');
      expect(await rawGet([`Authorization: Bearer ${token}`])).toContain('HTTP/1.1 200');
    });

    it('refuses a token with trailing text', async () => {
      const token = await auth.org.token('viewer');
      expect(await auth.codeOf(undefined, { authorization: `Bearer ${token} more` })).toBe('token_malformed');
      expect(await auth.codeOf(undefined, { authorization: `Bearer ${token}, Bearer ${token}` })).toBe(
        'token_malformed',
      );
      expect(await auth.codeOf(undefined, { authorization: 'Bearer' })).toBe('token_malformed');
    });

    /** Uses Node's client, because `fetch` would join the headers or refuse to send them. */
    const rawGet = (headers: string[]): Promise<string> =>
      new Promise((resolve, reject) => {
        const { hostname, port } = new URL(auth.app.url);
        let text = '';
        const socket = net.connect(Number(port), hostname, () =>
          socket.write(
            [`GET ${ME} HTTP/1.1`, 'Host: test', 'Connection: close', ...headers, '', ''].join('\r\n'),
          ),
        );
        socket.on('data', (chunk) => (text += chunk.toString())).on('end', () => resolve(text));
        socket.on('error', reject);
      });
  });

  describe('checks the form of a token and', () => {
    const parts = async (): Promise<[string, string, string]> => {
      const { header, claims } = auth.valid();
      return (await signRaw(auth.strict, header, claims)).split('.') as [string, string, string];
    };

    it.each<[string, (parts: [string, string, string]) => string]>([
      ['one part', ([header]) => header],
      ['two parts', ([header, claims]) => `${header}.${claims}`],
      ['five parts, an encrypted token', ([header, claims]) => `${header}.${claims}.a.b.c`],
      ['an empty header', ([, claims, signature]) => `.${claims}.${signature}`],
      ['an empty payload', ([header, , signature]) => `${header}..${signature}`],
      ['padding', ([header, claims, signature]) => `${header}.${claims}.${signature}==`],
      ['the alphabet of base64', ([header, claims]) => `${header}.${claims}.ab+/`],
      ['a non-zero unused bit', ([header, claims]) => `${header}.${claims}.ab`],
      ['extra characters', ([header, claims, signature]) => `${header}.${claims}.${signature}abc`],
      [
        'a header that is not JSON',
        ([, claims, signature]) => `${base64url('{alg}')}.${claims}.${signature}`,
      ],
      ['a payload that is not JSON', ([header, , signature]) => `${header}.${base64url('{')}.${signature}`],
      ['an array as payload', ([header, , signature]) => `${header}.${base64url([1])}.${signature}`],
      ['null as payload', ([header, , signature]) => `${header}.${base64url('null')}.${signature}`],
      [
        'bytes that are not UTF-8',
        ([header, , signature]) =>
          `${header}.${Buffer.from('7b22696173223a22ff227d', 'hex').toString('base64url')}.${signature}`,
      ],
      ['more than 8 KiB', ([header, claims]) => `${header}.${claims}.${'a'.repeat(8192)}`],
    ])('refuses %s', async (_, make) => {
      expect(await auth.codeOf(make(await parts()))).toBe('token_malformed');
    });

    it.each<[string, (claims: string) => string]>([
      ['exp twice', (claims) => claims.replace('{', `{"exp":${now() + 9e6},`)],
      ['iss twice, once escaped', (claims) => claims.replace('{', '{"\\u0069ss":"https://idp.test",')],
      ['org_id twice', (claims) => claims.replace('}', ',"org_id":"org_other"}')],
      ['a NUL', (claims) => claims.replace('}', ',"user_id2":"a\\u0000"}')],
      ['half of a surrogate pair', (claims) => claims.replace('}', ',"name":"\\udc00"}')],
    ])('refuses a payload with %s, which JSON.parse would hide', async (_, change) => {
      const { header, claims } = auth.valid();
      expect(await auth.codeOf(await signRaw(auth.strict, header, change(JSON.stringify(claims))))).toBe(
        'token_malformed',
      );
    });

    it('refuses a header with two algorithms', async () => {
      const { claims } = auth.valid();
      const header = `{"alg":"none","alg":"ES256","kid":"${auth.strict.kid}"}`;
      expect(await auth.codeOf(await signRaw(auth.strict, header, claims))).toBe('token_malformed');
    });

    it.each<[string, unknown]>([
      ['exp', undefined],
      ['exp', '2099-01-01'],
      ['exp', null],
      ['nbf', 'now'],
      ['iat', [1]],
      ['iss', 5],
      ['sub', { id: 'known' }],
      ['aud', 5],
      ['aud', ['test-api', 5]],
      ['jti', 5],
      ['org_id', 5],
      ['user_id', ['known']],
      ['roles', 'owner'],
      ['roles', [1]],
      ['workspace_ids', 'wsp_1'],
      ['principal_type', true],
    ])('refuses %s: %j', async (name, value) => {
      const { header, claims } = auth.valid();
      const changed = { ...claims, [name]: value };
      expect(await auth.codeOfRaw({ header, claims: changed })).toBe('token_malformed');
    });

    it('refuses an exp that is not a finite number', async () => {
      const { header, claims } = auth.valid();
      const text = JSON.stringify(claims).replace(/"exp":\d+/, '"exp":1e999');
      expect(await auth.codeOf(await signRaw(auth.strict, header, text))).toBe('token_malformed');
    });

    it.each([
      ['kid', 5],
      ['typ', {}],
    ])('refuses a header whose %s is %j', async (name, value) => {
      const { header, claims } = auth.valid();
      expect(await auth.codeOfRaw({ header: { ...header, [name]: value }, claims })).toBe('token_malformed');
    });
  });

  describe('checks the algorithm and', () => {
    it('refuses an unsecured token', async () => {
      const { claims } = auth.valid();
      for (const alg of ['none', 'None', 'nOnE']) {
        expect(await auth.codeOf(`${base64url({ alg })}.${base64url(claims)}.`)).toBe('alg_not_allowed');
      }
    });

    it('refuses an HMAC with the public key', async () => {
      const { claims } = auth.valid();
      for (const alg of ['HS256', 'HS384', 'HS512']) {
        const header = { alg, kid: auth.strict.kid };
        const token = signHmac(header, claims, JSON.stringify(auth.strict.publicJwk));
        expect(await auth.codeOf(token)).toBe('alg_not_allowed');
      }
    });

    it.each([undefined, 5, 'ES256K', 'es256', 'PS256'])(
      'refuses %j, which this issuer does not use',
      async (alg) => {
        const { header, claims } = auth.valid();
        expect(await auth.codeOfRaw({ header: { ...header, alg }, claims })).toBe('alg_not_allowed');
      },
    );

    it.each(ALGORITHMS)('verifies %s, and detects a changed signature', async (algorithm) => {
      const token = await issuers.get(algorithm)!.issueToken({ org_id: auth.org.orgId, user_id: 'known' });
      expect(await auth.codeOf(token)).toBe('ok');
      const signature = Buffer.from(token.split('.')[2]!, 'base64url');
      signature[10]! ^= 1;
      const changed = token.replace(/[^.]+$/, signature.toString('base64url'));
      expect(await auth.codeOf(changed)).toBe('signature_invalid');
    });

    it('refuses an algorithm that does not match the key', async () => {
      const { header, claims } = auth.valid();
      expect(await auth.codeOfRaw({ header: { ...header, alg: 'ES384' }, claims })).toBe('alg_mismatch');
      expect(await auth.codeOfRaw({ header: { ...header, alg: 'RS256' }, claims })).toBe('alg_mismatch');
      expect(await auth.codeOfRaw({ header: { ...header, kid: 'rsa' }, claims })).toBe('alg_mismatch');
    });
  });

  describe('checks the kind of token and', () => {
    it.each([{ crit: ['exp'], exp: 1 }, { crit: ['b64'], b64: true }, { crit: [] }, { crit: 'exp' }])(
      'refuses %j, because it supports no critical headers',
      async (extra) => {
        const { header, claims } = auth.valid();
        expect(await auth.codeOfRaw({ header: { ...header, ...extra }, claims })).toBe('token_rejected');
      },
    );

    it.each(['id+jwt', 'dpop+jwt', 'logout+jwt', 'JWE', ''])('refuses the type %j', async (typ) => {
      const { header, claims } = auth.valid();
      expect(await auth.codeOfRaw({ header: { ...header, typ }, claims })).toBe('token_rejected');
    });

    it.each(['JWT', 'jwt', 'at+jwt', 'AT+JWT', 'application/at+jwt', undefined])(
      'accepts the type %j',
      async (typ) => {
        const { header, claims } = auth.valid();
        expect(await auth.codeOfRaw({ header: { ...header, typ }, claims })).toBe('ok');
      },
    );

    it.each([{ token_use: 'id' }, { typ: 'ID' }, { typ: 'Refresh' }])(
      'refuses an issuer’s %j',
      async (extra) => {
        const { header, claims } = auth.valid();
        expect(await auth.codeOfRaw({ header, claims: { ...claims, ...extra } })).toBe('token_rejected');
      },
    );
  });
});
