import http from 'node:http';
import type { Pool } from 'pg';
import type { Tx } from '#platform/db';
import { type Answer, sharedApp, until } from '#testing';
import { untilSpooled } from '../evaluation/dataset-versions.fixture';
import { SkillCallers, SKILLS } from './skills.fixture';

describe('uploads of skills', () => {
  const app = sharedApp();
  let callers: SkillCallers;

  beforeAll(async () => {
    callers = await SkillCallers.of(app);
  });

  const pool = () => (app.database.dataSource.driver as unknown as { master: Pool }).master;

  /** Returns the number of statements that wait for the locks of a transaction. */
  async function waiting(tx: Tx): Promise<number> {
    const [row] = await tx.query<{ waiting: number }>(
      `SELECT count(DISTINCT pid)::int AS waiting FROM pg_locks
       WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))`,
    );
    return row!.waiting;
  }

  it('are stored two at a time, so that connections stay free', async () => {
    let sent: Promise<Answer>[] = [];
    await untilSpooled(0);
    await app.database.transaction(async (tx) => {
      await tx.query('LOCK TABLE skills IN ACCESS EXCLUSIVE MODE');
      sent = Array.from({ length: 20 }, (_, i) => callers.create({ name: `in-turn-${i}` }));
      await untilSpooled(20);
      await until(async () => (await waiting(tx)) >= 2);
      for (let requests = 0; requests < 5; requests++) {
        expect((await callers.editor.get('/registry/v1/repos')).status).toBe(200);
      }
      expect(await waiting(tx)).toBe(2);
    });
    expect((await Promise.all(sent)).map(({ status }) => status)).toEqual(sent.map(() => 201));
  });

  /** Starts an upload, waits until it waits for a lock, and disconnects its client. */
  async function abandon(path: string, body: object, lock: (tx: Tx) => Promise<unknown>): Promise<void> {
    const json = JSON.stringify({ description: 'd', instructions: 'Abandoned.', ...body });
    await untilSpooled(0);
    await app.database.transaction(async (tx) => {
      await lock(tx);
      const request = http.request(app.url + path, {
        method: 'POST',
        agent: false,
        headers: {
          authorization: `Bearer ${await callers.org.token('editor')}`,
          'content-type': 'application/json',
        },
      });
      const closed = new Promise((resolve) => request.on('error', resolve).on('close', resolve));
      request.end(json);
      await until(async () => (await waiting(tx)) === 1);
      request.destroy();
      await closed;
      await untilSpooled(0);
    });
    await until(() => pool().totalCount === pool().idleCount);
  }

  it('create no skill after their client has disconnected', async () => {
    const workspace_id = await callers.org.newWorkspace();
    await abandon(SKILLS, { workspace_id, name: 'abandoned' }, (tx) =>
      tx.query('SELECT FROM workspaces WHERE workspace_id = $1 FOR UPDATE', [workspace_id]),
    );
    expect((await callers.editor.get(`${SKILLS}?workspace_id=${workspace_id}`)).body.items).toEqual([]);
  });

  it('create no version after their client has disconnected', async () => {
    const { body: skill } = await callers.create({ name: 'of-one-version' });
    const path = `${SKILLS}/${skill.skill_id}`;
    await abandon(`${path}/versions`, {}, (tx) =>
      tx.query('SELECT FROM skills WHERE skill_id = $1 FOR UPDATE', [skill.skill_id]),
    );
    expect((await callers.editor.get(path)).body).toEqual(skill);
  });
});
