import { ownApp } from '#testing';
import { workOf } from '../evaluation/work.harness';
import { SERVERS, ServersFixture } from './servers.fixture';

const REGISTRY = '/mcp/v1/registry/v0.1/servers';
const COUNT = 20_000;
const LIMIT = 10;

/** The maximum number of rows that a page reads: its own, their versions, and a few for the access check. */
const ROWS_MAX = 12 * LIMIT;

describe('a page of the registry listing, from a table without statistics', () => {
  const app = ownApp({ autovacuum: false });
  let on: ServersFixture;

  beforeAll(async () => {
    on = await ServersFixture.create(app);
    const { body } = await on.register();
    const columns =
      'org_id, workspace_id, url, transport, auth_type, version_ordinal, version_id, created_at, created_by';
    await app.database.query(
      `INSERT INTO mcp_servers (server_id, name, updated_at, ${columns})
       SELECT 'mcps_' || lpad(n::text, 26, '0'), 'loaded ' || n, created_at - n * interval '1 minute', ${columns}
       FROM mcp_servers, generate_series(1, ${COUNT}) n WHERE server_id = $1`,
      [body.server_id],
    );
    await app.database.query(
      `INSERT INTO mcp_server_versions (server_id, name, ${columns})
       SELECT server_id, name, ${columns} FROM mcp_servers WHERE server_id <> $1`,
      [body.server_id],
    );
  });

  const readBy = async (query: string): Promise<{ rows: number; servers: any[]; cursor: string }> => {
    let answer: any;
    const works = await workOf(app.database, async () => {
      answer = (await on.editor.get(`${REGISTRY}?limit=${LIMIT}${query}`)).body;
    });
    const rows = Math.max(
      ...works.filter(({ statement }) => /page_key/.test(statement)).map((one) => one.rows),
    );
    return { rows, servers: answer.servers, cursor: answer.metadata.nextCursor };
  };

  it.each([
    ['newest first', '', '-created_at\nmcps_00000000000000000000000100'],
    ['by last change', '&updated_since=2020-01-01T00:00:00Z', null],
  ])('reads few rows at any depth: %s', async (_, query, deep) => {
    const first = await readBy(query);
    expect([first.servers.length, first.rows < ROWS_MAX]).toEqual([LIMIT, true]);
    const [position, mark] = first.cursor.split('~');
    const at = deep === null ? position : Buffer.from(deep).toString('base64url');
    const cursor = `${at}~${mark}`;
    const next = await readBy(`${query}&cursor=${cursor}`);
    expect([next.servers.length, next.rows < ROWS_MAX]).toEqual([LIMIT, true]);
  });

  it('reads few rows for a caller of one small workspace', async () => {
    const small = await on.org.newWorkspace();
    const owner = await on.org.as('owner');
    for (const name of ['a', 'b']) {
      await owner.post(SERVERS, { workspace_id: small, name, url: 'https://mcp.example.com/mcp' });
    }
    const token = await on.org.tokenOf('usr_small', { roles: ['viewer'], workspace_ids: [small] });
    for (const query of ['', '&updated_since=2020-01-01T00:00:00Z']) {
      let servers: unknown[] = [];
      const works = await workOf(app.database, async () => {
        servers = (await app.api(token).get(`${REGISTRY}?limit=${LIMIT}${query}`)).body.servers;
      });
      expect([servers.length, Math.max(...works.map(({ rows }) => rows)) < ROWS_MAX]).toEqual([2, true]);
    }
  });

  it('reads few rows for one server by its name', async () => {
    const works = await workOf(app.database, async () => {
      const name = encodeURIComponent('localhost/mcps_00000000000000000000010000');
      expect((await on.editor.get(`${REGISTRY}/${name}/versions/latest`)).status).toBe(200);
      expect((await on.editor.get(`${REGISTRY}/${name}/versions`)).body.servers).toHaveLength(1);
    });
    expect(Math.max(...works.map(({ rows }) => rows))).toBeLessThan(ROWS_MAX);
  });
});
