import { ownApp } from '#testing';
import { workOf } from '../evaluation/work.harness';
import { FileCallers, FILES } from './files.fixture';

/**
 * Lists read about as many rows as they return. Without statistics, the planner expects few files in an organization and
 * sorts all of them, so only narrow lists are tested before statistics exist.
 */
describe('the list of many files', () => {
  const app = ownApp({ autovacuum: false });
  let callers: FileCallers;
  let versions: string;

  beforeAll(async () => {
    callers = await FileCallers.of(app);
    const { view, path } = await callers.created('x', { name: 'first' });
    versions = `${path}/versions`;
    const { orgId: org_id } = callers.org;
    // one of forty files is in the workspace
    const others = await Promise.all(Array.from({ length: 3 }, () => callers.org.newWorkspace()));
    await app.database.query(
      `INSERT INTO files (file_id, org_id, workspace_id, name, metadata, media_type, size_bytes, sha256, version_ordinal,
                          version_id, app, sync_state, generation, created_at, updated_at, created_by)
       SELECT 'file_' || lpad(n::text, 26, '0'), $1, CASE n % 40 WHEN 0 THEN $2 ELSE ($4::text[])[n % 3 + 1] END,
              'file ' || n || ' of w' || n % 500, '{}', 'type/t' || n % 500, 1, $3, 1, 'ver_' || n,
              CASE WHEN n % 200 = 0 THEN 'app-' || n % 1000 END,
              CASE n % 200 WHEN 0 THEN (ARRAY['pending', 'synced', 'drifted', 'failed'])[n / 200 % 4 + 1] ELSE 'unmanaged' END,
              1, now() - n * interval '1 s', now() - n * interval '1 s', 'test'
       FROM generate_series(1, 20000) n`,
      [org_id, callers.org.workspaceId, view.sha256, others],
    );
    await app.database.query(
      `INSERT INTO file_versions (file_id, version_ordinal, version_id, org_id, workspace_id, name, media_type, size_bytes,
                                  sha256, created_at, created_by)
       SELECT CASE n % 10 WHEN 0 THEN $1 ELSE 'file_' || lpad((n % 10)::text, 26, '0') END, n / 10 + 2, 'ver_' || n, $2, $3,
              'x', 'a/b', 1, $4, now(), 'test'
       FROM generate_series(1, 20000) n`,
      [view.file_id, org_id, callers.org.workspaceId, view.sha256],
    );
  });

  const NARROW = [
    'limit=20&workspace_id=W',
    'limit=20&workspace_id=W&sort=name',
    'limit=20&workspace_id=W&sort=updated_at',
    'limit=20&media_type=type/t7',
    'limit=20&name=file%207%20of%20w7',
    'limit=20&app=app-200',
    'limit=20&sync_state=drifted',
  ];
  const WIDE = ['limit=20', 'limit=20&sort=created_at', 'limit=20&sort=name', 'limit=20&sort=-updated_at'];

  it.each([
    ['without statistics', NARROW],
    ['with stale statistics', [...NARROW, ...WIDE]],
    ['with statistics', [...NARROW, ...WIDE, 'limit=20&q=w77']],
  ])('reads few rows %s', async (state, queries) => {
    if (state === 'with stale statistics') {
      await app.database.query('ANALYZE files, file_versions');
      await app.database.query(
        `UPDATE files SET updated_at = updated_at + interval '1 hour' WHERE file_id LIKE '%7'`,
      );
    } else if (state === 'with statistics') {
      await app.database.query('VACUUM (ANALYZE) files, file_versions');
    }
    const read: unknown[] = [];
    const targets = queries.map((one) => `${FILES}?${one}`);
    if (state !== 'without statistics') targets.push(`${versions}?limit=20`);
    for (const query of targets) {
      const target = query.replace('=W', `=${callers.org.workspaceId}`);
      let returned = 0;
      const works = await workOf(app.database, async () => {
        const { body } = await callers.editor.get(target);
        returned = (body.items as unknown[]).length;
      });
      expect([query, returned > 0]).toEqual([query, true]);
      // ignore the count, which reads all rows that it counts
      const rows = works.filter(({ statement }) => /page_key/.test(statement) && !/count\(/.test(statement));
      expect([query, rows.length > 0]).toEqual([query, true]);
      const most = Math.max(...rows.map((work) => work.rows));
      if (most > 1_000) read.push([query, returned, most]);
    }
    expect(read).toEqual([]);
  });
});
