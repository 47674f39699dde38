import { randomBytes } from 'node:crypto';
import { SecretKeys } from '#platform/secrets';
import { DeletedTraces } from '../src/telemetry/deletion/deleted-traces';
import { TombstoneRepository } from '../src/telemetry/deletion/tombstone.repository';

/** Returns the memory of deleted traces, which is empty because its key is new. */
export const noDeletedTraces = (): DeletedTraces =>
  new DeletedTraces(new TombstoneRepository(new SecretKeys(randomBytes(32))));
