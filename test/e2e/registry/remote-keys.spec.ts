import {
  createTestApp,
  newOrganization,
  sharedApp,
  type TestApp,
  TestIssuer,
  type TestOrganization,
} from '#testing';
import { ME } from './authentication.harness';
import { JwksServer } from './jwks-server';

describe('fetched issuer keys', () => {
  /** Each test takes an issuer of which the application has fetched nothing yet. */
  const remotes: { server: JwksServer; idp: TestIssuer }[] = [];
  let app: TestApp;
  let org: TestOrganization;
  let server: JwksServer;
  let idp: TestIssuer;

  beforeAll(async () => {
    for (let n = 0; n < 11; n++) {
      const one = {
        server: await JwksServer.start(),
        idp: await TestIssuer.create(`https://remote-${n}.test`),
      };
      one.server.keys = [one.idp.publicJwk];
      remotes.push(one);
    }
    app = await createTestApp({
      env: { AUTH_CACHE_SECONDS: '0' },
      issuers: remotes.map((one) => one.idp.entry({ jwks: undefined, jwks_uri: one.server.url })),
    });
    org = await newOrganization(app);
  });
  beforeEach(() => {
    ({ server, idp } = remotes.pop()!);
  });
  afterEach(() => server.stop());
  afterAll(async () => {
    await Promise.all(remotes.map((one) => one.server.stop()));
    await app.close();
  });

  const codeOf = async (from: TestIssuer): Promise<string> => {
    const token = await from.issueToken({ sub: 'u', user_id: 'u', org_id: org.orgId });
    const { status, body } = await app.api(token).get(ME);
    return status === 200 ? 'ok' : (body as { code: string }).code;
  };

  it('are fetched once for concurrent requests', async () => {
    const codes = await Promise.all(Array.from({ length: 20 }, () => codeOf(idp)));
    expect(new Set(codes)).toEqual(new Set(['ok']));
    expect(await codeOf(idp)).toBe('ok');
    expect(server.requestCount).toBe(1);
  });

  it('may be rotated: the new key is valid at once, and the old one no longer', async () => {
    expect(await codeOf(idp)).toBe('ok');
    const next = await TestIssuer.create(idp.issuer);
    server.keys = [next.publicJwk];
    expect(await codeOf(next)).toBe('ok');
    expect(await codeOf(idp)).toBe('unknown_key');
  });

  it('are not fetched for every token with an unknown key', async () => {
    expect(await codeOf(idp)).toBe('ok');
    const forger = () => TestIssuer.create(idp.issuer);
    const codes = await Promise.all(Array.from({ length: 10 }, async () => codeOf(await forger())));
    expect(new Set(codes)).toEqual(new Set(['unknown_key']));
    expect(server.requestCount).toBe(2);
  });

  it('are read after a byte order mark', async () => {
    server.answer = (_, response) => response.end(`\ufeff${JSON.stringify({ keys: server.keys })}`);
    expect(await codeOf(idp)).toBe('ok');
  });

  it('stay in use while the issuer is unreachable', async () => {
    expect(await codeOf(idp)).toBe('ok');
    await server.stop();
    expect(await codeOf(idp)).toBe('ok');
    expect(await codeOf(await TestIssuer.create(idp.issuer))).toBe('unknown_key');
    expect(await codeOf(idp)).toBe('ok');
  });

  it.each<[string, (server: JwksServer) => void | Promise<void>]>([
    ['is out of reach', (one) => one.stop()],
    ['answers an error', (one) => void (one.answer = (_, response) => response.writeHead(500).end('{}'))],
    ['answers garbage', (one) => void (one.answer = (_, response) => response.end('<html>'))],
    ['answers no key set', (one) => void (one.answer = (_, response) => response.end('{"keys":5}'))],
    ['breaks off', (one) => void (one.answer = (_, response) => response.destroy())],
  ])('make authentication unavailable if the issuer %s and no keys are cached', async (_, fail) => {
    await fail(server);
    const token = await idp.issueToken({ sub: 'u', user_id: 'u', org_id: org.orgId });
    const answer = await app.api(token).get(ME);
    expect(answer.status).toBe(503);
    expect(answer.body).toMatchObject({ code: 'auth_unavailable' });
    expect(answer.headers.get('retry-after')).toBe('1');
    // other issuers are not affected
    expect((await app.api(await org.token('viewer')).get(ME)).status).toBe(200);
  });

  it('are not needed to reject a malformed token', async () => {
    await server.stop();
    const token = await idp.issueToken({ sub: 'u' }, { header: { typ: 'id+jwt' } });
    expect((await app.api(token).get(ME)).body).toMatchObject({ code: 'token_rejected' });
  });
});

describe('the start of the service', () => {
  const app = sharedApp();

  it('fails for an invalid issuer, and says why', async () => {
    const remote = await TestIssuer.create('https://remote.test');
    const start = (entry: Record<string, unknown>) =>
      createTestApp({ databaseUrl: app.databaseUrl, issuers: [entry] });
    await expect(start(remote.entry({ algorithms: ['HS256'] }))).rejects.toThrow(
      'AUTH_ISSUERS[1].algorithms',
    );
    const broken = { keys: [{ ...remote.publicJwk, x: 'AAAA' }] };
    await expect(start(remote.entry({ jwks: broken }))).rejects.toThrow('AUTH_ISSUERS[1].jwks');
    await expect(start(remote.entry({ issuer: 'agent-registry-service' }))).rejects.toThrow(
      "AUTH_ISSUERS[1].issuer: must not be this service's own",
    );
  });

  it('fails without SECRETS_KEYS', async () => {
    const { databaseUrl } = app;
    await expect(createTestApp({ databaseUrl, env: { SECRETS_KEY: '' } })).rejects.toThrow(
      'SECRETS_KEYS is required',
    );
  });
});
