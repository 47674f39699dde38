import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '#platform/embedded-postgres';
import { sharedApp, newOrganization, type TestOrganization } from '#testing';

/** Number of spans, and of log records, that are sent. */
const COUNT = 12_000;
const KILLS = 2;
const PER_TRACE = 20;

/** The numbers of the records that were sent, by outcome. */
interface Sent {
  acked: Set<number>;
  abandoned: Set<number>;
}

describe(`an export of ${COUNT} records, during which the API is killed`, () => {
  const app = sharedApp();
  let organization: TestOrganization;
  let api: ChildProcess | undefined;
  let exporter: ChildProcess | undefined;

  beforeAll(async () => {
    organization = await newOrganization(app);
  });
  afterEach(() => {
    exporter?.kill('SIGKILL');
    api?.kill('SIGKILL');
  });

  /** Starts the API as operators run it, in a separate process. */
  function start(port: number): ChildProcess {
    return spawn(process.execPath, [path.resolve('dist/src/main.js')], {
      env: { PATH: process.env.PATH, ...app.env, PORT: String(port) },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  }

  async function waitUntilReady(port: number): Promise<void> {
    for (;;) {
      const response = await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => undefined);
      if (response?.ok) return;
      await delay(50);
    }
  }

  /** Starts an exporter, and kills the API after equal numbers of acknowledged records. */
  async function send(signal: 'traces' | 'logs'): Promise<Sent> {
    const { key } = await organization.serviceAccount('runtime');
    const port = await freePort();
    api = start(port);
    await waitUntilReady(port);
    const config = {
      url: `http://127.0.0.1:${port}/telemetry/v1/${signal}`,
      headers: { Authorization: `Bearer ${key}`, 'X-Service-Workspace-Id': organization.workspaceId },
    };
    exporter = spawn(
      process.execPath,
      [path.join(__dirname, 'crash-exporter.child.js'), signal, JSON.stringify(config), String(COUNT)],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );

    const sent: Sent = { acked: new Set(), abandoned: new Set() };
    const kills: { at: number; inFlight: number }[] = [];
    for await (const line of createInterface({ input: exporter.stdout! })) {
      const [outcome, ...numbers] = line.split(' ');
      const [first, count, sentAt, endedAt] = numbers.map(Number) as [number, number, number, number];
      const records = outcome === 'acked' ? sent.acked : sent.abandoned;
      for (let n = 0; n < count; n++) records.add(first + n);
      for (const kill of kills) if (sentAt < kill.at && kill.at < endedAt) kill.inFlight++;
      if (kills.length < KILLS && sent.acked.size >= ((kills.length + 1) * COUNT) / (KILLS + 1)) {
        api.kill('SIGKILL');
        await once(api, 'exit');
        kills.push({ at: Date.now(), inFlight: 0 });
        api = start(port);
      }
    }
    expect(sent.acked.size + sent.abandoned.size).toBe(COUNT);
    expect(sent.acked.size).toBeGreaterThan(COUNT / 2);
    expect(kills).toHaveLength(KILLS);
    // at each kill, exports were in flight
    expect(kills.filter(({ inFlight }) => inFlight === 0)).toEqual([]);
    return sent;
  }

  /** Expects every acknowledged record to be stored once, and no record that was not sent. */
  function expectStored(numbers: number[], { acked, abandoned }: Sent): void {
    const stored = new Set(numbers);
    expect(stored.size).toBe(numbers.length);
    expect([...acked].filter((number) => !stored.has(number))).toEqual([]);
    expect([...stored].filter((number) => !acked.has(number) && !abandoned.has(number))).toEqual([]);
  }

  it('stores every acknowledged span exactly once, and no other', async () => {
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

    // the totals of traces equal those of their spans
    const miscounted = await app.database.query(
      `SELECT trace_id FROM traces t LEFT JOIN LATERAL (SELECT count(*) AS stored, sum(input_tokens) AS tokens
           FROM spans s WHERE s.day = t.day AND s.trace_no = t.trace_no) s ON true
         WHERE workspace_id = $1 AND (span_count <> s.stored OR input_tokens <> s.tokens)`,
      [organization.workspaceId],
    );
    expect(miscounted).toEqual([]);
  }, 3_600_000);

  it('stores every acknowledged log record exactly once, and no other', async () => {
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
