import { PlatformIdempotency1795132800100 } from './1795132800100-platform-idempotency';

/** Every migration, in the one order in which they are run. */
export const MIGRATIONS = [PlatformIdempotency1795132800100];
