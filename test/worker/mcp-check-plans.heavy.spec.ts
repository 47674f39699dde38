import { ownApp } from '#testing';
import { CheckRepository } from '../../src/mcp-servers/servers/checks/check.repository';
import { workOf } from '../e2e/evaluation/work.harness';
import { ServersFixture } from '../e2e/mcp-servers/servers.fixture';

const BACKLOG = 20_000;
const LIMIT = 16;
const SHARE = 4;
/** The nodes of a plan together visit each row several times. */
const ROWS_MAX = 25 * LIMIT;

describe('claiming the servers that are due', () => {
  const app = ownApp({ autovacuum: false });
  let busy: string;
  let other: string;

  beforeAll(async () => {
    const [large, small] = [await ServersFixture.create(app), await ServersFixture.create(app)];
    [busy, other] = [large.org.orgId, small.org.orgId];
    await load((await large.register()).body.server_id, BACKLOG);
    await load((await small.register()).body.server_id, 1);
  });

  const load = (serverId: string, count: number) => {
    const columns =
      'org_id, workspace_id, url, transport, auth_type, version_ordinal, version_id, created_at, updated_at, created_by';
    return app.database.query(
      `INSERT INTO mcp_servers (server_id, name, next_check_at, ${columns})
       SELECT left(server_id, 20) || lpad(n::text, 11, '0'), 'loaded ' || n, now() - n * interval '1 second', ${columns}
       FROM mcp_servers, generate_series(1, ${count}) n WHERE server_id = $1`,
      [serverId],
    );
  };
  const claimed = async (busyOrgs: string[] = []) => {
    let orgs: string[] = [];
    const [work] = await workOf(app.database, async () => {
      const due = await new CheckRepository(app.database).claimDue(LIMIT, SHARE, busyOrgs, 300);
      orgs = due.map(({ org_id }) => org_id);
    });
    return { orgs, rows: work!.rows };
  };
  const dueAgain = () =>
    app.database.query(
      "UPDATE mcp_servers SET next_check_at = now() - interval '1 hour' WHERE NOT is_system",
    );

  it.each(['without statistics', 'with statistics'])('reads no backlog: %s', async (statistics) => {
    await dueAgain();
    if (statistics === 'with statistics') await app.database.query('VACUUM (ANALYZE) mcp_servers');
    const { orgs, rows } = await claimed();
    expect([...orgs].sort()).toEqual([busy, busy, busy, busy, other, other].sort());
    expect(rows).toBeLessThan(ROWS_MAX);
    const without = await claimed([busy]);
    expect([without.orgs, without.rows < ROWS_MAX]).toEqual([[], true]);
  });

  it('reads no organizations if no server is due', async () => {
    await app.database.query(
      "UPDATE mcp_servers SET next_check_at = now() + interval '1 hour' WHERE NOT is_system",
    );
    await app.database.query('VACUUM (ANALYZE) mcp_servers');
    const { orgs, rows } = await claimed();
    expect([orgs, rows < 10]).toEqual([[], true]);
  });
});
