import { type DynamicModule, Module } from '@nestjs/common';
import type { INestApplicationContext } from '@nestjs/common';
import { getQueueToken } from '@nestjs/bullmq';
import { Test } from '@nestjs/testing';
import type { Queue } from 'bullmq';
import { ConfigModule, readEnvironment } from '#platform/config';
import { Database, DatabaseModule } from '#platform/db';
import {
  defineJob,
  Handles,
  JobHandedBack,
  JobProcessor,
  JobQueue,
  JobsModule,
  JobsWorkerModule,
} from '#platform/jobs';
import { JsonLogger, setLogLevel } from '#platform/logging';
import { JobOutbox } from '../../libs/platform/jobs/job-outbox';
import { JobOutboxRepository } from '../../libs/platform/jobs/job-outbox.repository';
import { createTestDatabase, TcpProxy, type TestDatabase, until } from '#testing';
import { describeOnBothQueues } from './backends.fixture';

const PART = defineJob<{ person_id: string }>({ name: 'part', subject: 'person_id' });
const GREET = defineJob<{ person_id: string }>({ name: 'greet', subject: 'person_id' });

/** Records what the handler received, and decides what it does. */
class Greetings {
  readonly seen: string[] = [];
  private handling: (personId: string) => Promise<void> = () => Promise.resolve();
  private wake: () => void = () => undefined;

  do(handling: (personId: string) => Promise<void>): void {
    this.handling = handling;
  }

  async greet(personId: string): Promise<void> {
    this.seen.push(personId);
    this.wake();
    await this.handling(personId);
  }

  async count(count: number): Promise<void> {
    while (this.seen.length < count) await new Promise<void>((resolve) => (this.wake = resolve));
  }
}

@Handles(GREET)
class GreetProcessor extends JobProcessor<{ person_id: string }> {
  readonly concurrency = 4;
  constructor(private readonly greetings: Greetings) {
    super();
  }
  protected handle({ person_id }: { person_id: string }): Promise<void> {
    return this.greetings.greet(person_id);
  }
}

@Handles(GREET)
class SecondProcessor extends GreetProcessor {}

@Module({})
class Root {}

