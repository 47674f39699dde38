import { AsyncLocalStorage } from 'node:async_hooks';

/** Owner of requests before authentication. */
export const UNAUTHENTICATED = 'unauthenticated';
/** Owner of health checks. */
export const HEALTH = 'health';
/** Owner of the requests of platform principals, who have no organization. */
export const PLATFORM_OWNER = 'platform';

interface CurrentWork {
  orgId: string;
  /** The work holds a database connection, and may need a second connection before it can release the first. */
  isInTransaction: boolean;
  /** Throws if the work is no longer worth starting. */
  check?: (() => void) | undefined;
}

const storage = new AsyncLocalStorage<CurrentWork>();

/** Runs a request, which is unauthenticated until `setCurrentOwner` is called. */
export const runRequest = (work: () => void): void =>
  storage.run({ orgId: UNAUTHENTICATED, isInTransaction: false }, work);

/** Sets the owner of the current request, once it is authenticated. */
export function setCurrentOwner(orgId: string): void {
  const current = storage.getStore();
  if (current) current.orgId = orgId;
}

/** Sets a check that runs once, when the current work gets its turn. It throws if the work is no longer worth starting. */
export function setCurrentCheck(check: () => void): void {
  const current = storage.getStore();
  if (current) current.check = check;
}

/** Runs the check of the current work, unless it has already run. */
export function checkCurrentWork(): void {
  const current = storage.getStore();
  const check = current?.check;
  if (!current || !check) return;
  current.check = undefined;
  check();
}

/** Runs a transaction of the current work. */
export const runTransaction = <Result>(work: () => Promise<Result>): Promise<Result> =>
  storage.run({ orgId: storage.getStore()?.orgId ?? BACKGROUND, isInTransaction: true }, work);

/** Runs work that several organizations share, such as a transaction with the exports of many, under its own name. */
export const runAs = <Result>(name: string, work: () => Result): Result =>
  storage.run({ orgId: name, isInTransaction: false }, work);

/** Owner of work outside of requests, such as jobs and periodic tasks. */
const BACKGROUND = '';

/**
 * Returns the owner whose share of a resource the current work uses: an organization, or a name. Undefined for work that
 * already holds a share and must not wait for another one.
 */
export function currentOwner(): string | undefined {
  const current = storage.getStore();
  if (!current) return BACKGROUND;
  return current.isInTransaction ? undefined : current.orgId;
}
