import { sharedApp } from '#testing';
import { FileCallers, FILES } from './files.fixture';

describe('the list of files', () => {
  const app = sharedApp();
  let callers: FileCallers;
  let other: string;

  beforeAll(async () => {
    callers = await FileCallers.of(app);
    other = await callers.org.newWorkspace();
    for (const [name, type] of [
      ['alpha report.csv', 'text/csv'],
      ['beta report.json', 'application/json'],
      ['gamma notes.csv', 'text/csv'],
    ] as const) {
      await callers.created(name, { name }, type);
    }
    await callers.created('elsewhere', { name: 'alpha report.csv', workspace_id: other }, 'text/csv');
    const archived = await callers.created('old', { name: 'old report.csv' }, 'text/csv');
    await callers.admin.post(`${archived.path}/archive`);
  });

  const names = async (query: string): Promise<string[]> => {
    const { status, body } = await callers.editor.get(`${FILES}?${query}`);
    expect([query, status]).toEqual([query, 200]);
    return (body.items as { name: string }[]).map(({ name }) => name);
  };

  it.each([
    ['sort=name', ['alpha report.csv', 'alpha report.csv', 'beta report.json', 'gamma notes.csv']],
    ['', ['alpha report.csv', 'gamma notes.csv', 'beta report.json', 'alpha report.csv']],
    ['sort=created_at&limit=2', ['alpha report.csv', 'beta report.json']],
    ['media_type=text/csv&sort=name', ['alpha report.csv', 'alpha report.csv', 'gamma notes.csv']],
    ['media_type=text/plain', []],
    ['media_type=text', []],
    ['q=report&sort=name', ['alpha report.csv', 'alpha report.csv', 'beta report.json']],
    ['q=rep gam&sort=name', []],
    ['q=gam', ['gamma notes.csv']],
    ['name=beta report.json', ['beta report.json']],
    ['sync_state=unmanaged&media_type=application/json', ['beta report.json']],
    ['sync_state=drifted', []],
    ['app=none', []],
    ['include_archived=true&q=old', ['old report.csv']],
    ['workspace_id=wsp_unknown', []],
  ])('can be filtered and sorted: %s', async (query, expected) => {
    expect(await names(query.replaceAll(' ', '%20'))).toEqual(expected);
  });

  it('contains only files of the given workspace, and only those that the caller may read', async () => {
    expect(await names(`workspace_id=${other}`)).toEqual(['alpha report.csv']);
    expect(await names(`workspace_id=${callers.org.workspaceId}&limit=0`)).toEqual([]);
    const stranger = await FileCallers.of(app);
    expect((await stranger.editor.get(FILES)).body.page.total).toBe(0);
  });

  it('continues after a cursor', async () => {
    const ids: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const after: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const { body } = await callers.editor.get(`${FILES}?limit=1&sort=-updated_at${after}`);
      ids.push(...(body.items as { file_id: string }[]).map(({ file_id }) => file_id));
      cursor = body.page.next_cursor as string | null;
    }
    expect([ids.length, new Set(ids).size]).toEqual([4, 4]);
  });

  it('rejects unknown filters and states', async () => {
    expect(await callers.editor.get(`${FILES}?type=x`)).toMatchObject({
      status: 400,
      body: { code: 'invalid_query' },
    });
    expect(await callers.editor.get(`${FILES}?sync_state=x`)).toMatchObject({
      status: 422,
      body: { code: 'validation_failed' },
    });
  });
});
