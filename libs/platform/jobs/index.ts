export { defineJob, type JobIds, type JobKind } from './job-kind';
export { Handles, JobHandedBack, JobPoisoned, JobProcessor } from './job.processor';
export { JobQueue } from './job-queue';
export { JobsModule } from './jobs.module';
export { JobsWorkerModule } from './jobs.worker.module';
export { PeriodicTasks } from './periodic-tasks';
export { migrateQueues } from './queue-connection';
export { WorkerShutdown } from './worker-shutdown';
