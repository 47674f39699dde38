import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Client } from 'pg';
import { SecretBox } from '#platform/secrets';
import { createTestApp, createTestDatabase, type TestApp, type TestDatabase, until } from '#testing';
import { PROVIDER_SECRET } from '../../src/model-gateway';
import { SEALED_COLUMNS as columns } from '../../src/sealed-columns';
import { type Ended, runToEnd } from '../start/start.harness';
import {
  idOf,
  newKey,
  providerKeyOf,
  rotationOf,
  SecretUser,
  withKeys,
} from '../e2e/platform/secrets.fixture';

const SECRETS = 3_000;

const sentenceOf = (keyId: string): RegExp =>
  new RegExp(
    `^The secrets in the database are encrypted with the key ${keyId}, which SECRETS_KEYS does not hold \\(it holds [0-9a-f]{16}\\); .*$`,
  );

describe('processes and the keys for secrets', () => {
  const [current, next, other] = [newKey(), newKey(), newKey()];
  let database: TestDatabase;
  let app: TestApp;
  let user: SecretUser;
  const ids = Array.from({ length: SECRETS }, (_, n) => `prv_${String(n).padStart(5, '0')}`);

  beforeAll(async () => {
    database = await createTestDatabase();
    await (await createTestApp({ databaseUrl: database.url, env: withKeys(current) })).close();
    app = await createTestApp({ databaseUrl: database.url, env: withKeys(next, current, other) });
    user = await SecretUser.create(app);
    await app.database.query(
      `INSERT INTO model_providers (provider_id, org_id, workspace_id, name, kind, base_url, api_key, headers, metadata,
         generation, created_at, updated_at, created_by)
       SELECT one.id, org_id, workspace_id, one.id, kind, base_url, one.sealed, headers, metadata, 1, now(), now(), 'test'
       FROM model_providers, unnest($1::text[], $2::text[]) one (id, sealed)`,
      [ids, ids.map((id) => app.get(SecretBox).seal(`key of ${id}`, PROVIDER_SECRET.of(id)))],
    );
  });
  afterAll(async () => {
    await app.close();
    await user.close();
    await database.drop();
  });

  const environment = (...keys: string[]): NodeJS.ProcessEnv => ({
    PATH: process.env.PATH,
    ...app.env,
    ...withKeys(...keys),
    LOG_LEVEL: 'error',
  });
  const run = (entry: string, ...keys: string[]): Promise<Ended> =>
    runToEnd([process.execPath, `dist/src/${entry}.js`], { env: environment(...keys) });
  const countOf = async (keyId: string): Promise<number> => {
    const text = 'SELECT count(*)::int AS n FROM model_providers WHERE api_key_sealed_by = $1';
    return (await app.database.query<{ n: number }>(text, [keyId]))[0]!.n;
  };

  it('end the start without a key in use, in one sentence', async () => {
    const end = async (entry: string): Promise<void> => {
      const { code, stdout, stderr } = await run(entry, newKey());
      const [line, ...others] = (stdout + stderr).trim().split('\n');
      expect([entry, code, others]).toEqual([entry, 1, []]);
      const message = line!.startsWith('{') ? (JSON.parse(line!) as { msg: string }).msg : line!;
      expect(message).toMatch(sentenceOf(idOf(current)));
    };
    await Promise.all(['main', 'worker', 'standalone', 'bootstrap', 'rotate-secrets'].map(end));
    expect(await app.database.query('SELECT key_id FROM secrets_keys')).toEqual([{ key_id: idOf(current) }]);
  });

  it('finish a rotation whose process was killed in the middle', async () => {
    const session = new Client({ connectionString: database.url });
    await session.connect();
    let rotating: ChildProcess | undefined;
    try {
      await session.query('BEGIN');
      await session.query('SELECT true FROM model_providers WHERE provider_id = $1 FOR UPDATE', [ids[2_000]]);
      rotating = spawn(process.execPath, ['dist/src/rotate-secrets.js'], {
        env: { ...environment(next, current), LOCK_TIMEOUT_MS: '600000' },
        stdio: 'ignore',
      });
      // the batches before the locked one are committed
      await until(async () => (await countOf(idOf(next))) >= 1_500);
      const ended = once(rotating, 'exit');
      rotating.kill('SIGKILL');
      expect(await ended).toEqual([null, 'SIGKILL']);
    } finally {
      rotating?.kill('SIGKILL');
      await session.query('ROLLBACK');
      await session.end();
    }
    expect(await countOf(idOf(current))).toBeGreaterThan(0);
    expect(await user.failures(app)).toEqual([]);

    const { code, stdout, stderr } = await run('rotate-secrets', next, current);
    expect([code, stderr]).toEqual([0, '']);
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.at(-1)).toEqual({ key: idOf(next), removable_keys: [idOf(current)] });
    expect(lines.slice(0, -1).map(({ table, column }) => [table, column])).toEqual(
      columns.map(({ table, column }) => [table, column]),
    );
    expect(lines.slice(0, -1).map(({ left }) => left)).toEqual(columns.map(() => 0));
    expect(await countOf(idOf(current))).toBe(0);
    for (const id of [ids[0]!, ids[2_000]!, ids.at(-1)!])
      expect(await providerKeyOf(app, id)).toBe(`key of ${id}`);
    expect(await user.failures(app)).toEqual([]);
  });

  it('end if they do not hold the key that came into use, so that their next start says why', async () => {
    const child = spawn(process.execPath, ['dist/src/worker.js'], {
      env: { ...environment(next), LOG_LEVEL: 'info' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    const ended = once(child, 'exit');
    await until(() => output.includes('the worker is running'));
    await rotationOf(app, other, next).run({ columns, isOnlyProcess: true });
    expect(await ended).toEqual([1, null]);
    expect(output).toContain(`encrypted with the key ${idOf(other)}, which SECRETS_KEYS does not hold`);
    await rotationOf(app, next, other).run({ columns, isOnlyProcess: true });
  });
});
