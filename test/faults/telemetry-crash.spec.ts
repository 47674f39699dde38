import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '#platform/embedded-postgres';
import { createTestApp, newOrganization, sized, type TestApp, type TestOrganization } from '#testing';

/** Spans, and log records, that are sent. */
const COUNT = sized(10_000, 1_000_000);
const KILLS = 3;
const PER_TRACE = 20;

/** Numbers of what was sent, by what became of it. */
interface Sent {
  acked: Set<number>;
  givenUp: Set<number>;
}

describe(`an export of ${COUNT} records, with the API killed ${KILLS} times on the way`, () => {
  let app: TestApp;
  let organization: TestOrganization;
  let api: ChildProcess | undefined;
  let exporter: ChildProcess | undefined;

  beforeAll(async () => {
    app = await createTestApp();
    organization = await newOrganization(app);
  });
  afterEach(() => {
    exporter?.kill('SIGKILL');
    api?.kill('SIGKILL');
  });
  afterAll(() => app.close());

  /** The API as operators run it, in a process of its own. */
  function start(port: number): ChildProcess {
    return spawn(process.execPath, [path.resolve('dist/src/main.js')], {
      env: { PATH: process.env.PATH, ...app.env, PORT: String(port) },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  }

  async function ready(port: number): Promise<void> {
    for (;;) {
      const answer = await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => undefined);
      if (answer?.ok) return;
      await delay(50);
    }
  }

  /** Has a program send them, and kills the API each time that so many more of them are acknowledged. */
  async function send(signal: 'traces' | 'logs'): Promise<Sent> {
    const { key } = await organization.serviceAccount('runtime');
    const port = await freePort();
    api = start(port);
    await ready(port);
    const config = {
      url: `http://127.0.0.1:${port}/telemetry/v1/${signal}`,
      headers: { Authorization: `Bearer ${key}`, 'X-Service-Workspace-Id': organization.workspaceId },
    };
    exporter = spawn(
      process.execPath,
      [path.join(__dirname, 'crash-exporter.child.js'), signal, JSON.stringify(config), String(COUNT)],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );

    const sent: Sent = { acked: new Set(), givenUp: new Set() };
    const kills: { at: number; underWay: number }[] = [];
    for await (const line of createInterface({ input: exporter.stdout! })) {
      const [outcome, ...numbers] = line.split(' ');
      const [first, count, sentAt, endedAt] = numbers.map(Number) as [number, number, number, number];
      const records = outcome === 'acked' ? sent.acked : sent.givenUp;
      for (let n = 0; n < count; n++) records.add(first + n);
      for (const kill of kills) if (sentAt < kill.at && kill.at < endedAt) kill.underWay++;
      if (kills.length < KILLS && sent.acked.size >= ((kills.length + 1) * COUNT) / (KILLS + 1)) {
        api.kill('SIGKILL');
        await once(api, 'exit');
        kills.push({ at: Date.now(), underWay: 0 });
        api = start(port);
      }
    }
    expect(sent.acked.size + sent.givenUp.size).toBe(COUNT);
    expect(sent.acked.size).toBeGreaterThan(COUNT / 2);
    expect(kills).toHaveLength(KILLS);
    // each had exports that were sent, and not answered
    expect(kills.filter(({ underWay }) => underWay === 0)).toEqual([]);
    return sent;
  }

  /** Every acknowledged one is there, none twice, and none that was not sent. */
  function expectStored(numbers: number[], { acked, givenUp }: Sent): void {
    const stored = new Set(numbers);
    expect(stored.size).toBe(numbers.length);
    expect([...acked].filter((number) => !stored.has(number))).toEqual([]);
    expect([...stored].filter((number) => !acked.has(number) && !givenUp.has(number))).toEqual([]);
  }

  it('ends with every acknowledged span stored, none twice, and none that was not sent', async () => {
    const sent = await send('traces');
    const stored = await app.database.query<{ trace: string; span: number }>(
      `SELECT ltrim(trace_id, '0') AS trace, span_id AS span FROM spans JOIN traces USING (workspace_id, day, trace_no)
         WHERE workspace_id = $1`,
      [organization.workspaceId],
    );
    expectStored(
      stored.map(({ span }) => span),
      sent,
    );
    const wrong = stored.filter(({ trace, span }) => parseInt(trace, 16) !== Math.ceil(span / PER_TRACE));
    expect(wrong).toEqual([]);

    // what a trace tells of its spans is what is there
    const miscounted = await app.database.query(
      `SELECT trace_id FROM traces t LEFT JOIN LATERAL (SELECT count(*) AS there, sum(input_tokens) AS tokens
           FROM spans s WHERE s.day = t.day AND s.trace_no = t.trace_no) s ON true
         WHERE workspace_id = $1 AND (span_count <> s.there OR input_tokens <> s.tokens)`,
      [organization.workspaceId],
    );
    expect(miscounted).toEqual([]);
  }, 3_600_000);

  it('ends with every acknowledged log record stored, none twice, and none that was not sent', async () => {
    const sent = await send('logs');
    const stored = await app.database.query<{ number: number }>(
      `SELECT (body #>> '{}')::int AS number FROM log_records WHERE workspace_id = $1`,
      [organization.workspaceId],
    );
    expectStored(
      stored.map(({ number }) => number),
      sent,
    );
  }, 3_600_000);
});
