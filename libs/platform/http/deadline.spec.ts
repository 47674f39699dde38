import type { ServerResponse } from 'node:http';
import { EventEmitter, once } from 'node:events';
import net from 'node:net';
import {
  type CallHandler,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  type INestApplication,
  type NestInterceptor,
} from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { APP_FILTER, APP_INTERCEPTOR } from '@nestjs/core';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { Environment } from '#platform/config';
import { setLogLevel } from '#platform/logging';
import type { Problem } from '#platform/problem';
import { beginRequest, type ServiceRequest } from './request-context';
import { Deadline, RequestSignal } from './deadline';
import { ProblemFilter, UnauthorizedLimit } from './problem.filter';

/** The signals that the handlers received. */
const signals: AbortSignal[] = [];
const arrivals = new EventEmitter();

@Controller()
class WaitingController {
  @Get('answered')
  answered(@RequestSignal() signal: AbortSignal): string {
    signals.push(signal);
    return 'answered';
  }

  @Get('waits')
  async waits(@RequestSignal() signal: AbortSignal): Promise<string> {
    signals.push(signal);
    arrivals.emit('request');
    if (!signal.aborted) await once(signal, 'abort');
    return 'late';
  }
}

@Injectable()
class WithDeadline implements NestInterceptor {
  constructor(private readonly deadline: Deadline) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<ServiceRequest>();
    return from(this.deadline.run(context, request, () => lastValueFrom(next.handle())));
  }
}

describe('the signal of a request', () => {
  let app: INestApplication<net.Server>;

  async function start(timeoutMs: number): Promise<string> {
    const module = await Test.createTestingModule({
      controllers: [WaitingController],
      providers: [
        { provide: Environment, useValue: { REQUEST_TIMEOUT_MS: timeoutMs } },
        { provide: UnauthorizedLimit, useValue: { count: () => Promise.resolve() } },
        Deadline,
        { provide: APP_INTERCEPTOR, useClass: WithDeadline },
        { provide: APP_FILTER, useClass: ProblemFilter },
      ],
    }).compile();
    app = module.createNestApplication({ logger: false });
    app.use((request: ServiceRequest, response: ServerResponse, next: () => void) =>
      beginRequest(request, response, () => undefined, next),
    );
    await app.listen(0, '127.0.0.1');
    return `http://127.0.0.1:${(app.getHttpServer().address() as net.AddressInfo).port}`;
  }

  beforeAll(() => setLogLevel('silent'));
  beforeEach(() => (signals.length = 0));
  afterEach(() => app.close());

  it('is aborted at the deadline, with the problem of the response as its reason', async () => {
    const answer = await fetch(`${await start(50)}/waits`);
    expect(answer.status).toBe(504);
    expect(signals[0]!.aborted).toBe(true);
    expect((signals[0]!.reason as Problem).code).toBe('request_timeout');
    expect(await answer.json()).toMatchObject({ detail: (signals[0]!.reason as Problem).detail });
  });

  it('is aborted when the client disconnects', async () => {
    const { port } = new URL(await start(60_000));
    const socket = net.connect(Number(port), '127.0.0.1');
    socket.write('GET /waits HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(arrivals, 'request');
    const signal = signals[0]!;
    expect(signal.aborted).toBe(false);
    socket.destroy();
    if (!signal.aborted) await once(signal, 'abort');
    expect((signal.reason as Problem).status).toBe(408);
  });

  it('is not aborted when the response is sent', async () => {
    const url = await start(60_000);
    expect(await (await fetch(`${url}/answered`)).text()).toBe('answered');
    await (await fetch(`${url}/answered`)).text();
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false]);
  });
});
