import { Client } from 'pg';
import { Heartbeat } from '#platform/heartbeat';
import { KeyRing, SecretBox } from '#platform/secrets';
import { createTestApp, createTestDatabase, type TestApp, type TestDatabase, until } from '#testing';
import { PROVIDER_SECRET } from '../../../src/model-gateway';
import { SEALED_COLUMNS as columns } from '../../../src/sealed-columns';
import {
  idOf,
  keysInUse,
  newKey,
  providerKeyOf,
  ringOf,
  rotationOf,
  SecretUser,
  withKeys,
} from './secrets.fixture';

const alone = { columns, isOnlyProcess: true };

describe('a rotation of the key for secrets', () => {
  let database: TestDatabase;
  let app: TestApp;
  let user: SecretUser;
  let [current, next] = [newKey(), newKey()];

  beforeAll(async () => {
    database = await createTestDatabase();
    await (await createTestApp({ databaseUrl: database.url, env: withKeys(current) })).close();
    app = await createTestApp({ databaseUrl: database.url, env: withKeys(next, current) });
    user = await SecretUser.create(app);
  });
  afterAll(async () => {
    await app.close();
    await user.close();
    await database.drop();
  });
  afterEach(async () => {
    await rotationOf(app, next, current).run(alone);
    await app.get(Heartbeat).beat();
    [current, next] = [next, current];
  });

  /** Runs `work` in a transaction that stays open until the rotation waits for its locks. */
  const whileWaiting = async <Result>(
    work: (session: Client) => Promise<unknown>,
    rotate: () => Promise<Result>,
    meanwhile: () => Promise<void> = () => Promise.resolve(),
  ): Promise<Result> => {
    const session = new Client({ connectionString: database.url });
    await session.connect();
    try {
      await session.query('BEGIN');
      await work(session);
      const rotating = rotate();
      rotating.catch(() => undefined);
      await until(async () => {
        await session.query('SELECT pg_stat_clear_snapshot()');
        const { rows } = await session.query(
          "SELECT true FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
        );
        return rows.length > 0;
      });
      await meanwhile();
      await session.query('COMMIT');
      return await rotating;
    } finally {
      await session.end();
    }
  };

  it('refuses a second rotation at the same time, and the first one ends', async () => {
    const id = await user.provider(app, 'locked', 'kept');
    const lock = 'SELECT true FROM model_providers WHERE provider_id = $1 FOR UPDATE';
    const key = await whileWaiting(
      (session) => session.query(lock, [id]),
      () => rotationOf(app, next, current).run(alone),
      () =>
        expect(rotationOf(app, next, current).run(alone)).rejects.toThrow(
          'Another rotation is running; wait for its end.',
        ),
    );
    expect(key).toBe(idOf(next));
    const [row] = await app.database.query<{ sealed_by: string }>(
      'SELECT api_key_sealed_by AS sealed_by FROM model_providers WHERE provider_id = $1',
      [id],
    );
    expect(row!.sealed_by).toBe(key);
    expect(await providerKeyOf(app, id)).toBe('kept');
  });

  it('keeps a secret that changes while it is re-encrypted', async () => {
    const id = await user.provider(app, 'changed', 'before');
    const ring = ringOf(next, current);
    await whileWaiting(
      (session) =>
        session.query('UPDATE model_providers SET api_key = $2 WHERE provider_id = $1', [
          id,
          app.get(SecretBox).seal('after', PROVIDER_SECRET.of(id)),
        ]),
      () => rotationOf(app, next, current).run(alone),
    );
    expect(await providerKeyOf(app, id, new SecretBox(ring))).toBe('after');
  });

  it('re-encrypts a secret that was sealed with the old key and is stored only now', async () => {
    const id = 'prv_late';
    const sealed = app.get(SecretBox).seal('late', PROVIDER_SECRET.of(id));
    await whileWaiting(
      (session) =>
        session.query(
          `INSERT INTO model_providers (provider_id, org_id, workspace_id, name, kind, base_url, api_key, headers, metadata,
               generation, created_at, updated_at, created_by)
             SELECT $1, org_id, workspace_id, $1, kind, base_url, $2, headers, metadata, 1, now(), now(), 'test'
             FROM model_providers LIMIT 1`,
          [id, sealed],
        ),
      () => rotationOf(app, next, current).run(alone),
    );
    expect((await keysInUse(app))['model_providers.api_key']).toEqual([idOf(next)]);
    expect(await providerKeyOf(app, id)).toBe('late');
  });

  it('stores no secret under a key that is no longer in use, and the client can try again', async () => {
    await rotationOf(app, next, current).run(alone);
    app.get(KeyRing).sealWith(idOf(current)); // as a process that was suspended during the rotation
    const refused = await user.tryProvider(app, 'suspended', 'key');
    expect([refused.status, refused.body]).toEqual([
      503,
      expect.objectContaining({ detail: 'The key for stored secrets has just changed. Try again.' }),
    ]);
    await app.get(Heartbeat).beat();
    expect((await user.tryProvider(app, 'suspended', 'key')).status).toBe(201);
  });

  it('ends a process that had no heartbeats while the database lost what its release needs', async () => {
    const [before] = await app.database.query<{ oldest: string; newest: string }>(
      'SELECT oldest_release AS oldest, schema_release AS newest FROM installation',
    );
    await app.database.query(
      `UPDATE installation SET oldest_release = '1000.1.0', schema_release = '1000.2.0'`,
    );
    await expect(app.get(Heartbeat).beat()).rejects.toThrow(
      'release 1000.2.0 has migrated the database, which now requires 1000.1.0 or newer. Run release 1000.2.0.',
    );
    await app.database.query('UPDATE installation SET oldest_release = $1, schema_release = $2', [
      before!.oldest,
      before!.newest,
    ]);
  });

  it('names secrets that cannot be decrypted, and keeps the old key in use', async () => {
    const id = await user.provider(app, 'altered', 'key');
    const set = (sealed: string) =>
      app.database.query('UPDATE model_providers SET api_key = $2 WHERE provider_id = $1', [id, sealed]);
    const sealed = app.get(SecretBox).seal('key', PROVIDER_SECRET.of('another row'));
    await set(sealed);
    await expect(rotationOf(app, next, current).run(alone)).rejects.toThrow(
      `model_providers.api_key has 1 altered secrets that cannot be decrypted (${id}); set them again`,
    );
    expect((await keysInUse(app))['model_providers.api_key']).toEqual([idOf(current), idOf(next)].sort());
    const missing = createTestApp({ databaseUrl: database.url, env: withKeys(next) });
    await expect(missing).rejects.toThrow(`encrypted with the key ${idOf(current)}`);
    await user.changeProvider(app, id, 'new');
    await rotationOf(app, next, current).run(alone);
    expect(await providerKeyOf(app, id)).toBe('new');
  });
});
