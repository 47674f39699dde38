import { Module } from '@nestjs/common';
import { JobsWorkerModule } from '#platform/jobs';
import { MetricsModule } from '#platform/metrics';
import { BackfillRepository } from './backfill.repository';
import { Backfills } from './backfills';

/** Runs the backfills of migrations in a worker. */
@Module({ imports: [JobsWorkerModule, MetricsModule], providers: [Backfills, BackfillRepository] })
export class BackfillsModule {}
