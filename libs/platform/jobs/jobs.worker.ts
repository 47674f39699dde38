import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { DiscoveryService, Reflector } from '@nestjs/core';
import { BullRegistrar } from '@nestjs/bullmq';
import { Environment } from '#platform/config';
import { rootLogger } from '#platform/logging';
import { DeclaredJobs } from './declared-jobs';
import { JobMetrics } from './job.metrics';
import { HANDLED_JOB, JobProcessor } from './job.processor';
import type { JobIds, JobKind } from './job-kind';
import { usesRedis } from './queue-connection';
import { WorkerShutdown } from './worker-shutdown';

type AnyProcessor = JobProcessor<JobIds>;

/** Starts the processors after everything else, and stops them before everything else. */
@Injectable()
export class JobsWorker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private started: AnyProcessor[] = [];

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly reflector: Reflector,
    private readonly declared: DeclaredJobs,
    private readonly registrar: BullRegistrar,
    private readonly shutdown: WorkerShutdown,
    private readonly environment: Environment,
    private readonly metrics: JobMetrics,
  ) {}

  /**
   * @throws Error, which stops the start, if a kind does not have exactly one handler, if no module enqueues a handled
   *   kind, or if the queue in PostgreSQL cannot be reached
   */
  async onApplicationBootstrap(): Promise<void> {
    const processors = this.processors();
    checkHandlers(
      this.declared.all(),
      processors.map(({ kind, instance }) => ({ kind, handler: instance.constructor.name })),
    );
    this.registrar.register();
    this.started = processors.map(({ kind, instance }) => {
      this.metrics.initialize(kind);
      instance.onHandled = (outcome, seconds) => this.metrics.countHandled(kind, outcome, seconds);
      return prepare(kind, instance);
    });
    const running = Promise.all(this.started.map((processor) => run(processor)));
    // Redis may come up later, but BullMQ does not retry its first connection to PostgreSQL
    if (!usesRedis(this.environment)) await running;
    else running.catch((error: unknown) => rootLogger.warn({ err: error }, 'the queue failed'));
  }

  /** Tells running jobs to finish or to hand back their work, and waits for them. */
  async beforeApplicationShutdown(): Promise<void> {
    this.shutdown.begin();
    await Promise.all([...this.started.map(({ worker }) => worker.close()), this.shutdown.finished()]);
    this.shutdown.end();
  }

  private processors(): { kind: JobKind; instance: AnyProcessor }[] {
    return this.discovery.getProviders().flatMap(({ instance }) => {
      if (!(instance instanceof JobProcessor)) return [];
      const kind = this.reflector.get<JobKind | undefined>(HANDLED_JOB, instance.constructor);
      if (!kind) throw new Error(`${instance.constructor.name} does not declare which job it handles.`);
      return [{ kind, instance: instance as AnyProcessor }];
    });
  }
}

/** Throws unless each kind has exactly one handler and no handler is left over. */
export function checkHandlers(kinds: JobKind[], handlers: { kind: JobKind; handler: string }[]): void {
  for (const kind of kinds) {
    const names = handlers.filter((one) => one.kind.name === kind.name).map((one) => one.handler);
    if (names.length === 0) throw new Error(`The job ${kind.name} has no handler.`);
    if (names.length > 1) {
      throw new Error(`The job ${kind.name} has more than one handler: ${names.join(', ')}.`);
    }
  }
  const stray = handlers.find((one) => !kinds.some((kind) => kind.name === one.kind.name));
  if (stray) {
    throw new Error(`${stray.handler} handles the job ${stray.kind.name}, which no module enqueues.`);
  }
}

function prepare(kind: JobKind, processor: AnyProcessor): AnyProcessor {
  const { worker } = processor;
  worker.concurrency = processor.concurrency;
  worker.on('failed', (job, error) =>
    rootLogger.error({ err: error, job: kind.name, ids: job?.data as unknown }, 'a job failed'),
  );
  worker.on('stalled', (id) => rootLogger.warn({ job: kind.name, job_id: id }, 'a job lost its worker'));
  worker.on('error', (error) => rootLogger.warn({ err: error, job: kind.name }, 'the queue failed'));
  return processor;
}

/** Resolves when the processor has started to take jobs. */
async function run({ worker }: AnyProcessor): Promise<void> {
  await worker.waitUntilReady();
  worker.run().catch((error: unknown) => worker.emit('error', error as Error));
}
