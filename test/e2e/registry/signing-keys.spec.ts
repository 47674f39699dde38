import { decodeProtectedHeader } from 'jose';
import { LoadingCache } from '#platform/concurrency';
import { Environment } from '#platform/config';
import { SecretBox } from '#platform/secrets';
import { newOrganization, ownApp, type TestApp } from '#testing';
import { SigningKeyRepository } from '../../../src/registry/tokens/signing-key.repository';
import { SigningKeyService } from '../../../src/registry/tokens/signing-key.service';
import { ME } from './authentication.harness';

const TOKENS = '/registry/v1/tokens';

describe("the service's own signing keys", () => {
  const app = ownApp({ env: { SIGNING_KEY_DAYS: '1' } });
  let key: string;
  beforeAll(async () => {
    ({ key } = await (await newOrganization(app)).serviceAccount('viewer'));
  });

  const kidsOf = async (from: TestApp): Promise<string[]> => {
    const { body } = await from.api().get<{ keys: { kid: string }[] }>('/.well-known/jwks.json');
    return body.keys.map(({ kid }) => kid);
  };
  const exchange = async (): Promise<string> =>
    (await app.api().post<{ access_token: string }>(TOKENS, { api_key: key })).body.access_token;
  const kidOf = (token: string): string => decodeProtectedHeader(token).kid!;
  /** Returns the keys of another process, which has nothing cached. */
  const otherProcess = (): SigningKeyService =>
    new SigningKeyService(
      app.get(Environment),
      app.database,
      app.get(SigningKeyRepository),
      app.get(SecretBox),
    );
  /** Returns the key with which each of several processes signs. */
  const kidsOfProcesses = async (count: number): Promise<string[]> => {
    const processes = Array.from({ length: count }, otherProcess);
    return (await Promise.all(processes.map((one) => one.current()))).map(({ kid }) => kid);
  };
  /** Moves the times in the database back, and lets the application read its key again, as if time had passed. */
  const pass = async (interval: string): Promise<void> => {
    await app.database.query(
      `UPDATE signing_keys SET signs_from = signs_from - $1::interval, signs_until = signs_until - $1::interval`,
      [interval],
    );
    Object.assign(app.get(SigningKeyService), { cache: new LoadingCache() });
  };

  it('are created once by concurrent processes', async () => {
    expect(new Set([...(await kidsOfProcesses(3)), kidOf(await exchange())]).size).toBe(1);
    expect(await kidsOf(app)).toHaveLength(1);
  });

  it('rotate: a new key is published first, then signs, and stays until its last token has expired', async () => {
    const first = await exchange();
    const firstKid = kidOf(first);
    expect((await app.api(first).get(ME)).status).toBe(200);
    await pass('25 hours');
    // a rotation is due: the next key is published, and the current one still signs
    expect(await kidsOfProcesses(2)).toEqual([firstKid, firstKid]);
    const announced = await kidsOf(app);
    expect(announced).toHaveLength(2);
    const secondKid = announced.find((kid) => kid !== firstKid)!;

    await pass('11 minutes');
    const second = await exchange();
    expect(kidOf(second)).toBe(secondKid);
    expect(await kidsOf(app)).toEqual([secondKid, firstKid]);
    // the application has verified only tokens of the first key
    for (const token of [first, second]) expect((await app.api(token).get(ME)).status).toBe(200);

    await pass('61 minutes');
    expect(await kidsOf(app)).toEqual([secondKid, firstKid]);
    await pass('5 minutes');
    expect(await kidsOf(app)).toEqual([secondKid]);
  });

  it('are stored encrypted', async () => {
    await exchange();
    const rows = await app.database.query<{ private_jwk: string }>('SELECT private_jwk FROM signing_keys');
    for (const { private_jwk } of rows) expect(private_jwk).toMatch(/^v1\.[0-9a-f]{16}\.[\w-]+$/);
  });
});
