import { randomUUID } from 'node:crypto';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';

export interface TokenOverrides {
  /** Overrides members of the header; undefined removes one. */
  header?: Record<string, unknown>;
  /** The key to sign with, instead of the issuer's. */
  key?: CryptoKey;
}

/** An identity provider for tests, with one key pair. */
export class TestIssuer {
  private constructor(
    readonly issuer: string,
    readonly audience: string,
    readonly algorithm: string,
    readonly kid: string,
    readonly publicJwk: JWK,
    readonly privateKey: CryptoKey,
  ) {}

  static async create(
    issuer = 'https://idp.test',
    { audience = 'test-api', algorithm = 'ES256', kid = randomUUID() as string } = {},
  ): Promise<TestIssuer> {
    const { publicKey, privateKey } = await generateKeyPair(algorithm, { extractable: true });
    const publicJwk = { ...(await exportJWK(publicKey)), kid, alg: algorithm, use: 'sig' };
    return new TestIssuer(issuer, audience, algorithm, kid, publicJwk, privateKey);
  }

  get jwks(): { keys: JWK[] } {
    return { keys: [this.publicJwk] };
  }

  /** Returns its entry in `AUTH_ISSUERS`, with inline keys and without restrictions. */
  entry(overrides: Record<string, unknown> = {}): Record<string, unknown> {
    return {
      issuer: this.issuer,
      audience: this.audience,
      jwks: this.jwks,
      algorithms: [this.algorithm],
      org_ids: '*',
      roles: ['viewer', 'annotator', 'editor', 'evaluator', 'publisher', 'runtime', 'admin', 'owner'],
      platform: true,
      provision: true,
      ...overrides,
    };
  }

  /**
   * Issues a token that is valid for an hour. `claims` overrides its claims; undefined removes one.
   */
  async issueToken(claims: Record<string, unknown> = {}, overrides: TokenOverrides = {}): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    const payload = defined({
      iss: this.issuer,
      sub: 'subject',
      aud: this.audience,
      iat: now,
      exp: now + 3600,
      jti: randomUUID(),
      ...claims,
    });
    const header = defined({ alg: this.algorithm, kid: this.kid, typ: 'JWT', ...overrides.header });
    return new SignJWT(payload as JWTPayload)
      .setProtectedHeader(header as { alg: string })
      .sign(overrides.key ?? this.privateKey);
  }
}

const defined = (members: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
