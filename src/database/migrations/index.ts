import { PlatformIdempotency1795132800100 } from './1795132800100-platform-idempotency';
import { RegistryAccounts1795132800200 } from './1795132800200-registry-accounts';

/** Every migration, in the one order in which they are run. */
export const MIGRATIONS = [PlatformIdempotency1795132800100, RegistryAccounts1795132800200];