describeOnBothQueues('jobs', (env) => {
  let database: TestDatabase;
  let contexts: INestApplicationContext[];

  beforeAll(async () => {
    database = await createTestDatabase();
    setLogLevel('silent');
  });
  afterAll(() => database.drop());
  beforeEach(() => {
    contexts = [];
  });
  afterEach(async () => {
    await Promise.all(contexts.map((context) => context.close()));
  });

  const boot = async (module: Partial<DynamicModule>, vars: Record<string, string> = {}) => {
    const environment = readEnvironment({ DATABASE_URL: database.url, LOG_LEVEL: 'silent', ...env, ...vars });
    const root = {
      ...module,
      module: Root,
      imports: [
        ConfigModule.forRoot(environment),
        DatabaseModule.forRoot(),
        JobsModule.forRoot(),
        ...(module.imports ?? []),
      ],
    };
    const context = await Test.createTestingModule({ imports: [root] })
      .setLogger(new JsonLogger())
      .compile();
    contexts.push(context); // even if it fails to start, so that it is closed
    return context.init();
  };
  const producer = (vars?: Record<string, string>) => boot({ imports: [JobsModule.register(GREET)] }, vars);
  const worker = async (processors: (typeof GreetProcessor)[], greetings = new Greetings()) => {
    const context = await boot({
      imports: [JobsModule.register(GREET), JobsWorkerModule],
      providers: [{ provide: Greetings, useValue: greetings }, ...processors],
    });
    return { context, greetings };
  };
  const order = (from: INestApplicationContext, ...ids: string[]) =>
    from.get(Database).transaction((tx) =>
      from.get(JobQueue).enqueue(
        tx,
        GREET,
        ids.map((person_id) => ({ person_id })),
      ),
    );

  /** Enqueues jobs, and waits until they are in the queue. With Redis, they reach it only after the commit. */
  const orderAndSend = async (from: INestApplicationContext, ...ids: string[]) => {
    await order(from, ...ids);
    await until(async () => (await from.get(JobOutboxRepository).count(1)) === 0);
  };

  it('run when their transaction commits', async () => {
    const from = await producer();
    const { greetings } = await worker([GreetProcessor]);
    await order(from, 'a', 'b');
    await greetings.count(2);
    expect([...greetings.seen].sort()).toEqual(['a', 'b']);
  });

  it('do not exist when their transaction rolls back', async () => {
    const from = await producer();
    const { greetings } = await worker([GreetProcessor]);
    const failed = from.get(Database).transaction(async (tx) => {
      await from.get(JobQueue).enqueue(tx, GREET, [{ person_id: 'never' }]);
      throw new Error('no');
    });
    await expect(failed).rejects.toThrow('no');
    await order(from, 'after');
    await greetings.count(1);
    expect(greetings.seen).toEqual(['after']);
  });

  it('wait for a worker', async () => {
    await order(await producer(), 'early');
    const { greetings } = await worker([GreetProcessor]);
    await greetings.count(1);
    expect(greetings.seen).toEqual(['early']);
  });

  it('are deduplicated while one waits or runs', async () => {
    const from = await producer();
    await orderAndSend(from, 'x', 'y');
    await orderAndSend(from, 'x');
    const greetings = new Greetings();
    const finish: (() => void)[] = [];
    greetings.do(() => new Promise((resolve) => finish.push(resolve)));
    const { context } = await worker([GreetProcessor], greetings);
    await greetings.count(2);
    await orderAndSend(from, 'x');
    greetings.do(() => Promise.resolve());
    for (const one of finish) one();
    await context.close();
    contexts.splice(contexts.indexOf(context), 1);
    expect([...greetings.seen].sort()).toEqual(['x', 'y']);

    await order(from, 'x');
    const next = await worker([GreetProcessor]);
    await next.greetings.count(1);
    expect(next.greetings.seen).toEqual(['x']);
  });

  it('are retried after a failure', async () => {
    const from = await producer();
    const { greetings } = await worker([GreetProcessor]);
    greetings.do(() => Promise.reject(new Error('not yet')));
    await order(from, 'again');
    await greetings.count(1);
    greetings.do(() => Promise.resolve());
    await greetings.count(2);
    expect(greetings.seen).toEqual(['again', 'again']);
  });

  it('are passed to another worker at once when handed back', async () => {
    const from = await producer();
    const first = await worker([GreetProcessor]);
    let isAsked = false;
    first.greetings.do(async () => {
      isAsked = true;
      while (contexts.includes(first.context)) await new Promise((resolve) => setTimeout(resolve, 10));
      throw new JobHandedBack();
    });
    await order(from, 'shared');
    await first.greetings.count(1);
    expect(isAsked).toBe(true);
    contexts.splice(contexts.indexOf(first.context), 1);
    await first.context.close();
    const second = await worker([GreetProcessor]);
    await second.greetings.count(1);
    expect(second.greetings.seen).toEqual(['shared']);
  });

  it.each([
    ['has no handler', [], /greet has no handler/],
    [
      'has two handlers',
      [GreetProcessor, SecondProcessor],
      /more than one handler: GreetProcessor, SecondProcessor/,
    ],
  ])('keep a process from starting if one %s', async (_, processors, message) => {
    await expect(worker(processors)).rejects.toThrow(message);
  });

  if (env.REDIS_URL) {
    it('are accepted while Redis is unavailable, and run when it is back', async () => {
      const proxy = await TcpProxy.to(env.REDIS_URL!);
      const from = await producer({ REDIS_URL: proxy.url });
      proxy.cut();
      await order(from, 'patient');
      const rows = await from.get(Database).query('SELECT kind, ids FROM job_outbox');
      expect(rows).toEqual([{ kind: 'greet', ids: { person_id: 'patient' } }]);
      await from.close();
      contexts.splice(contexts.indexOf(from), 1);
      await proxy.close();
      const { greetings } = await worker([GreetProcessor]);
      await greetings.count(1);
      expect(greetings.seen).toEqual(['patient']);
    });

    it('are left to other processes if their kind is unknown', async () => {
      const newer = await boot({ imports: [JobsModule.register(PART)] });
      await newer.get(Database).transaction(async (tx) => {
        await newer.get(JobOutboxRepository).insert(tx, PART, [{ person_id: 'of the newer' }]);
        await newer.get(JobOutboxRepository).insert(tx, GREET, [{ person_id: 'of the older' }]);
      });
      const { context, greetings } = await worker([GreetProcessor]);
      await context.get(JobOutbox).flush();
      await greetings.count(1);
      const left = () => newer.get(Database).query('SELECT kind, ids FROM job_outbox');
      while ((await left()).length > 1) await new Promise((resolve) => setTimeout(resolve, 10));
      expect(await left()).toEqual([{ kind: 'part', ids: { person_id: 'of the newer' } }]);
      await newer.get(JobOutbox).flush();
      expect(await left()).toEqual([]);
      const queue = newer.get<Queue>(getQueueToken(PART.name) as never);
      expect((await queue.getWaiting()).map((job) => job.data as unknown)).toEqual([
        { person_id: 'of the newer' },
      ]);
    });
  }
});
