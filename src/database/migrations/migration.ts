/** Lock modes of PostgreSQL for tables, weakest first. */
export type LockMode =
  | 'ROW EXCLUSIVE'
  | 'SHARE UPDATE EXCLUSIVE'
  | 'SHARE'
  | 'SHARE ROW EXCLUSIVE'
  | 'EXCLUSIVE'
  | 'ACCESS EXCLUSIVE';

/** The strongest lock on each existing table that the statements of a step take. */
export type Locks = Readonly<Record<string, LockMode>>;

/** Adds what the new release needs, in one short transaction. What older releases read and write must stay. */
interface ExpandStep {
  kind: 'expand';
  locks: Locks;
  sql: string;
}

/** Builds an index while the table is read and written. */
interface IndexStep {
  kind: 'index';
  table: string;
  /** Name of the index. */
  name: string;
  isUnique?: boolean;
  /** What follows the table in CREATE INDEX, such as `(workspace_id, name) WHERE archived_at IS NULL`. */
  definition: string;
}

/** Changes every row that existed before the expand step, in batches that a worker runs while the service is in use. */
export interface BackfillStep {
  kind: 'backfill';
  table: string;
  /** Columns of a unique index, in its order. They must not change. */
  key: readonly string[];
  /**
   * INSERT or UPDATE that reads the table `batch`, which holds the keys of up to 1,000 locked rows. It must skip rows that are
   * complete, because a batch may run again.
   */
  sql: string;
}

/** Removes what no supported release uses any more, after every earlier backfill has finished. */
export interface ContractStep {
  kind: 'contract';
  /** The oldest release that can run afterwards. It must be older than the release of the migration. */
  oldestRelease: string;
  locks: Locks;
  sql: string;
}

export type Step = ExpandStep | IndexStep | BackfillStep | ContractStep;
export type LockedStep = ExpandStep | ContractStep;
export type { IndexStep };

/** A change of the schema. Never change one that has been released. */
export interface Migration {
  /** Identifies the migration: the time of its creation in milliseconds, and a name. */
  name: string;
  /** The release that it is a part of. */
  release: string;
  steps: readonly Step[];
}

/** A step with its name, under which the database records it. */
export interface NamedStep<Kind extends Step = Step> {
  name: string;
  release: string;
  step: Kind;
}

/** Returns the steps of all migrations, in the order in which they run. */
export const stepsOf = (migrations: readonly Migration[]): NamedStep[] =>
  migrations.flatMap(({ name, release, steps }) =>
    steps.map((step, index) => ({ name: `${name}/${index + 1}`, release, step })),
  );

/** Tells whether the step of this name runs before another one. */
export const isBefore = (name: string, other: string): boolean =>
  name.localeCompare(other, 'en', { numeric: true }) < 0;

/** Returns the locks that a step takes. */
export function locksOf(step: Step): Locks {
  if ('locks' in step) return step.locks;
  return { [step.table]: step.kind === 'index' ? 'SHARE UPDATE EXCLUSIVE' : 'ROW EXCLUSIVE' };
}

/** Returns what waits for a lock of this mode. */
export function blockedBy(mode: LockMode): 'reads and writes' | 'writes' | 'nothing' {
  if (mode === 'ACCESS EXCLUSIVE') return 'reads and writes';
  return mode === 'ROW EXCLUSIVE' || mode === 'SHARE UPDATE EXCLUSIVE' ? 'nothing' : 'writes';
}
