import { randomBytes } from 'node:crypto';
import type { InstallationSecretRepository } from './installation-secret.repository';
import type { KeyRing } from './key-ring';
import { SealedColumn } from './sealed-column';
import { keyIdOf, type SecretBox } from './secret-box';
import { SecretKeys } from './secret-keys';

const SECRET_BYTES = 32;
const COLUMN = new SealedColumn('installation', 'secret', 'is_only');
const USE = COLUMN.of('true');

/**
 * Reads the secret of the installation, and creates it on the first start. From then on, the ring seals with the key that the
 * database names.
 *
 * @throws StartError if a key in use is not in the ring. Nothing has been written then.
 */
export async function openInstallationSecret(
  repository: InstallationSecretRepository,
  ring: KeyRing,
  box: SecretBox,
): Promise<SecretKeys> {
  let stored = await repository.find();
  if (stored.secret === null) {
    const secret = randomBytes(SECRET_BYTES).toString('base64');
    await repository.create(box.seal(secret, USE), ring.sealingId);
    stored = await repository.find();
  }
  ring.check(stored.key_ids);
  ring.sealWith(keyIdOf(stored.secret!));
  return new SecretKeys(Buffer.from(box.open(stored.secret!, USE), 'base64'));
}

/** Makes a key of the ring the one that all processes seal with. */
export async function sealInstallationSecretWith(
  keyId: string,
  repository: InstallationSecretRepository,
  ring: KeyRing,
  box: SecretBox,
): Promise<void> {
  const { secret } = await repository.find();
  ring.sealWith(keyId);
  if (keyIdOf(secret!) === keyId) return;
  await repository.reseal(secret!, box.seal(box.open(secret!, USE), USE), keyId);
}
