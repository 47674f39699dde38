import { AsyncLocalStorage } from 'node:async_hooks';

/** Owner of requests before authentication. */
export const UNAUTHENTICATED = 'unauthenticated';
/** Owner of health checks. */
export const HEALTH = 'health';
/** Owner of the requests of platform principals, who have no organization. */
export const PLATFORM_OWNER = 'platform';

/** A transaction that work opens when it needs it, and that all of its statements join. */
export interface Joined {
  readonly isOpen: boolean;
  /** Work that outlives it no longer takes part. */
  readonly isEnded: boolean;
  /** Runs a write for each of several pieces of work in one transaction, which becomes that of all of them. */
  share<Result>(
    members: readonly Joined[],
    write: () => Promise<readonly (Result | Promise<Result>)[]>,
  ): Promise<SharedWrites<Result>>;
}

/** Writes in one transaction, each of which has succeeded or changed nothing. */
export interface SharedWrites<Result> {
  /** Settled promises, in the order of the members. */
  results: readonly Promise<Result>[];
  /** Resolves when the transaction has ended, after the last piece of work in it. */
  ended: Promise<void>;
}

interface CurrentWork {
  orgId: string;
  /** The work holds a database connection, and may need a second connection before it can release the first. */
  isInTransaction: boolean;
  joined?: Joined | undefined;
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
export function runTransaction<Result>(work: () => Promise<Result>): Promise<Result> {
  const { orgId = BACKGROUND, joined } = storage.getStore() ?? {};
  return storage.run({ orgId, isInTransaction: true, joined }, work);
}

/** Runs work whose statements join one transaction. */
export function runJoined<Result>(joined: Joined, work: () => Promise<Result>): Promise<Result> {
  const current = storage.getStore() ?? { orgId: BACKGROUND, isInTransaction: false };
  return storage.run({ ...current, joined }, work);
}

/** Returns the transaction that the statements of the current work join, if there is one. */
export function joinedTransaction(): Joined | undefined {
  const joined = storage.getStore()?.joined;
  return joined?.isEnded ? undefined : joined;
}

/** Runs work whose result others may share, so that it must not join the transaction of the current work. */
export function runUnjoined<Result>(work: () => Result): Result {
  const current = storage.getStore();
  if (!current?.joined) return work();
  return storage.run({ orgId: current.orgId, isInTransaction: holdsConnection(current) }, work);
}

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
  return holdsConnection(current) ? undefined : current.orgId;
}

/** Tells whether the current work is part of a transaction. */
export const isInTransaction = (): boolean => storage.getStore()?.isInTransaction === true;

const holdsConnection = ({ isInTransaction, joined }: CurrentWork): boolean =>
  isInTransaction || (joined?.isOpen === true && !joined.isEnded);
