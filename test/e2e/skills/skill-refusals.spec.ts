import { type ApiClient, sharedApp, newOrganization } from '#testing';
import { SkillCallers, SKILLS, skillMd } from './skills.fixture';
import { zipOf } from './zip.fixture';

const ZIP = zipOf([{ name: 'SKILL.md', content: skillMd('zipped') }]);

describe('skills', () => {
  const app = sharedApp();
  let callers: SkillCallers;
  let editor: ApiClient;
  let admin: ApiClient;

  beforeAll(async () => {
    callers = await SkillCallers.of(app);
    ({ editor, admin } = callers);
  });

  it('are rejected as a form with more than 2,000 files, even system files', async () => {
    const dropped = Array.from({ length: 2_000 }, (_, i) => [`__MACOSX/${i}`, ''] as const);
    const answer = await callers.uploadForm([['SKILL.md', skillMd('many-files')], ...dropped]);
    expect([answer.status, answer.body.detail]).toEqual([400, expect.stringContaining('at most 2000 files')]);
  });

  let made = 0;
  const create = (body: Record<string, unknown> = {}, by?: ApiClient) =>
    callers.create({ name: `refused-${(made += 1)}`, ...body }, by);

  it.each([
    [{ name: 'Upper' }, '/name'],
    [{ name: '-x' }, '/name'],
    [{ name: 'a--b' }, '/name'],
    [{ name: 'a'.repeat(65) }, '/name'],
    [{ description: '' }, '/description'],
    [{ description: ' \n' }, '/description'],
    [{ description: 'x'.repeat(1025) }, '/description'],
    [{ instructions: undefined }, '/instructions'],
    [{ instructions: 'ä'.repeat(600_000) }, '/instructions'],
    [{ compatibility: 'x'.repeat(501) }, '/compatibility'],
    [{ allowed_tools: ['a b'] }, '/allowed_tools'],
    [{ allowed_tools: ['Bash(git'] }, '/allowed_tools'],
    [{ allowed_tools: [''] }, '/allowed_tools'],
    [{ allowed_tools: 'Read' }, '/allowed_tools'],
    [{ metadata: { a: 'x'.repeat(17_000) } }, '/metadata'],
    [{ files: [{ path: '../x', content: '' }] }, '/files/0/path'],
    [
      {
        files: [
          { path: 'a', content: '' },
          { path: 'A', content: '' },
        ],
      },
      '/files/1/path',
    ],
    [{ files: [{ path: 'skill.MD', content: '' }] }, '/files/0/path'],
    [{ files: [{ path: 'a', content: 'é=', encoding: 'base64' }] }, '/files/0/content'],
    [{ files: Array.from({ length: 1000 }, (_, i) => ({ path: `${i}`, content: '' })) }, '/files'],
    [{ workspace_id: undefined }, '/workspace_id'],
  ])('return 400 with a pointer: %j', async (body, pointer) => {
    const answer = await create(body);
    expect([answer.status, answer.body.errors[0].pointer]).toEqual([400, pointer]);
  });

  it('reject files in a patch, and point to POST …/versions', async () => {
    const { body: skill } = await create({ files: [{ path: 'a', content: 'a' }] });
    for (const files of [[{ path: 'a', content: 'b' }], [], null]) {
      const answer = await editor.patch(`${SKILLS}/${skill.skill_id}`, { license: 'MIT', files });
      expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request']);
      expect(answer.body.errors).toEqual([
        { pointer: '/files', detail: 'cannot be patched. Instead, create a version with POST …/versions' },
      ]);
    }
    expect((await editor.get(`${SKILLS}/${skill.skill_id}`)).body).toEqual(skill);
  });

  it('return 422 for an unknown encoding', async () => {
    const answer = await create({ files: [{ path: 'a', content: '', encoding: 'latin1' }] });
    expect([answer.status, answer.body.code]).toEqual([422, 'validation_failed']);
  });

  it('require a reachable, live workspace, whatever the media type', async () => {
    const stranger = await newOrganization(app);
    const archived = await callers.org.newWorkspace();
    await admin.post(`/registry/v1/workspaces/${archived}/archive`);
    const zipped = (workspace: string) => callers.upload(ZIP, `${SKILLS}?workspace_id=${workspace}`);
    const answers = [
      await create({ workspace_id: stranger.workspaceId }),
      await create({ workspace_id: archived }),
      await zipped(stranger.workspaceId),
      await callers.upload(ZIP, SKILLS),
      await editor.post(`${SKILLS}?workspace_id=x`, {}),
      await callers.upload(ZIP, `${SKILLS}?workspace=x`),
    ];
    expect(
      answers.map(({ status, body }) => [status, body.code, Object.keys(body.errors?.[0] ?? {})[0]]),
    ).toEqual([
      [400, 'invalid_request', 'pointer'],
      [409, 'conflict', undefined],
      [400, 'invalid_query', 'parameter'],
      [400, 'invalid_query', 'parameter'],
      [400, 'invalid_query', 'parameter'],
      [400, 'invalid_query', 'parameter'],
    ]);
  });

  it('are invisible outside their workspace, and read-only for viewers', async () => {
    const elsewhere = await callers.org.newWorkspace();
    const { body: skill } = await create({ workspace_id: elsewhere });
    const path = `${SKILLS}/${skill.skill_id}`;
    const bound = app.api((await callers.org.serviceAccount('admin')).key);
    const stranger = await (await newOrganization(app)).member('owner');
    for (const outsider of [bound, stranger]) {
      const answers = [
        await outsider.get(path),
        await outsider.patch(path, { license: 'MIT' }),
        await outsider.post(`${path}/archive`),
        await outsider.post(`${path}/versions`, { description: 'd', instructions: 'i' }),
        await outsider.get(`${path}/versions`),
        await outsider.get(`${path}/versions/1`),
        await outsider.get(`${path}/versions/1/content`),
      ];
      expect(answers.map(({ status }) => status)).toEqual(Array(7).fill(404));
      for (const query of ['', `?workspace_id=${elsewhere}`, `?name=${skill.name}`]) {
        const { body } = await outsider.get(SKILLS + query);
        expect((body.items as any[]).map(({ skill_id }) => skill_id)).not.toContain(skill.skill_id);
      }
    }
    const viewer = await callers.org.member('viewer');
    expect((await viewer.get(`${path}/versions/1`)).status).toBe(200);
    const writes = [
      await viewer.patch(path, { license: 'MIT' }),
      await viewer.post(`${path}/versions`, { description: 'd', instructions: 'i' }),
      await create({}, viewer),
    ];
    expect(writes.map(({ status }) => status)).toEqual([403, 403, 403]);
  });
});
