import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { sql } from '#platform/db';
import { BlobStore } from '#platform/storage';
import { type ApiClient, newOrganization, sharedApp, type TestOrganization, until } from '#testing';

describe('deleted bytes', () => {
  const app = sharedApp();
  let org: TestOrganization;
  let owner: ApiClient;
  let workspace_id: string;

  beforeEach(async () => {
    org = await newOrganization(app);
    owner = await org.as('owner');
    workspace_id = org.workspaceId;
  });

  /** Runs the clean-up, and counts the objects of the organization that are left in the storage. */
  async function objects(): Promise<number> {
    await app.get(BlobStore).deleteOrphans();
    const directory = path.join(fileURLToPath(app.env.STORAGE_URL!), 'objects', org.orgId);
    return (await readdir(directory).catch(() => [])).length;
  }

  const usedBytes = async (): Promise<number> => (await owner.get('/registry/v1/usage')).body.file_bytes.used;

  const upload = async (name: string, content: string) => {
    const to = `/file/v1/files?${new URLSearchParams({ workspace_id, name }).toString()}`;
    return owner.post(to, Buffer.from(content), { 'content-type': 'text/plain' });
  };
  const created = async (name: string, content: string): Promise<string> =>
    (await upload(name, content)).headers.get('location')!;
  const remove = async (resource: string): Promise<void> => {
    expect((await owner.post(`${resource}/archive`)).status).toBe(200);
    expect((await owner.delete(resource)).status).toBe(204);
  };

  it('of a file leave the storage with their last reference', async () => {
    const first = await created('first', 'the same');
    const second = await created('second', 'the same');
    await remove(first);
    expect([await objects(), await usedBytes()]).toEqual([1, 8]);
    expect((await owner.get(`${second}/content`)).status).toBe(200);
    await remove(second);
    expect([await objects(), await usedBytes()]).toEqual([0, 0]);
  });

  it('of a version of a file leave the storage, and those of others stay', async () => {
    const file = await created('versions', 'one');
    await owner.post(`${file}/versions`, Buffer.from('two'), { 'content-type': 'text/plain' });
    expect(await owner.delete(`${file}/versions/2`)).toMatchObject({ status: 409 });
    expect((await owner.delete(`${file}/versions/1`)).status).toBe(204);
    expect((await owner.get(`${file}/versions/1/content`)).status).toBe(404);
    expect([await objects(), await usedBytes()]).toEqual([1, 3]);
    expect((await owner.get(`${file}/content`)).status).toBe(200);
  });

  it('of a skill leave the database with their last reference', async () => {
    const skill = (name: string) => ({
      workspace_id,
      name,
      description: 'Adds.',
      instructions: '# How',
      files: [{ path: 'shared.txt', content: 'shared by both', encoding: 'utf-8' }],
    });
    const make = async (name: string): Promise<string> =>
      (await owner.post('/skill/v1/skills', skill(name))).headers.get('location')!;
    const contents = async (): Promise<string[]> => {
      const rows = await app.database.query<{ text: string }>(
        sql`SELECT convert_from(data, 'UTF8') AS text FROM skill_blobs WHERE org_id = ${org.orgId}`,
      );
      return rows.map(({ text }) => text);
    };
    const [first, second] = [await make('first'), await make('second')];
    await owner.patch(first, { description: 'Subtracts.' });
    expect((await contents()).length).toBe(4);
    expect((await owner.delete(`${first}/versions/1`)).status).toBe(204);
    expect((await contents()).length).toBe(3);
    await remove(first);
    expect((await contents()).sort()).toEqual([expect.stringContaining('name: second'), 'shared by both']);
    expect((await owner.get(`${second}/versions/1/content`)).status).toBe(200);
    await remove(second);
    expect([await contents(), await usedBytes()]).toEqual([[], 0]);
  });

  it.each([
    ['deleted before', 'delete'],
    ['uploaded before', 'upload'],
  ])('that are uploaded again at the same time are not lost if they are %s', async (_, first) => {
    const old = await created('old', 'the same');
    expect((await owner.post(`${old}/archive`)).status).toBe(200);
    const waiting = async (count: number): Promise<void> =>
      until(async () => {
        const [row] = await app.database.query<{ count: number }>(
          sql`SELECT count(*) AS count FROM pg_locks l JOIN pg_stat_activity a USING (pid)
            WHERE NOT l.granted AND a.datname = current_database()`,
        );
        return row!.count >= count;
      });
    const start = { delete: () => owner.delete(old), upload: () => upload('new', 'the same') };
    const order = first === 'delete' ? (['delete', 'upload'] as const) : (['upload', 'delete'] as const);
    const running: Promise<{ status: number }>[] = [];
    // both wait for the row of the bytes, in this order
    await app.database.transaction(async (tx) => {
      await tx.query(sql`SELECT 1 FROM blobs WHERE org_id = ${org.orgId} FOR UPDATE`);
      for (const [index, one] of order.entries()) {
        running.push(start[one]());
        await waiting(index + 1);
      }
    });
    const statuses = (await Promise.all(running)).map(({ status }) => status);
    expect(statuses).toEqual(first === 'delete' ? [204, 201] : [201, 204]);
    expect([await objects(), await usedBytes()]).toEqual([1, 8]);
    const { items } = (await owner.get('/file/v1/files')).body;
    expect((await owner.get(`/file/v1/files/${items[0].file_id}/content`)).status).toBe(200);
  });
});
