import { rootLogger } from '#platform/logging';
import { StartError } from '#platform/process';
import { buildIndex } from './index-build.repository';
import type { MigrationSession } from './migration-session';
import {
  type BackfillStep,
  type ContractStep,
  type IndexStep,
  isBefore,
  type LockedStep,
  type NamedStep,
  type Step,
} from './migrations/migration';
import type { SchemaRepository } from './schema.repository';

const isKind = <Kind extends Step>(named: NamedStep, kind: Kind['kind']): named is NamedStep<Kind> =>
  named.step.kind === kind;

/** Runs the steps of migrations. Each is recorded when it has ended, so that the next run continues after it. */
export class StepRunner {
  constructor(
    private readonly session: MigrationSession,
    private readonly schema: SchemaRepository,
  ) {}

  /** Runs these steps in order, except for contract steps that have to wait, which a later run tries again. */
  async run(steps: readonly NamedStep[]): Promise<void> {
    for (const named of steps) {
      if (isKind<IndexStep>(named, 'index')) await this.index(named);
      else if (isKind<BackfillStep>(named, 'backfill')) await this.backfill(named);
      else if (isKind<ContractStep>(named, 'contract')) await this.contract(named);
      else await this.expand(named as NamedStep<LockedStep>);
    }
  }

  /**
   * Returns why a contract step cannot run yet; null if it can. An earlier backfill has not finished, or a process runs that
   * still needs what the step removes.
   */
  async reasonToWait({ name, step }: NamedStep<ContractStep>): Promise<string | null> {
    const backfill = (await this.schema.backfills()).find(
      (one) => !one.is_finished && isBefore(one.name, name),
    );
    if (backfill) {
      const { name: other, rows_done, rows_estimated } = backfill;
      return `a worker has not finished the backfill ${other} (${rows_done} of about ${rows_estimated} rows)`;
    }
    const older = await this.schema.processesBefore(step.oldestRelease);
    return older.length > 0
      ? `processes older than release ${step.oldestRelease} are running (${older.join(', ')}); replace or stop them`
      : null;
  }

  private async expand({ name, step }: NamedStep<LockedStep>): Promise<void> {
    await this.session.locked(name, step.locks, async () => {
      await this.session.client.query(step.sql);
      await this.schema.record(name);
    });
    rootLogger.info({ step: name }, 'applied a migration step');
  }

  private async index(named: NamedStep<IndexStep>): Promise<void> {
    await buildIndex(this.session, named);
    await this.schema.record(named.name);
    rootLogger.info({ step: named.name }, 'applied a migration step');
  }

  private async backfill(named: NamedStep<BackfillStep>): Promise<void> {
    await this.session.transaction(async () => {
      await this.schema.declareBackfill(named);
      await this.schema.record(named.name);
    });
    rootLogger.info({ step: named.name }, 'a worker runs the backfill');
  }

  /**
   * Runs a contract step unless it has to wait. Processes that start meanwhile wait for its transaction before they are
   * ready, and exit if they are too old. So none of them starts unnoticed between the check and the commit.
   */
  private async contract(named: NamedStep<ContractStep>): Promise<void> {
    const { name, step } = named;
    const check = async () => {
      const reason = await this.reasonToWait(named);
      if (reason !== null) throw new StartError(`${reason}.`);
    };
    try {
      await check(); // before it takes locks
      await this.session.locked(name, step.locks, async () => {
        await this.schema.raiseOldestRelease(step.oldestRelease);
        await check();
        await this.session.client.query(step.sql);
        await this.schema.record(name);
      });
      rootLogger.info({ step: name }, 'applied a migration step');
    } catch (error) {
      if (!(error instanceof StartError)) throw error;
      rootLogger.warn(
        `The migration step ${name} waits: ${error.message} Every later migration tries it again.`,
      );
    }
  }
}
