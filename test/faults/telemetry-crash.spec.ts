import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '#platform/embedded-postgres';
import { createTestApp, newOrganization, type TestApp } from '#testing';

/** A million of them is what `CRASH_SPANS=1000000 npm test -- telemetry-crash` sends. */
const SPANS = Number(process.env.CRASH_SPANS ?? 10_000);
const KILLS = 3;
const PER_TRACE = 20;

describe(`an export of ${SPANS} spans, with the API killed ${KILLS} times on the way`, () => {
  let app: TestApp;
  let api: ChildProcess | undefined;
  let exporter: ChildProcess | undefined;

  beforeAll(async () => {
    app = await createTestApp();
  });
  afterAll(async () => {
    exporter?.kill('SIGKILL');
    api?.kill('SIGKILL');
    await app.close();
  });

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

  it('ends with every acknowledged span stored, none twice, and none that was not sent', async () => {
    const organization = await newOrganization(app);
    const { key } = await organization.serviceAccount('runtime');
    const port = await freePort();
    api = start(port);
    await ready(port);
    const config = {
      url: `http://127.0.0.1:${port}/telemetry/v1/traces`,
      headers: { Authorization: `Bearer ${key}`, 'X-Service-Workspace-Id': organization.workspaceId },
    };
    exporter = spawn(
      process.execPath,
      [path.join(__dirname, 'crash-exporter.child.js'), JSON.stringify(config), String(SPANS)],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );

    const acked = new Set<number>();
    const givenUp = new Set<number>();
    const kills: { at: number; underWay: number }[] = [];
    for await (const line of createInterface({ input: exporter.stdout! })) {
      const [outcome, ...numbers] = line.split(' ');
      const [first, count, sentAt, endedAt] = numbers.map(Number) as [number, number, number, number];
      const spans = outcome === 'acked' ? acked : givenUp;
      for (let n = 0; n < count; n++) spans.add(first + n);
      for (const kill of kills) if (sentAt < kill.at && kill.at < endedAt) kill.underWay++;
      if (kills.length < KILLS && acked.size >= ((kills.length + 1) * SPANS) / (KILLS + 1)) {
        api.kill('SIGKILL');
        await once(api, 'exit');
        kills.push({ at: Date.now(), underWay: 0 });
        api = start(port);
      }
    }
    expect(acked.size + givenUp.size).toBe(SPANS);
    expect(kills).toHaveLength(KILLS);
    // each had exports that were sent, and not answered
    expect(kills.filter(({ underWay }) => underWay === 0)).toEqual([]);
    expect(acked.size).toBeGreaterThan(SPANS / 2);

    const stored = await app.database.query<{ trace: string; span: number }>(
      `SELECT ltrim(trace_id, '0') AS trace, span_id AS span FROM spans JOIN traces USING (workspace_id, day, trace_no)
         WHERE workspace_id = $1`,
      [organization.workspaceId],
    );
    const ids = new Set(stored.map(({ span }) => span));
    expect(ids.size).toBe(stored.length);
    expect([...acked].filter((span) => !ids.has(span))).toEqual([]);
    expect([...ids].filter((span) => !acked.has(span) && !givenUp.has(span))).toEqual([]);
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
});
