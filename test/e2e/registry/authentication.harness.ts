import { newId } from '#platform/ids';
import { CATALOGUE } from '#platform/problem';
import {
  createTestApp,
  newOrganization,
  type TestApp,
  type TestAppOptions,
  TestIssuer,
  type TestOrganization,
} from '#testing';
import { type RawToken, signRaw } from './raw-token';

export const ME = '/registry/v1/me';

export const now = (): number => Math.floor(Date.now() / 1000);

/**
 * An API without an account cache, and three issuers: `app.issuer` is fully trusted, `strict` has several keys and does not
 * provision users, and `single` may issue tokens for one organization only. `org` has the user "known".
 */
export class AuthenticationHarness {
  /** The problem codes returned so far. */
  readonly seen = new Set<string>();

  private constructor(
    readonly app: TestApp,
    readonly org: TestOrganization,
    readonly strict: TestIssuer,
    readonly single: TestIssuer,
  ) {}

  static async start(options: TestAppOptions = {}): Promise<AuthenticationHarness> {
    const strict = await TestIssuer.create('https://strict.test');
    const single = await TestIssuer.create('https://single.test', { kid: 'only' });
    const other = await TestIssuer.create('', { kid: 'other' });
    const rsa = await TestIssuer.create('', { kid: 'rsa', algorithm: 'RS256' });
    const app = await createTestApp({
      ...options,
      env: { AUTH_CACHE_SECONDS: '0', ...options.env },
      issuers: [
        strict.entry({
          jwks: { keys: [strict.publicJwk, other.publicJwk, rsa.publicJwk] },
          algorithms: ['ES256', 'ES384', 'RS256'],
          provision: false,
        }),
        single.entry({ org_ids: ['org_of_its_own'], platform: false, roles: ['viewer'] }),
        ...(options.issuers ?? []),
      ],
    });
    const org = await newOrganization(app);
    await app.database.query(
      `INSERT INTO users (user_ref, org_id, user_id, created_by) VALUES ($1, $2, 'known', 'test')`,
      [newId('usr'), org.orgId],
    );
    return new AuthenticationHarness(app, org, strict, single);
  }

  /** Returns the parts of a valid token of `strict` or another issuer. */
  valid(from: TestIssuer = this.strict): RawToken {
    return {
      header: { alg: 'ES256', kid: from.kid, typ: 'at+jwt' },
      claims: {
        iss: from.issuer,
        sub: 'known',
        aud: from.audience,
        iat: now(),
        exp: now() + 600,
        org_id: this.org.orgId,
        user_id: 'known',
      },
    };
  }

  /** Returns the problem code for a token or for whole headers, or `ok` for 200. */
  async codeOf(token: string | undefined, headers: Record<string, string> = {}): Promise<string> {
    const answer = await this.app.api(token).get<{ code: keyof typeof CATALOGUE }>(ME, headers);
    if (answer.status === 200) return 'ok';
    const { code } = answer.body;
    this.seen.add(code);
    expect(answer.status).toBe(CATALOGUE[code].status);
    expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
    return code;
  }

  /** Returns the same for a token that is signed with the key of `strict` or another issuer. */
  async codeOfRaw({ header, claims }: RawToken, from: TestIssuer = this.strict): Promise<string> {
    return this.codeOf(await signRaw(from, header, claims));
  }

  /** Returns the same for a valid token with changed claims. */
  codeOfClaims(changes: Record<string, unknown>): Promise<string> {
    const { header, claims } = this.valid();
    return this.codeOfRaw({ header, claims: { ...claims, ...changes } });
  }

  /** Returns the same for a valid token with a changed header. */
  codeOfHeader(changes: Record<string, unknown>): Promise<string> {
    const { header, claims } = this.valid();
    return this.codeOfRaw({ header: { ...header, ...changes }, claims });
  }
}
