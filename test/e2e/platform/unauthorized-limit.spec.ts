import { type Answer, createTestApp, newOrganization, type TestApp, type TestOrganization } from '#testing';
import { sendInTurn, ME, outcomeOf, statusesOf } from './rate-limits.fixture';

const TOKENS = '/registry/v1/tokens';
const LIMIT = 4;
/** The timeout is long enough to count in the database on a slow machine, too. */
const LIMITS = { RATE_LIMIT_UNAUTHORIZED: String(LIMIT), RATE_LIMIT_TIMEOUT_MS: '60000' };

describe('requests that end in 401', () => {
  let app: TestApp;
  let org: TestOrganization;
  let addresses = 0;

  beforeAll(async () => {
    app = await createTestApp({
      env: { ...LIMITS, TRUSTED_PROXIES: '127.0.0.1,10.0.0.0/8' },
    });
    org = await newOrganization(app);
  });
  afterAll(() => app.close());

  const newAddress = (): string => `203.0.113.${++addresses}`;
  const from = (address: string) => ({ 'x-forwarded-for': address });
  const exhaust = (address: string): Promise<Answer[]> =>
    sendInTurn(LIMIT, () => app.api('x.y.z').get(ME, from(address)));

  it('are counted by address, and end in 429 above the limit', async () => {
    const address = newAddress();
    const answers = await sendInTurn(LIMIT + 1, () => app.api('x.y.z').get(ME, from(address)));
    expect(answers.map(outcomeOf)).toEqual([
      ...[3, 2, 1, 0].map((left) => [401, `"unauthorized";r=${left}`]),
      [429, '"unauthorized";r=0'],
    ]);
    const rejected = answers.at(-1)!;
    expect(rejected.headers.get('ratelimit-policy')).toBe(`"unauthorized";q=${LIMIT};w=60`);
    expect(rejected.headers.get('www-authenticate')).toBeNull();
    const seconds = Number(rejected.headers.get('retry-after'));
    expect(seconds).toBeGreaterThanOrEqual(1);
    expect(rejected.body).toMatchObject({
      code: 'rate_limited',
      detail: `You can send ${LIMIT} requests without a valid credential from one address per minute. Try again in ${seconds} s. A valid credential is accepted at any time.`,
    });
    expect((await app.api('x.y.z').get(ME, from(newAddress()))).status).toBe(401);
  });

  it('are counted for every reason and route, including the exchange of keys', async () => {
    const address = newAddress();
    const form = new URLSearchParams({ grant_type: 'client_credentials' });
    const basic = { ...from(address), authorization: `Basic ${btoa('x:rsk_wrong')}` };
    const answers = [
      await app.api().get(ME, from(address)),
      await app.api('rsk_wrong').post('/eval/v1/datasets', {}, from(address)),
      await app.api().post(TOKENS, { api_key: 'rsk_wrong' }, from(address)),
      await app.api().post(TOKENS, form, basic),
    ];
    expect(statusesOf(answers)).toEqual([401, 401, 401, 401]);
    const rejected = [
      await app.api().post(TOKENS, { api_key: 'rsk_wrong' }, from(address)),
      await app.api().post(TOKENS, form, basic),
      await app.api().post('/telemetry/v1/traces', { resourceSpans: [] }, from(address)),
    ];
    expect(rejected.map(({ status, body }) => [status, body.code])).toEqual(
      rejected.map(() => [429, 'rate_limited']),
    );
  });

  it('never affect requests with a valid credential', async () => {
    const address = newAddress();
    await exhaust(address);
    const { key } = await org.serviceAccount('viewer');
    const token = await org.token('viewer');
    const answers = [
      await app.api(token).get(ME, from(address)),
      await app.api(key).get(ME, from(address)),
      await app.api().post(TOKENS, { api_key: key }, from(address)),
      await app.api().get('/health/ready', from(address)),
      await app.api().get('/.well-known/jwks.json', from(address)),
      await app.api().post(TOKENS, {}, from(address)),
    ];
    expect(statusesOf(answers)).toEqual([200, 200, 200, 200, 200, 400]);
    expect((await app.api('x.y.z').get(ME, from(address))).status).toBe(429);
  });

  it('do not include requests with a valid credential', async () => {
    const address = newAddress();
    const viewer = app.api(await org.token('viewer'));
    await sendInTurn(LIMIT * 2, () => viewer.get(ME, from(address)));
    expect(statusesOf(await exhaust(address))).toEqual([401, 401, 401, 401]);
  });

  it('are counted together for an IPv6 network, and as IPv4 for an IPv4-mapped address', async () => {
    const network = await sendInTurn(LIMIT + 1, (index) =>
      app.api('x.y.z').get(ME, from(`2001:db8:0:1:${index}::1`)),
    );
    expect(statusesOf(network).at(-1)).toBe(429);
    expect((await app.api('x.y.z').get(ME, from('2001:db8:0:2::1'))).status).toBe(401);
    const address = newAddress();
    await exhaust(address);
    expect((await app.api('x.y.z').get(ME, from(`::ffff:${address}`))).status).toBe(429);
  });

  it('are counted for the last address that is not a trusted proxy', async () => {
    const address = newAddress();
    const answers = await sendInTurn(LIMIT + 1, (index) =>
      app.api('x.y.z').get(ME, from(`6.6.6.${index}, ${address}, 10.0.0.${index}`)),
    );
    expect(statusesOf(answers).at(-1)).toBe(429);
  });

  it('are counted for the address of the connection if the sender of X-Forwarded-For is not trusted', async () => {
    const { databaseUrl, issuer, env } = app;
    const direct = await createTestApp({
      databaseUrl,
      issuer,
      env: { SECRETS_KEY: env.SECRETS_KEY!, ...LIMITS },
    });
    try {
      const answers = await sendInTurn(LIMIT + 1, () => direct.api('x.y.z').get(ME, from(newAddress())));
      expect(statusesOf(answers).at(-1)).toBe(429);
      expect((await direct.api(await org.token('viewer')).get(ME)).status).toBe(200);
    } finally {
      await direct.close();
    }
  });
});
