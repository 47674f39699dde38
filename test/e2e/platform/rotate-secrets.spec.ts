import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { RotatedColumn } from '#platform/key-rotation';
import { SecretBox } from '#platform/secrets';
import { createTestApp, createTestDatabase, type TestApp, type TestDatabase, TestIssuer } from '#testing';
import { PROVIDER_SECRET } from '../../../src/model-gateway';
import { SEALED_COLUMNS as columns } from '../../../src/sealed-columns';
import {
  beatUntil,
  idOf,
  keysInUse,
  newKey,
  providerKeyOf,
  rotationOf,
  SecretUser,
  withKeys,
} from './secrets.fixture';

describe('the rotation of the key for secrets', () => {
  const [first, second] = [newKey(), newKey()];
  let database: TestDatabase;
  let issuer: TestIssuer;
  let user: SecretUser;
  const running: TestApp[] = [];

  const start = async (...keys: string[]): Promise<TestApp> => {
    const app = await createTestApp({ databaseUrl: database.url, issuer, env: withKeys(...keys) });
    running.push(app);
    return app;
  };

  beforeAll(async () => {
    database = await createTestDatabase();
    issuer = await TestIssuer.create();
  });
  afterAll(async () => {
    for (const app of running) await app.close();
    await user?.close();
    await database.drop();
  });

  it('fails no request and loses no secret, and API keys keep working', async () => {
    const old = await start(first);
    user = await SecretUser.create(old);
    const many = Array.from({ length: 1_200 }, (_, n) => `prv_many_${n}`);
    await old.database.query(
      `INSERT INTO model_providers (provider_id, org_id, workspace_id, name, kind, base_url, api_key, headers, metadata,
         generation, created_at, updated_at, created_by)
       SELECT one.id, org_id, workspace_id, one.id, kind, base_url, one.sealed, headers, metadata, 1, now(), now(), 'test'
       FROM model_providers, unnest($1::text[], $2::text[]) one (id, sealed)`,
      [many, many.map((id) => old.get(SecretBox).seal(`key of ${id}`, PROVIDER_SECRET.of(id)))],
    );

    // the restart of the processes, one by one: those with the old key open what the others store
    const one = await start(second, first);
    await user.change(one);
    expect(await user.failures(old)).toEqual([]);
    const rotation = rotationOf(one, second, first);
    await expect(rotation.run({ columns })).rejects.toThrow(
      `The key ${idOf(second)} is not in SECRETS_KEYS of api on `,
    );
    await old.close();
    const other = await start(second, first);

    let isOver = false;
    const failed: unknown[] = [];
    const stored = new Map<string, string>();
    const use = async (app: TestApp): Promise<void> => {
      while (!isOver) failed.push(...(await user.failures(app)));
    };
    const store = async (app: TestApp): Promise<void> => {
      while (!isOver) {
        const secret = newKey();
        stored.set(await user.provider(app, `stored ${stored.size}`, secret), secret);
      }
    };
    const load = [use(one), use(other), store(one)];
    const reports: RotatedColumn[] = [];
    const ended = rotation.run({ columns, onColumn: (column) => reports.push(column) });
    expect(await beatUntil(ended, one, other)).toBe(idOf(second));
    isOver = true;
    await Promise.all(load);
    expect(failed).toEqual([]);
    expect(reports.map(({ table, column, left }) => [table, column, left])).toEqual(
      columns.map(({ table, column }) => [table, column, 0]),
    );
    const providers = reports.find(({ table }) => table === 'model_providers')!;
    expect(providers.reencrypted).toBeGreaterThan(1_200);
    expect(providers.total).toBeGreaterThanOrEqual(providers.reencrypted);

    // the old key is not needed any more
    const last = await start(second);
    await one.close();
    await other.close();
    expect(await user.failures(last)).toEqual([]);
    for (const ids of Object.values(await keysInUse(last))) expect(ids).toEqual([idOf(second)]);
    expect(stored.size).toBeGreaterThan(0);
    for (const [id, secret] of stored) expect(await providerKeyOf(last, id)).toBe(secret);
    for (const id of [many[0]!, many.at(-1)!]) expect(await providerKeyOf(last, id)).toBe(`key of ${id}`);
    await last.close();
  });

  it('ends the start of a process without a key in use, in one sentence, before it writes anything', async () => {
    const app = await start(second);
    const state = () =>
      app.database
        .query(`SELECT (SELECT count(*) FROM signing_keys) AS signing, (SELECT count(*) FROM live_processes) AS live,
        (SELECT array_agg(key_id) FROM secrets_keys) AS keys, secret FROM installation`);
    const before = await state();
    const wrong = newKey();
    await expect(start(wrong)).rejects.toThrow(
      `The secrets in the database are encrypted with the key ${idOf(second)}, which SECRETS_KEYS does not hold (it holds ${idOf(wrong)});`,
    );
    expect(await state()).toEqual(before);
    await app.close();
  });

  it('covers every column with secrets', async () => {
    const app = await start(second);
    const constraints = await app.database.query<{ name: string }>(
      `SELECT conrelid::regclass || '.' || attname AS name FROM pg_constraint
       JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[1]
       WHERE contype = 'f' AND confrelid = 'secrets_keys'::regclass`,
    );
    const declared = [
      'installation.secret_sealed_by',
      ...columns.map(({ table, sealedBy }) => `${table}.${sealedBy}`),
    ];
    expect(constraints.map(({ name }) => name).sort()).toEqual(declared.sort());
    const sources = ['src', 'libs'].flatMap((root) =>
      readdirSync(root, { recursive: true, encoding: 'utf8' }).map((file) => path.join(root, file)),
    );
    const made = sources
      .filter((file) => /(?<!\.spec)\.ts$/.test(file))
      .flatMap((file) => [...readFileSync(file, 'utf8').matchAll(/new SealedColumn\('(\w+)', '(\w+)'/g)])
      .map(([, table, column]) => `${table}.${column}_sealed_by`);
    expect(made.sort()).toEqual(declared.sort());
    await app.close();
  });
});
