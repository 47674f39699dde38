import { createHash } from 'node:crypto';
import { sharedApp } from '#testing';
import { SkillCallers, SKILLS, skillMd, unzipped } from './skills.fixture';

const INDEX = '/skill/v1/index.json';

describe('the discovery index of skills', () => {
  const app = sharedApp();
  let callers: SkillCallers;

  beforeEach(async () => {
    callers = await SkillCallers.of(app);
  });

  const index = async (query = ''): Promise<any[]> => {
    const { status, body } = await callers.editor.get(INDEX + query);
    expect([status, body.$schema]).toEqual([
      200,
      'https://schemas.agentskills.io/discovery/0.2.0/schema.json',
    ]);
    return body.skills;
  };

  it('names artifacts whose digests match, with SKILL.md at the root of archives', async () => {
    const text = { path: 'a/ü.txt', content: 'hi' };
    await callers.create({ name: 'with-files', files: [text] });
    await callers.create({ name: 'alone' });
    const skills = await index();
    expect(skills.map(({ name, type }) => [name, type])).toEqual([
      ['alone', 'skill-md'],
      ['with-files', 'archive'],
    ]);
    const contents = [];
    // twice, because the digest of an archive is computed for the first response
    for (const { url, digest } of [...skills, ...(await index())]) {
      const { status, headers, bytes } = await callers.download(`/skill/v1/${url}`);
      expect(status).toBe(200);
      expect(digest).toBe(`sha256:${createHash('sha256').update(bytes).digest('hex')}`);
      expect(headers.get('content-length')).toBe(String(bytes.length));
      contents.push([headers.get('content-type'), bytes] as const);
    }
    const [[markdown, alone], [zip, archive]] = contents as [(typeof contents)[0], (typeof contents)[0]];
    expect([markdown, zip]).toEqual(['text/markdown; charset=utf-8', 'application/zip']);
    expect(alone.toString()).toContain('name: alone');
    expect([...(await unzipped(archive)).keys()]).toEqual(['SKILL.md', 'a/ü.txt']);
  });

  it('has the newest version of each skill that is not archived', async () => {
    const made = await callers.create({ name: 'changing', files: [{ path: 'a.txt', content: '1' }] });
    const { body: gone } = await callers.create({ name: 'gone' });
    const [before] = await index();
    const path = `${SKILLS}/${made.body.skill_id}`;
    await callers.uploadForm([['changing/SKILL.md', skillMd('changing')]], `${path}/versions`);
    await callers.admin.post(`${SKILLS}/${gone.skill_id}/archive`);
    const after = await index();
    expect([before.type, before.description]).toEqual(['archive', 'Does things.']);
    expect(after).toMatchObject([
      {
        name: 'changing',
        type: 'skill-md',
        description: 'Does changing.',
        url: expect.stringMatching(/\/2\/SKILL\.md$/),
      },
    ]);
    // the artifact of the earlier version stays as it was
    const { bytes } = await callers.download(`/skill/v1/${before.url}`);
    expect(before.digest).toBe(`sha256:${createHash('sha256').update(bytes).digest('hex')}`);
  });

  it('covers the workspaces that the caller may read, or one of them', async () => {
    const other = await SkillCallers.of(app);
    await callers.create({ name: 'ours' });
    await other.create({ name: 'theirs' });
    const names = (skills: { name: string }[]) => skills.map(({ name }) => name);
    expect(names(await index())).toEqual(['ours']);
    expect(names(await index(`?workspace_id=${callers.org.workspaceId}`))).toEqual(['ours']);
    expect(names(await index(`?workspace_id=${other.org.workspaceId}`))).toEqual([]);
    expect((await callers.editor.get(`${INDEX}?q=x`)).status).toBe(400);
  });

  it('rejects more than 1,000 skills instead of leaving some out', async () => {
    const { body } = await callers.create({ name: 'first' });
    const stored = await app.database.query<{ column_name: string }>(
      `SELECT column_name FROM information_schema.columns WHERE table_name = 'skills' AND is_generated = 'NEVER'`,
    );
    const columns = stored.map(({ column_name }) => column_name);
    const copied = columns.map((name) =>
      ['skill_id', 'name'].includes(name) ? `${name} || '-' || n` : name,
    );
    await app.database.query(
      `INSERT INTO skills (${columns.join()}) SELECT ${copied.join()} FROM skills, generate_series(1, 1000) n
       WHERE skill_id = $1`,
      [body.skill_id],
    );
    const { status, body: problem } = await callers.editor.get(INDEX);
    expect([status, problem.code]).toEqual([400, 'invalid_query']);
    expect(problem.detail).toContain('at most 1000 skills');
  });
});
