import net from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Controller, Get, Module } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public, RequireRole } from '#platform/auth';
import { Client } from 'pg';
import { createTestApp, newOrganization, type TestApp } from '#testing';

const MIB = 1024 * 1024;

/** What the handlers of the test saw. */
const seen = {
  started: 0,
  running: 0,
  mostRunning: 0,
  release: (): void => undefined,
  held: Promise.resolve(),
};

@ApiExcludeController()
@Controller('test')
class TestController {
  @Get('held')
  @Public()
  async hold(): Promise<object> {
    seen.started++;
    seen.mostRunning = Math.max(seen.mostRunning, ++seen.running);
    await seen.held;
    seen.running--;
    return { number: seen.started };
  }

  @Get('large')
  @RequireRole('viewer')
  large(): object {
    return { text: 'x'.repeat(12 * MIB) };
  }

  /** With the one above, more than 90 % of what an organization may hold. */
  @Get('medium')
  @RequireRole('viewer')
  medium(): object {
    return { text: 'x'.repeat(7 * MIB) };
  }
}

@Module({ controllers: [TestController] })
class TestModule {}

const hold = (): void => {
  seen.started = seen.running = seen.mostRunning = 0;
  seen.held = new Promise((resolve) => (seen.release = resolve));
};

describe('connections', () => {
  let app: TestApp;
  const sockets: net.Socket[] = [];

  beforeAll(async () => {
    app = await createTestApp({
      areas: [TestModule],
      env: {
        ANSWER_STALL_MS: '2000',
        MEMORY_BUDGET_BYTES: String(40 * MIB),
        MAX_REQUESTS_IN_FLIGHT: '40',
      },
    });
  });
  afterEach(() => {
    seen.release();
    for (const socket of sockets.splice(0)) socket.destroy();
  });
  afterAll(() => app.close());

  const connect = (): net.Socket => {
    const { hostname, port } = new URL(app.url);
    const socket = net.connect(Number(port), hostname);
    socket.on('error', () => undefined);
    sockets.push(socket);
    return socket;
  };
  const get = (path: string, token = '', headers = ''): string =>
    `GET ${path} HTTP/1.1\r\nHost: x\r\n${token && `Authorization: Bearer ${token}\r\n`}${headers}\r\n`;
  /** Returns what the service has answered once that matches the pattern, or the connection is closed. */
  const answered = async (socket: net.Socket, pattern: RegExp): Promise<string> => {
    let text = '';
    socket.setEncoding('latin1').on('data', (part: string) => (text += part));
    while (!pattern.test(text) && !socket.closed) await delay(5);
    return text;
  };
  const until = async (isSo: () => boolean): Promise<void> => {
    while (!isSo()) await delay(5);
  };

  it('have one request in flight, and answer pipelined ones in order', async () => {
    hold();
    const socket = connect();
    socket.write(get('/test/held').repeat(200));
    await until(() => seen.running === 1);
    await delay(50);
    expect(seen.started).toBe(1);
    seen.release();
    const text = await answered(socket, /"number":200\}/);
    const numbers = [...text.matchAll(/"number":(\d+)\}/g)].map(([, number]) => Number(number));
    expect(numbers).toEqual(Array.from({ length: 200 }, (_, index) => index + 1));
    expect(seen.mostRunning).toBe(1);
  });

  it('read a pipelined request with a body, and one cut anywhere, like any other', async () => {
    const socket = connect();
    const body = '{"grant_type":"none\\r\\n\\r\\n"}';
    const post = `POST /registry/v1/tokens HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const chunked = `POST /registry/v1/tokens HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n\r\n\r\n\r\n2\r\n{}\r\n0\r\n\r\n`;
    const all = get('/health/live') + post + chunked + get('/health/live') + post;
    for (let at = 0; at < all.length; at += 7) {
      socket.write(all.slice(at, at + 7));
      if (at % 70 === 0) await delay(1);
    }
    const text = await answered(socket, /(HTTP\/1\.1 [^]*){5}\}$/);
    const statuses = [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
    expect(statuses).toEqual([200, 400, 400, 200, 400]);
  });

  it('answer a large body that is full of ends of headers', async () => {
    const socket = connect();
    const body = `{}${'\r\n\r\n'.repeat(3_000)}`;
    socket.write(
      `POST /registry/v1/tokens HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}${get('/health/live')}`,
    );
    expect(await answered(socket, /"ok"/)).toMatch(/^HTTP\/1\.1 400 [^]*HTTP\/1\.1 200 /);
  });

  it('refuse pipelined expectations one by one, also if nobody reads', async () => {
    const unread = connect().pause();
    const one = get('/health/live', '', 'Expect: something\r\n');
    unread.write(one.repeat(3_000));
    await delay(300);
    const socket = connect();
    socket.write(one + get('/health/live'));
    expect(await answered(socket, /"ok"/)).toMatch(/^HTTP\/1\.1 417 [^]*problem\+json[^]*HTTP\/1\.1 200 /);
  });

  it('are closed when the client reads nothing but sends on', async () => {
    const organization = await newOrganization(app);
    const stuck = connect().pause();
    const path = get('/test/large', await organization.token('viewer'), 'Content-Length: 100000\r\n');
    stuck.write(path);
    const sending = setInterval(() => stuck.write(' '), 100);
    await delay(6_500);
    clearInterval(sending);
    expect((await answered(stuck.resume(), /never/)).length).toBeLessThan(12 * MIB);
  });

  it('are read on after the last response, so that a client that is still sending its body can read it', async () => {
    const socket = connect().pause();
    const length = 32 * MIB;
    const head = `POST /registry/v1/tokens HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
    socket.write(head);
    await new Promise((resolve) => socket.write(Buffer.alloc(length), resolve));
    expect(await answered(socket.resume(), /\}$/)).toMatch(/^HTTP\/1\.1 413 [^]*"code":"payload_too_large"/);
  });

  it('need exactly one Host', async () => {
    for (const hosts of ['', 'Host: a\r\nhost: b\r\n', 'Host: a\r\nHost: a\r\n']) {
      const socket = connect();
      socket.write(`GET /health/live HTTP/1.1\r\n${hosts}Connection: close\r\n\r\n`);
      const text = await answered(socket, /\}$/);
      expect(text).toMatch(/^HTTP\/1\.1 400 [^]*application\/problem\+json[^]*"code":"invalid_request"/);
      expect(text).toContain('Send exactly one Host header.');
    }
  });

  it('are closed when the client reads nothing, and not while it waits for the service', async () => {
    const organization = await newOrganization(app);
    const token = await organization.token('viewer');
    const stuck = connect().pause();
    stuck.write(get('/test/large', token).repeat(3));
    hold();
    const patient = connect();
    patient.write(get('/test/held'));
    await delay(6_500);
    seen.release();
    expect(await answered(patient, /"number"/)).toContain('"number":1');
    const text = await answered(stuck.resume(), /never/);
    expect(text.length).toBeLessThan(12 * MIB);
  });

  it('hold memory for what their clients have not read: more is 503, for their organization alone', async () => {
    const [greedy, other] = await Promise.all([newOrganization(app), newOrganization(app)]);
    const token = await greedy.token('viewer');
    const unread = connect().pause();
    unread.write(get('/test/large', token));
    await delay(200);
    const refused = await fetch(`${app.url}/test/large`, { headers: { authorization: `Bearer ${token}` } });
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(await refused.json()).toMatchObject({ code: 'service_overloaded' });
    const otherToken = await other.token('viewer');
    const read = await fetch(`${app.url}/test/large`, { headers: { authorization: `Bearer ${otherToken}` } });
    expect([read.status, (await read.text()).length > 12 * MIB]).toEqual([200, true]);
    unread.destroy();
    await delay(200);
    const again = await fetch(`${app.url}/test/large`, { headers: { authorization: `Bearer ${token}` } });
    expect([again.status, (await again.text()).length > 12 * MIB]).toEqual([200, true]);
  });

  it('that wait for the database do not read it if their response would not fit by then', async () => {
    const organization = await newOrganization(app);
    const viewer = (await organization.as('viewer')).in(organization.workspaceId);
    const list = () => viewer.get('/eval/v1/datasets');
    expect((await list()).status).toBe(200);
    const database = new Client({ connectionString: app.databaseUrl });
    await database.connect();
    await database.query('BEGIN; LOCK TABLE datasets');
    // the share of one organization of five connections
    const reading = [list(), list(), list()];
    await delay(300);
    const waiting = list();
    await delay(300);
    for (const path of ['/test/large', '/test/medium']) {
      connect()
        .pause()
        .write(get(path, await organization.token('viewer')));
    }
    await delay(300);
    await database.query('COMMIT');
    await database.end();
    await Promise.all(reading);
    expect(await waiting).toMatchObject({ status: 503, body: { code: 'service_overloaded' } });
  });

  it('with a new credential wait for each other instead of being refused', async () => {
    const organization = await newOrganization(app);
    const headers = { authorization: `Bearer ${await organization.token('viewer')}` };
    const { databaseUrl, issuer } = app;
    const roomy = await createTestApp({ areas: [TestModule], databaseUrl, issuer });
    const database = new Client({ connectionString: databaseUrl });
    await database.connect();
    await database.query('BEGIN; LOCK TABLE users');
    const get = (): Promise<number> =>
      fetch(`${roomy.url}/registry/v1/me`, { headers }).then(({ status }) => status);
    const answers = Array.from({ length: 100 }, get);
    await delay(1_000);
    await database.query('COMMIT');
    const statuses = await Promise.all(answers);
    await database.end();
    await roomy.close();
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
  });

  it('without a credential have half of the requests in flight; others are answered meanwhile', async () => {
    const organization = await newOrganization(app);
    const viewer = await organization.as('viewer');
    expect((await viewer.get('/registry/v1/me')).status).toBe(200);
    hold();
    const many = Array.from({ length: 60 }, () => connect());
    for (const socket of many) socket.write(get('/test/held'));
    await until(() => seen.started === 20);
    const extra = connect();
    extra.write(get('/test/held'));
    const text = await answered(extra, /\}$/);
    expect(text).toMatch(/^HTTP\/1\.1 503 [^]*Retry-After: 1[^]*"code":"service_overloaded"/);
    expect((await fetch(`${app.url}/health/ready`)).status).toBe(200);
    expect((await viewer.get('/registry/v1/me')).status).toBe(200);
    expect(seen.started).toBe(20);
  });
});
