import { type ApiClient, sharedApp } from '#testing';
import { SkillCallers, SKILLS, skillMd, unzipped } from './skills.fixture';

describe('skills', () => {
  const app = sharedApp();
  let callers: SkillCallers;
  let editor: ApiClient;
  let admin: ApiClient;

  beforeAll(async () => {
    callers = await SkillCallers.of(app);
    ({ editor, admin } = callers);
  });

  let made = 0;
  const newName = (): string => `skill-${(made += 1)}`;
  const create = (body: Record<string, unknown> = {}, by?: ApiClient) =>
    callers.create({ name: newName(), ...body }, by);
  const skillMdOf = async (path: string): Promise<string> => {
    const files = await unzipped((await callers.download(`${path}/content`)).bytes);
    const [, content] = [...files].find(([name]) => name.endsWith('/SKILL.md'))!;
    return Buffer.from(content, 'latin1').toString();
  };

  it('are created from members, and read back as sent', async () => {
    const members = {
      name: 'pdf-forms',
      description: 'Fills forms: "quoted", # and : kept — für alle.',
      instructions: '\n# Forms\r\n\n---\nRun `scripts/fill.py`.',
      license: 'Apache-2.0',
      compatibility: 'Needs Python 3.12: no network',
      allowed_tools: ['Bash(git add:*)', 'Read'],
      metadata: { version: '1.0', owner: { team: 'forms', tags: ['a', 1, null, true] }, 'ü: {': 'x\ny' },
    };
    const files = [
      { path: 'scripts/fill.py', content: 'print("ä")\r\n' },
      { path: 'assets/logo.bin', content: Buffer.from([0, 255, 1]).toString('base64'), encoding: 'base64' },
    ];
    const answer = await create({ ...members, files });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('etag')).toBe('"1"');
    const location = answer.headers.get('location')!;
    expect(location).toBe(`${SKILLS}/${answer.body.skill_id}`);
    expect(answer.body).toMatchObject({
      ...members,
      skill_id: expect.stringMatching(/^skl_[0-9a-z]{26}$/),
      version_id: expect.stringMatching(/^ver_[0-9a-z]{26}$/),
      version_ordinal: 1,
      file_count: 3,
      sync_state: 'unmanaged',
      app: null,
      archived_at: null,
    });
    expect((await editor.get(location)).body).toEqual(answer.body);
    const version = await editor.get(`${location}/versions/1`);
    expect(version.body).toMatchObject({
      ...members,
      version_ordinal: 1,
      source_digest: answer.body.source_digest,
    });
    expect(version.body.files.map((one: any) => [one.path, one.size_bytes])).toEqual([
      ['SKILL.md', expect.any(Number)],
      ['assets/logo.bin', 3],
      ['scripts/fill.py', 13],
    ]);
    const content = await unzipped((await callers.download(`${location}/versions/1/content`)).bytes);
    expect([...content.keys()]).toEqual([
      'pdf-forms/SKILL.md',
      'pdf-forms/assets/logo.bin',
      'pdf-forms/scripts/fill.py',
    ]);
    expect(Buffer.from(content.get('pdf-forms/assets/logo.bin')!, 'latin1')).toEqual(
      Buffer.from([0, 255, 1]),
    );
  });

  it('get a version with each PATCH, which keeps the other files', async () => {
    const { body: skill } = await create({
      files: [{ path: 'a.txt', content: 'a' }],
      metadata: { a: 1, b: { c: 2 } },
    });
    const path = `${SKILLS}/${skill.skill_id}`;
    const patched = await editor.patch(
      path,
      { description: 'Other.', license: 'MIT', metadata: { a: null, b: { d: 3 } } },
      { 'if-match': '"1"' },
    );
    expect(patched.headers.get('etag')).toBe('"2"');
    expect(patched.body).toMatchObject({
      description: 'Other.',
      license: 'MIT',
      instructions: skill.instructions,
      metadata: { b: { c: 2, d: 3 } },
      version_ordinal: 2,
      file_count: 2,
      sync_state: 'unmanaged',
    });
    const cleared = await editor.patch(path, { license: null, metadata: null, allowed_tools: [] });
    expect(cleared.body).toMatchObject({
      license: null,
      metadata: {},
      allowed_tools: [],
      version_ordinal: 3,
    });
    const versions = await editor.get(`${path}/versions`);
    expect(versions.body.items.map((one: any) => one.version_ordinal)).toEqual([3, 2, 1]);
    expect(versions.body.items[2]).toMatchObject({
      description: skill.description,
      source_digest: skill.source_digest,
    });
    const files = await unzipped((await callers.download(`${path}/versions/3/content`)).bytes);
    expect(files.get(`${skill.name}/a.txt`)).toBe('a');
  });

  it('keep comments, order and unknown members of SKILL.md', async () => {
    const name = newName();
    const head = `---\n# for people\nhidden: true # yes\ndescription: >\n  Folded\n  text.\nname: "${name}"\nmetadata:\n  z: 1.0 # a number\n  a: [x,  y]\n---\n\n`;
    const { body: skill } = await callers.uploadForm([['SKILL.md', `${head}Body.\n`]]);
    expect(skill.metadata).toEqual({ z: '1.0', a: ['x', 'y'] });
    const path = `${SKILLS}/${skill.skill_id}`;
    expect((await editor.patch(path, { instructions: 'Other.' })).status).toBe(200);
    expect(await skillMdOf(`${path}/versions/2`)).toBe(`${head}Other.`);
    expect((await editor.patch(path, { metadata: { b: 'new' }, license: 'MIT' })).status).toBe(200);
    const written = await skillMdOf(`${path}/versions/3`);
    expect(written).toContain('# for people\nhidden: true # yes\ndescription: >\n  Folded text.\n');
    expect(written).toContain('z: 1.0 # a number\n');
    expect(written.indexOf('description:')).toBeLessThan(written.indexOf('name:'));
  });

  it('reject another name, id or workspace', async () => {
    const { body: skill } = await create();
    const path = `${SKILLS}/${skill.skill_id}`;
    const answers = [
      await editor.patch(path, { name: 'other' }),
      await editor.patch(path, { skill_id: 'skl_other' }),
      await editor.patch(path, { workspace_id: await callers.org.newWorkspace() }),
      await editor.post(`${path}/versions`, { description: 'd', instructions: '', name: 'other' }),
      await editor.post(`${path}/versions`, {
        description: 'd',
        instructions: '',
        workspace_id: 'wsp_other',
      }),
      await callers.uploadForm([['SKILL.md', skillMd('other')]], `${path}/versions`),
    ];
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual([
      [422, 'immutable_field'],
      [422, 'immutable_field'],
      [422, 'validation_failed'],
      [422, 'immutable_field'],
      [422, 'validation_failed'],
      [422, 'immutable_field'],
    ]);
  });

  it('accept no versions while archived, and return to search when restored', async () => {
    const { body: skill } = await create({ files: [{ path: 'tunes/wombats.abc', content: 'x' }] });
    const path = `${SKILLS}/${skill.skill_id}`;
    const matches = () =>
      app.database.query('SELECT body FROM search_documents WHERE resource_id = $1', [skill.skill_id]);
    const before = await matches();
    await admin.post(`${path}/archive`);
    const refused = await editor.post(`${path}/versions`, { description: 'd', instructions: 'i' });
    expect(refused.status).toBe(409);
    expect((await callers.download(`${path}/versions/1/content`)).status).toBe(200);
    expect(await matches()).toEqual([]);
    expect((await admin.post(`${path}/restore`)).body).toMatchObject({ version_ordinal: 1, generation: 3 });
    expect(await matches()).toEqual(before);
  });

  it('are listed by workspace, name, words, state and app', async () => {
    const workspace_id = await callers.org.newWorkspace();
    for (const name of ['zeta', 'alpha', 'mid'])
      await create({ name, workspace_id, description: 'Plans a planner.' });
    const list = async (query: string): Promise<string[]> => {
      const { body } = await editor.get(`${SKILLS}?workspace_id=${workspace_id}&sort=name&${query}`);
      return (body.items as any[]).map(({ name }) => name);
    };
    expect(await list('q=plann')).toEqual(['alpha', 'mid', 'zeta']);
    expect(await list('q=nothing')).toEqual([]);
    expect(await list('name=mid')).toEqual(['mid']);
    expect(await list('sync_state=unmanaged&limit=2')).toEqual(['alpha', 'mid']);
    expect(await list('sync_state=drifted')).toEqual([]);
    expect(await list('app=none')).toEqual([]);
    const wrong = [await editor.get(`${SKILLS}?sync_state=gone`), await editor.get(`${SKILLS}?nme=x`)];
    expect(wrong.map(({ status, body }) => [status, body.code])).toEqual([
      [422, 'validation_failed'],
      [400, 'invalid_query'],
    ]);
  });

  it('are found by the paths of their files', async () => {
    const workspace_id = await callers.org.newWorkspace();
    const files = [{ path: 'scripts/quokka.py', content: '' }];
    const { body: skill } = await create({ workspace_id, files, instructions: 'word '.repeat(20_000) });
    await create({ workspace_id });
    const matches = async (query: string) => {
      const { body } = await editor.post('/registry/v1/search', { mode: 'keyword', query, workspace_id });
      return (body.items as any[]).map(({ type, id }) => [type, id]);
    };
    expect(await matches('quokka.py')).toEqual([['skill', skill.skill_id]]);
    await editor.post(`${SKILLS}/${skill.skill_id}/versions`, {
      description: 'd',
      instructions: '',
      files: [{ path: 'scripts/numbat.py', content: '' }],
    });
    expect([await matches('quokka'), await matches('numbat')]).toEqual([[], [['skill', skill.skill_id]]]);
  });

  it('are found by their instructions despite many files', async () => {
    const files = Array.from({ length: 300 }, (_, i) => ({ path: `${'d'.repeat(250)}/${i}`, content: '' }));
    const { body: skill } = await create({ files, instructions: 'Sing of bilbies.' });
    const { body } = await editor.post('/registry/v1/search', { mode: 'keyword', query: 'bilbies' });
    expect((body.items as any[]).map(({ id }) => id)).toEqual([skill.skill_id]);
  });

  it('read -0 in metadata as 0', async () => {
    const { status, body } = await callers.editor.post(
      SKILLS,
      Buffer.from(
        `{"workspace_id":"${callers.org.workspaceId}","name":"${newName()}","description":"d","instructions":"","metadata":{"x":-0}}`,
      ),
      { 'content-type': 'application/json' },
    );
    expect([status, body.metadata]).toEqual([201, { x: 0 }]);
  });

  it('are audited and reindexed with every change', async () => {
    const { body: skill } = await create({ instructions: 'Sing of wombats.' });
    const path = `${SKILLS}/${skill.skill_id}`;
    const matches = () =>
      app.database.query<{ body: string }>('SELECT body FROM search_documents WHERE resource_id = $1', [
        skill.skill_id,
      ]);
    expect(await matches()).toEqual([{ body: 'Sing of wombats.' }]);
    await editor.patch(path, { license: 'MIT', instructions: 'Sing of emus.' });
    expect(await matches()).toEqual([{ body: 'Sing of emus.' }]);
    await admin.post(`${path}/archive`);
    expect(await matches()).toEqual([]);
    const log = await admin.get(`/registry/v1/audit-log?resource_id=${skill.skill_id}`);
    expect(log.body.items.map((one: any) => one.action)).toEqual(['archive', 'update', 'create']);
    expect(log.body.items[1].changes).toEqual(
      expect.arrayContaining([{ member: 'license', before: null, after: 'MIT' }, { member: 'instructions' }]),
    );
  });
});
