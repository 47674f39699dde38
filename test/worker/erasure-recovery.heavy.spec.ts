import { setTimeout as delay } from 'node:timers/promises';
import { type ApiClient, jsonExport, newOrganization, newSpan, ownApp, WorkerProcess } from '#testing';
import { occurrencesOf, receiptOf } from './erasure.fixture';

const TRACES = 1_000;
const PER_EXPORT = 250;
const KILLS = 3;
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
    let kills = 0;
    for (; kills < KILLS; kills++) {
      const worker = await WorkerProcess.start(app);
      await delay(Math.random() * 600);
      await worker.kill();
      // the lease of the killed worker would end after a minute
      await app.database.query('UPDATE erasures SET lease_expires_at = now()');
      if ((await admin.get(path)).body.erasure_status === 'succeeded') break;
    }
    expect(kills).toBeGreaterThan(0);
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
