import { decodeProtectedHeader } from 'jose';
import { createTestApp, newOrganization, type TestApp } from '#testing';
import { ME } from './authentication.harness';

const TOKENS = '/registry/v1/tokens';

describe("the service's own signing keys", () => {
  let app: TestApp;
  let key: string;
  const processes: TestApp[] = [];
  beforeAll(async () => {
    app = await createTestApp({ env: { SIGNING_KEY_DAYS: '1' } });
    ({ key } = await (await newOrganization(app)).serviceAccount('viewer'));
  });
  afterEach(async () => {
    await Promise.all(processes.splice(0).map((one) => one.close()));
  });
  afterAll(() => app.close());

  const kidsOf = async (from: TestApp): Promise<string[]> => {
    const { body } = await from.api().get<{ keys: { kid: string }[] }>('/.well-known/jwks.json');
    return body.keys.map(({ kid }) => kid);
  };
  const exchange = async (from: TestApp): Promise<string> =>
    (await from.api().post<{ access_token: string }>(TOKENS, { api_key: key })).body.access_token;
  /** Starts another process, which has nothing cached. */
  const start = async (env = app.env): Promise<TestApp> => {
    const one = await createTestApp({ databaseUrl: app.databaseUrl, issuer: app.issuer, env });
    processes.push(one);
    return one;
  };
  /** Moves the times in the database back, as if time had passed. */
  const pass = (interval: string) =>
    app.database.query(
      `UPDATE signing_keys SET signs_from = signs_from - $1::interval, signs_until = signs_until - $1::interval`,
      [interval],
    );

  it('are created once by concurrent processes', async () => {
    await Promise.all([start(), start()]);
    const tokens = await Promise.all(processes.map(exchange));
    expect(new Set(tokens.map((token) => decodeProtectedHeader(token).kid)).size).toBe(1);
    expect(await kidsOf(app)).toHaveLength(1);
  });

  it('rotate: a new key is published first, then signs, and stays until its last token has expired', async () => {
    const first = await exchange(app);
    const firstKid = decodeProtectedHeader(first).kid!;
    await pass('25 hours');
    await Promise.all([start(), start()]);
    // a rotation is due: the next key is published, and the current one still signs
    const tokens = await Promise.all(processes.map(exchange));
    expect(tokens.map((token) => decodeProtectedHeader(token).kid)).toEqual([firstKid, firstKid]);
    const announced = await kidsOf(app);
    expect(announced).toHaveLength(2);
    const secondKid = announced.find((kid) => kid !== firstKid)!;

    await pass('11 minutes');
    const later = await start();
    const second = await exchange(later);
    expect(decodeProtectedHeader(second).kid).toBe(secondKid);
    expect(await kidsOf(later)).toEqual([secondKid, firstKid]);
    for (const token of [first, second]) {
      // even in a process that had only the first key
      expect((await app.api(token).get(ME)).status).toBe(200);
      expect((await later.api(token).get(ME)).status).toBe(200);
    }

    await pass('61 minutes');
    expect(await kidsOf(later)).toEqual([secondKid, firstKid]);
    await pass('5 minutes');
    expect(await kidsOf(later)).toEqual([secondKid]);
  });

  it('are stored encrypted, and replaced if they cannot be decrypted', async () => {
    const token = await exchange(await start());
    const rows = await app.database.query<{ private_jwk: string }>('SELECT private_jwk FROM signing_keys');
    for (const { private_jwk } of rows) expect(private_jwk).toMatch(/^v1\.[0-9a-f]{16}\.[\w-]+$/);
    const published = await kidsOf(app);
    const secret = Buffer.alloc(32, 7).toString('base64');
    const other = await start({ ...app.env, SECRETS_KEY: secret });
    const kids = await kidsOf(other);
    expect(kids.filter((kid) => !published.includes(kid))).toHaveLength(1);
    // API keys are hashed with SECRETS_KEY, but tokens are verified with public keys
    expect((await other.api(key).get(ME)).body).toMatchObject({ code: 'invalid_api_key' });
    expect((await other.api(token).get(ME)).status).toBe(200);
  });
});
