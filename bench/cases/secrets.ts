import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { readEnvironment } from '#platform/config';
import { startEmbeddedPostgres } from '#platform/embedded-postgres';
import { LiveProcessRepository } from '#platform/heartbeat';
import { KeyRotation, SealedSecretRepository } from '#platform/key-rotation';
import { InstallationSecretRepository, KeyRing, openInstallationSecret, SecretBox } from '#platform/secrets';
import { migrate } from '../../src/database/migrate';
import { PROVIDER_SECRET } from '../../src/model-gateway';
import { Direct } from '../direct';
import { median } from '../measure';

const SECRETS = 100_000;
const ROUNDS = 3;

/** Rotates the key of 100,000 secrets, and compares the time with one `UPDATE` that replaces the same secrets. */
export async function rotateSecrets(): Promise<void> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'bench-'));
  const postgres = await startEmbeddedPostgres({ dataDir: path.join(directory, 'postgres') });
  try {
    await migrate(postgres.url);
    const direct = new Direct(postgres.url, 4);
    try {
      await compare(postgres.url, direct);
    } finally {
      await direct.close();
    }
  } finally {
    await postgres.stop();
    await rm(directory, { recursive: true });
  }
}

async function compare(url: string, direct: Direct): Promise<void> {
  const environment = readEnvironment({ DATABASE_URL: url });
  const ringOf = (keys: string[]): KeyRing => new KeyRing({ SECRETS_KEY: undefined, SECRETS_KEYS: keys });
  const [older, newer] = [0, 1].map(() => randomBytes(32).toString('base64'));
  const installation = new InstallationSecretRepository(direct.database);
  const olderBox = new SecretBox(ringOf([older!]));
  await openInstallationSecret(installation, ringOf([older!]), olderBox);
  await direct.query(`
    INSERT INTO organizations (org_id, name, created_by) VALUES ('org', 'org', 'bench');
    INSERT INTO workspaces (workspace_id, org_id, name, created_by) VALUES ('wsp', 'org', 'wsp', 'bench');
    CREATE TABLE sealed (id text COLLATE "C" PRIMARY KEY, secret text)`);
  for (let from = 0; from < SECRETS; from += 10_000) {
    const ids = Array.from({ length: 10_000 }, (_, n) => `prv_${String(from + n).padStart(12, '0')}`);
    const sealed = ids.map((id) =>
      olderBox.seal(`sk-${randomBytes(24).toString('hex')}`, PROVIDER_SECRET.of(id)),
    );
    await direct.query('INSERT INTO sealed SELECT * FROM unnest($1::text[], $2::text[])', [ids, sealed]);
  }
  await direct.query(
    `INSERT INTO model_providers (provider_id, org_id, workspace_id, name, kind, base_url, api_key, headers, metadata,
       generation, created_at, updated_at, created_by)
     SELECT id, 'org', 'wsp', id, 'openai', 'https://api.example.com/v1', secret, '{}', '{}', 1, now(), now(), 'bench' FROM sealed`,
  );
  const [first] = await direct.query<{ secret: string }>('SELECT secret FROM installation');
  const timed = async (work: () => Promise<unknown>): Promise<number> => {
    await direct.query('VACUUM (ANALYZE) model_providers');
    const startedAt = performance.now();
    await work();
    return performance.now() - startedAt;
  };
  const [rotations, updates]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    const ring = ringOf([newer!, older!]);
    const rotation = new KeyRotation(
      ring,
      new SecretBox(ring),
      installation,
      new SealedSecretRepository(environment, direct.database),
      new LiveProcessRepository(direct.database),
    );
    rotations.push(
      await timed(async () => {
        await rotation.run({
          columns: [PROVIDER_SECRET],
          isOnlyProcess: true,
          onColumn: ({ reencrypted }) => {
            if (reencrypted !== SECRETS) throw new Error(`re-encrypted ${reencrypted} secrets`);
          },
        });
      }),
    );
    await direct.query('INSERT INTO secrets_keys VALUES ($1)', [ring.ids[1]]);
    updates.push(
      await timed(() =>
        direct.query('UPDATE model_providers SET api_key = secret FROM sealed WHERE id = provider_id'),
      ),
    );
    await direct.query('UPDATE installation SET secret = $1', [first!.secret]);
    await direct.query('DELETE FROM secrets_keys WHERE key_id = $1', [ring.ids[0]]);
  }
  const [ms, directMs] = [median(rotations), median(updates)];
  process.stdout.write(
    `${SECRETS} secrets are re-encrypted in ${(ms / 1000).toFixed(1)} s (${((SECRETS / ms) * 1000).toFixed(0)} per second); UPDATE ${(directMs / 1000).toFixed(1)} s; ratio ${(ms / directMs).toFixed(2)}\n`,
  );
}
