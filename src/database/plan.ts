import { RELEASE } from '#platform/release';
import { type MigrateOptions, readSupported } from './migrate';
import { MigrationSession } from './migration-session';
import { BASELINES, MIGRATIONS } from './migrations';
import { blockedBy, type ContractStep, locksOf, type NamedStep, stepsOf } from './migrations/migration';
import { type BackfillProgress, SchemaRepository } from './schema.repository';
import { StepRunner } from './step-runner';
import { withSession } from './with-session';

const REMEDY = 'set DATABASE_URL to an empty database';

/**
 * Describes what `migrate` would do, without changing or locking anything: one line for each baseline or step that has not been
 * applied, with the locks that it takes, and one for each backfill that a worker has not finished.
 *
 * @throws StartError as `migrate` does
 */
export async function planMigration(
  databaseUrl: string | undefined,
  { migrations = MIGRATIONS, release = RELEASE }: MigrateOptions = {},
): Promise<string[]> {
  const lines: string[] = [];
  await withSession(databaseUrl, async (client, url) => {
    const schema = new SchemaRepository(client, release);
    const state = await readSupported(schema, release, REMEDY);
    const runner = new StepRunner(new MigrationSession(client, url), schema);
    const baselines = BASELINES.filter(({ name }) => !state.applied.has(name));
    const backfills = state.origin === 'service' ? await schema.backfills() : [];
    const pending = stepsOf(migrations).filter(({ name }) => !state.applied.has(name));
    if (baselines.length > 0)
      lines.push(`${baselines.length} baselines create the schema in the empty database`);
    lines.push(...backfills.filter((one) => !one.is_finished).map(describeBackfill));
    let backfill: string | null = null;
    for (const named of pending) {
      const isContract = named.step.kind === 'contract';
      const waits =
        isContract && backfill !== null ? `; waits until a worker has finished the backfill ${backfill}` : '';
      lines.push((await describeStep(named, schema, runner, baselines.length === 0)) + waits);
      if (named.step.kind === 'backfill' && baselines.length === 0) backfill = named.name;
    }
    if (lines.length === 0)
      lines.push(`Nothing to do: the database has the schema of release ${state.release}.`);
  });
  return lines;
}

const describeBackfill = ({ name, rows_done, rows_estimated }: BackfillProgress): string =>
  `${name}: backfill, a worker has done ${rows_done} of about ${rows_estimated} rows`;

/** @param hasTables whether the tables of the baselines exist */
async function describeStep(
  named: NamedStep,
  schema: SchemaRepository,
  runner: StepRunner,
  hasTables: boolean,
): Promise<string> {
  const { name, release, step } = named;
  const parts = [`${name}: ${step.kind} of release ${release}`];
  for (const [table, mode] of Object.entries(locksOf(step))) {
    const blocked = blockedBy(mode);
    const isBrief = step.kind === 'expand' || step.kind === 'contract';
    parts.push(
      `${mode} on ${table}, blocks ${blocked}${isBrief && blocked !== 'nothing' ? ' for a moment' : ''}`,
    );
  }
  if (Object.keys(locksOf(step)).length === 0) parts.push('locks no existing table');
  if (step.kind === 'index' && hasTables && (await schema.isPartitioned(step.table))) {
    parts.push(`SHARE on ${step.table} itself, blocks writes for a moment`, 'one partition after the other');
  }
  if (step.kind === 'backfill' && hasTables)
    parts.push(`about ${await schema.estimateRows(step.table)} rows, by a worker`);
  if (step.kind === 'contract') {
    parts.push(`afterwards, releases before ${step.oldestRelease} cannot run`);
    const reason = hasTables ? await runner.reasonToWait(named as NamedStep<ContractStep>) : null;
    if (reason !== null) parts.push(`waits because ${reason}`);
  }
  return parts.join('; ');
}
