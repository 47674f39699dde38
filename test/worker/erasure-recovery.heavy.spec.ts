import {
  type ApiClient,
  jsonExport,
  newOrganization,
  newSpan,
  ownApp,
  type TestApp,
  until,
  WorkerProcess,
} from '#testing';
import { Erasures } from '../../src/resources';
import { occurrencesOf, receiptOf } from './erasure.fixture';

const TRACES = 1_000;
const PER_EXPORT = 250;
const USER = 'killed-zqxjkvbw';

describe('an erasure whose workers are killed', () => {
  const app = ownApp();
  let admin: ApiClient;
  let workspace_id: string;

  beforeAll(async () => {
    const org = await newOrganization(app);
    workspace_id = org.workspaceId;
    admin = await org.as('owner');
  });

  it('erases everything once, and counts each row once', async () => {
    for (let sent = 0; sent < TRACES; sent += PER_EXPORT) {
      const spans = Array.from({ length: PER_EXPORT }, (_, n) =>
        newSpan({ name: `${USER} ${n}`, attributes: { 'user.id': n % 2 === 0 ? USER : 'another' } }),
      );
      expect((await admin.post('/telemetry/v1/traces', jsonExport(spans))).status).toBe(200);
    }
    const subject = { kind: 'end_user', id: USER };
    const { body } = await admin.post('/registry/v1/erasures', { subject, workspace_id });
    const path = `/registry/v1/erasures/${body.erasure_id}`;
    // Traces are erased in the order of their ids, 200 in a batch. The locks of tables do not block the wait for open exports.
    const trace = `SELECT trace_id FROM traces WHERE user_id = '${USER}' ORDER BY trace_id OFFSET 250 LIMIT 1`;
    const holds = [
      { lock: 'LOCK TABLE spans IN SHARE MODE', waits: 'DELETE FROM spans', erased: undefined },
      { lock: `SELECT FROM traces WHERE trace_id = (${trace}) FOR UPDATE`, waits: 'FOR UPDATE', erased: 200 },
      {
        lock: 'LOCK TABLE erasure_items IN SHARE MODE',
        waits: 'DELETE FROM erasure_items',
        erased: TRACES / 2,
      },
    ];
    for (const { lock, waits, erased } of holds) {
      await killWhileHeld(app, lock, waits);
      const { erasure_status, counts } = (await admin.get(path)).body;
      expect([erasure_status, counts.traces]).toEqual(['running', erased]);
      await giveBack(app);
    }
    const worker = await WorkerProcess.start(app);
    try {
      const { counts } = await receiptOf(admin, body.erasure_id as string);
      expect(counts).toMatchObject({ traces: TRACES / 2, spans: TRACES / 2 });
    } finally {
      await worker.stop();
    }
    const left = await app.database.query(`SELECT 1 FROM traces WHERE user_id = $1`, [USER]);
    expect(left).toEqual([]);
    expect((await occurrencesOf(app, [`"${USER}"`])).map(({ table }) => table)).toEqual([]);
    const kept = await app.database.query<{ count: number }>(
      `SELECT count(*) AS count FROM traces WHERE workspace_id = $1`,
      [workspace_id],
    );
    expect(kept[0]!.count).toBe(TRACES / 2);
  }, 240_000);
});

/** Gives the erasure of a killed worker to the next one, for which its lease and the queue would wait longer. */
async function giveBack(app: TestApp): Promise<void> {
  await app.database.query('UPDATE erasures SET lease_expires_at = now()');
  await app.database.query('DELETE FROM bullmq.dedup');
  await app.database.query('DELETE FROM bullmq.job');
  await app.get(Erasures).enqueueWaiting();
}

/** Starts a worker, and kills it while a statement of it waits for a lock of this test. */
async function killWhileHeld(app: TestApp, lock: string, waits: string): Promise<void> {
  await app.database.transaction(async (tx) => {
    await tx.query(lock);
    const worker = await WorkerProcess.start(app);
    try {
      await until(async () => {
        const waiting = await app.database.query(
          `SELECT 1 FROM pg_stat_activity
           WHERE datname = current_database() AND wait_event_type = 'Lock' AND position($1 IN query) > 0`,
          [waits],
        );
        return waiting.length > 0;
      });
    } finally {
      await worker.kill();
    }
  });
}
